"""Parsing of files to named columns of cells."""

import itertools
import re

from adakern._utils.wording import count
from adakern.tables.arff import arff, is_arff
from adakern.tables.around import without_others
from adakern.tables.binary import first_sheet, parquet
from adakern.tables.cells import plain_text
from adakern.tables.delimited import Layout, delimited
from adakern.tables.unpack import TableError, unpack


def cells_of_file(data, name, target=None, layout=None, *, all_rows=False):
    """Parse a file to (frame, layout, notes), with cells of text files as strings.

    With ``all_rows``, no rows are dropped: empty rows and totals are predicted as well.
    """

    layout, notes, data = layout or Layout(), [], unpack(data, name)
    if re.match(rb"(?i)\s*(\[\s*[\[{]|\{\s*\"|<(!doctype|html|table|\?xml))", data):
        raise TableError(
            f"{name} is JSON or a web page: save it as CSV, Parquet or xlsx."
        )
    if data.startswith(b"PAR1"):
        frame = parquet(data, name)
        header = None
    elif data.startswith(b"PK\x03\x04"):
        frame, header = first_sheet(data, name, target, notes)
    elif is_arff(data):
        frame = arff(data, name)
        header = frame.columns
    else:
        frame, header, layout = delimited(data, name, target, layout, notes)
    if not all_rows:
        is_text = frame.dtypes.map(lambda kind: kind.kind == "O" or kind == "str")
        if is_text.all():
            is_empty = (frame == "").all(axis=1)
            frame = frame[~is_empty]
            if n := int(is_empty.sum()):
                notes.append(f"left out: {count(n, 'empty row')}")
    if not len(frame):
        raise TableError(f"{name} has no rows.")
    is_typed = header is None
    target = None if all_rows else target  # new rows need none
    frame.columns = _names(frame.columns if is_typed else header, target, notes)
    frame = frame.reset_index(drop=True)
    frame = without_others(
        frame, target, notes, keep=layout.keep, is_typed=is_typed, all_rows=all_rows
    )
    return frame, layout, notes


def _names(header, target, notes):
    """Make column names unique."""
    names: dict[str, None] = {}
    taken = {str(other).strip() for other in header}
    for i, cell in enumerate(header):
        name = plain_text(str(cell)) or f"Unnamed: {i}"
        if name in names and name == target:
            raise TableError(f"two columns are named {target!r}, which is the target.")
        if name in names:
            numbered = (f"{name}.{k}" for k in itertools.count(i))
            unique = next(n for n in numbered if n not in taken and n not in names)
            notes.append(
                f"another column is also named {name!r}; here it is {unique!r}"
            )
            name = unique
        names[name] = None
    return list(names)
