"""Typed columns of a file: conversion of cells to numbers, dates and texts."""

import re

import numpy as np

from adakern._utils.hints import did_you_mean
from adakern._utils.wording import listed
from adakern.tables.around import OTHERS
from adakern.tables.cells import TRUE_OR_FALSE, Cells, sides_of_limits
from adakern.tables.files import cells_of_file
from adakern.tables.kinds import (
    Column,
    about_subtotals,
    form_of_days,
    learn,
    usual_mark,
)
from adakern.tables.numbers import exceed_float
from adakern.tables.unpack import TableError

#: Used in place of column names to select all columns.
ALL = "all"

#: Beginning of the form of a column that marks the limits of another, which is named.
LIMITS_OF = "limits of "


def typed_columns(
    data, name, target, layout=None, categorical=(), merge=(), form=None, texts=False
):
    """Return the frame, its described columns, the layout and the notes of a file.

    The columns ``categorical`` are categorical whatever their cells look like. The
    categories of the columns ``merge`` are merged if they are spelt alike. The columns
    ``form`` are numbers or dates of the form given for each.
    """
    import pandas as pd

    targets = target if isinstance(target, list | tuple) else [target]
    raw, layout, notes = cells_of_file(data, name, targets[0], layout)
    targets = [_find_target(raw, key, layout) for key in targets]
    declared = {find_column(raw, key) for key in categorical}
    merged = columns_of(raw, merge)
    stated = {find_column(raw, key): one for key, one in (form or {}).items()}
    if both := declared & stated.keys():
        raise TableError(f"{min(both)!r} cannot both have a form and be categorical.")
    cells = {key: cells_of(raw[key], key) for key in raw.columns}
    by_separator = "," if layout.separator == ";" else "."
    layout.decimal = usual_mark(cells.values(), layout.decimal or by_separator)
    notes += ["decimal comma"] * (layout.decimal == ",")
    columns = {}
    values = {}
    for key in raw.columns:
        column, values[key] = _read_typed(
            raw[key],
            cells[key],
            layout.decimal,
            form=stated.get(key, ""),
            declared=key in declared or isinstance(raw[key].dtype, pd.CategoricalDtype),
            merge=key in merged,
            target=key in targets,
            text=texts,
        )
        columns[key] = column
        notes += column.notes
        if column.kind == "categorical" or column.notes:
            notes += about_subtotals(cells[key])
        sides = sides_of_limits(cells[key])
        if column.kind == "numeric" and key not in targets and sides.any():
            name = f"{key}: limit"
            while name in raw:
                name += "'"
            values[name] = sides
            columns[name] = Column("numeric", LIMITS_OF + key)
    return pd.DataFrame(values), columns, layout, notes


def columns_of(frame, keys):
    """Return the columns with these names, or all columns."""
    if ALL in keys and ALL not in frame:
        return set(frame)
    return {find_column(frame, key) for key in keys}


def _read_typed(values, cells, usual, *, form, declared, target, **how):
    """Return the kind and the values of a column of a file, see :func:`learn`."""
    kind = values.dtype.kind
    is_number = (
        kind in "iuf"
        and (target or not form_of_days(cells))
        and not exceed_float(values)
    )
    is_typed = is_number or (kind == "b" and not target)
    if is_typed and not form and not declared:
        has_no_gap = kind in "iu" and not values.isna().any()
        column = Column("numeric", TRUE_OR_FALSE * (kind == "b"))
        return column, values if has_no_gap else values.astype(float)
    if target:  # classes are True and False, not 1 and 0
        cells.distinct = [
            str(value) if isinstance(value, bool | np.bool_) else value
            for value in cells.distinct
        ]
    try:
        column, read = learn(
            cells, usual, form=form, declared=declared, target=target, **how
        )
    except ValueError as error:
        raise TableError(f"the {error}.") from error
    refuse_infinity(read, cells)
    return column, read


def refuse_infinity(values, cells):
    """Raise TableError if any of the values (n,) of a column is infinite."""
    is_infinite = np.isinf(values) if values.dtype.kind == "f" else np.zeros(1)
    if is_infinite.any():
        raise TableError(
            f"the {cells.name} holds infinity (row {is_infinite.argmax()} from 0); "
            "replace it by a number, or leave the cell empty."
        )


def cells_of(values, name):
    """Distinct cells of a column of a file."""
    try:
        return Cells.of(values, f"column {name!r}")
    except (TypeError, ValueError) as error:
        raise TableError(f"the {error}.") from error


def _find_target(raw, target, layout):
    """Find the column of the target; errors mention if the encoding is a guess."""
    try:
        return find_column(raw, target)
    except TableError as error:
        if layout.encoding in ("cp1252", "latin-1"):
            raise TableError(
                f"{error} The encoding {layout.encoding} is a guess; save the file as "
                "UTF-8 if names of columns look wrong."
            ) from None
        raise


def find_column(frame, key, by_place=True):
    """Find a column by name or position."""
    columns = list(frame.columns)
    if isinstance(key, str) and key in columns:
        return key
    if (
        by_place
        and re.fullmatch(r"-?\d+", str(key))
        and -len(columns) <= int(key) < len(columns)
    ):
        return columns[int(key)]
    hint = did_you_mean(str(key), map(str, columns))
    if str(key).startswith("rows:"):
        hint = f" Rows are kept by {', '.join(OTHERS)}."
    needed = "" if by_place else ", which the model requires,"
    raise TableError(
        f"no column {key!r}{needed} among {len(columns)}.{hint} "
        f"Columns: {listed(columns, 20)}."
    )
