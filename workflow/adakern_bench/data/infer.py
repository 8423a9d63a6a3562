"""What a table of one's own is: its entry, found by looking at the file.

Nothing is decided for good here: the entry is written down, to be read and edited.
"""

import csv
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from adakern._utils.hints import did_you_mean
from adakern_bench.data.entry import DatasetEntry, SourceFile
from adakern_bench.data.errors import ParseError
from adakern_bench.data.parsers import as_dates, parse_csv, unpack

__all__ = ["Inferred", "as_yaml", "infer_entry"]

SEPARATORS = ",;\t|"
#: Whole numbers with at most so many values are taken for classes.
MOST_CLASSES = 10
#: Words of more kinds than this, most of them rare, are names and not categories.
MOST_WORDS = 50
_COMMA_NUMBER = re.compile(r"^[-+]?\d+,\d+(e[-+]?\d+)?$", re.IGNORECASE)
_IDENTIFIER = re.compile(r"^(.*[_ ])?(id|ids|index|key|uuid|row|nr)$", re.IGNORECASE)


@dataclass
class Inferred:
    """An entry and, sentence by sentence, how it came about."""

    entry: DatasetEntry
    notes: list[str] = field(default_factory=list)


def infer_entry(path, target, *, task=None, drop=()):
    """Look at a file of separated values.

    Parameters
    ----------
    path : path-like
        Packed or not.
    target : str or int
        Name of the column to predict, or its position (0 the first, -1 the last).
    task : {"classification", "regression"}, default=None
        What the target is; None looks at its values.
    drop : sequence of str, default=()
        Columns that are no features, beside those that are found to be none.

    Returns
    -------
    Inferred

    Raises
    ------
    ParseError
        If the file is no table of rows, has no such column, or nothing to learn from.
    """
    path = Path(path)
    data = unpack(path.read_bytes(), SourceFile(path=path.name))
    entry, notes = DatasetEntry(format="csv", missing="fill", words="one-hot"), []
    entry.encoding = _encoding(data, notes)
    lines = [line for line in data.decode(entry.encoding).splitlines() if line.strip()]
    if len(lines) < 2:
        raise ParseError(f"{path.name} holds {len(lines)} lines; a table needs more.")
    entry.separator = _separator(lines[:200], path.name, notes)
    rows = list(csv.reader(lines[:200], delimiter=entry.separator))
    entry.decimal = _decimal(rows, entry.separator, notes)
    entry.header = _has_header(rows, target, entry.decimal, notes)
    frame = _frame(data, entry, path.name)
    target = _target(frame, target, path.name)
    entry.target = target
    entry.drop = _no_features(frame, target, drop, path.name, notes)
    features = frame.drop(columns=[target, *entry.drop])
    entry.dates = _dates(features, notes)
    _words(features.drop(columns=entry.dates), notes)
    _gaps(features, frame[target], notes)
    labels = frame[target].dropna()
    entry.task = task or _task(labels, target, notes)
    if entry.task == "regression" and not _is_numeric(labels):
        raise ParseError(
            f"{path.name}: the column {target!r} holds words such as "
            f"{labels.iloc[0]!r}, which is no regression; leave out --task."
        )
    if not features.shape[1]:
        raise ParseError(f"{path.name}: no column is left to learn from.")
    # Blank targets leave with their rows.
    entry.n = len(labels)
    entry.d = features.shape[1]
    entry.files = [SourceFile(path=path.name)]
    notes.insert(0, f"{entry.n} rows, {entry.d} features, {entry.task} of {target!r}")
    return Inferred(entry, notes)


def _encoding(data, notes):
    for start, name in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(start):
            notes.append(f"encoding: {name}")
            return name
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError:
        notes.append("encoding: cp1252, since it is not UTF-8")
        return "cp1252"
    return "utf-8-sig"


def _separator(lines, name, notes):
    """The separator that cuts the lines into the same number of fields, most fields."""
    best, most = None, 1
    for separator in SEPARATORS:
        counts = [len(row) for row in csv.reader(lines, delimiter=separator)]
        usual = max(set(counts), key=counts.count)
        if usual > most and counts.count(usual) >= 0.9 * len(counts):
            best, most = separator, usual
    if best is None:
        raise ParseError(
            f"{name} is no table separated by a comma, semicolon, tab or bar: no "
            "separator gives all lines the same number of fields, two or more."
        )
    if best != ",":
        word = {";": "semicolon", "\t": "tab", "|": "bar"}[best]
        notes.append(f"separator: {word}")
    return best


def _decimal(rows, separator, notes):
    fields = [field.strip() for row in rows for field in row]
    commas = sum(bool(_COMMA_NUMBER.match(field)) for field in fields)
    points = sum(bool(re.match(r"^[-+]?\d+\.\d+$", field)) for field in fields)
    if separator != "," and commas > points:
        notes.append("decimal comma")
        return ","
    return "."


def _has_header(rows, target, decimal, notes):
    first = [field.strip() for field in rows[0]]
    if isinstance(target, str) and target in first:
        return True
    has_number = any(_is_number(field, decimal) for field in first if field)
    if has_number:
        notes.append("no header: columns are named by their positions, from 0")
    return not has_number


def _is_number(text, decimal):
    try:
        float(text.replace(decimal, ".") if decimal != "." else text)
    except ValueError:
        return False
    return True


def _frame(data, entry, name):
    try:
        return parse_csv(data, entry)
    except Exception as error:
        raise ParseError(f"{name} cannot be read: {error}.") from error


def _target(frame, target, name):
    columns = list(frame.columns)
    if target in columns:
        return target
    if str(target).lstrip("-").isdigit():
        position = int(target)
        if -len(columns) <= position < len(columns):
            return columns[position]
    hint = did_you_mean(target, columns)
    shown = ", ".join(map(str, columns[:20])) + (", ..." * (len(columns) > 20))
    raise ParseError(f"{name} has no column {target!r}.{hint} Columns: {shown}.")


def _no_features(frame, target, drop, name, notes):
    """Columns to leave out: those asked for, row numbers, names, constants."""
    unknown = [column for column in drop if column not in frame.columns]
    if unknown:
        raise ParseError(
            f"{name} has no column {unknown[0]!r} to drop. Columns: "
            f"{', '.join(map(str, frame.columns[:20]))}."
        )
    found = list(drop)
    for i, column in enumerate(frame.columns):
        if column == target or column in found:
            continue
        values = frame[column].dropna()
        why = _why_no_feature(values, str(column), i, len(frame))
        if why:
            found.append(column)
            notes.append(f"dropped {column!r}: {why}")
    return found


def _why_no_feature(values, column, position, n):
    kinds = values.nunique()
    if kinds == 0:
        return "blank in every row"
    if kinds == 1:
        return f"{values.iloc[0]!r} in every row"
    if _is_numeric(values):
        whole = (values == np.rint(values)).all()
        counts_rows = whole and (values.diff().dropna() == 1).all() and len(values) == n
        nameless = column == "" or column.startswith("Unnamed: ")
        if counts_rows and (position == 0 or nameless or _IDENTIFIER.match(column)):
            return "it numbers the rows"
        if whole and kinds == n and (nameless or _IDENTIFIER.match(column)):
            return "an identifier, another number in every row"
        return ""
    if kinds > MOST_WORDS and kinds > 0.5 * len(values):
        if len(as_dates(values)) and not as_dates(values).isna().any():
            return ""
        return f"an identifier or free text, {kinds} different words"
    if kinds == n and n > 20:
        dates = as_dates(values)
        return "" if not dates.isna().any() else "an identifier, another in every row"
    return ""


def _of_words(features):
    return [name for name in features if not _is_numeric(features[name])]


def _dates(features, notes):
    found = []
    for column in _of_words(features):
        values = features[column].dropna()
        if len(values) and not as_dates(values).isna().any():
            found.append(column)
            notes.append(f"dates: {column!r}, used as days since 1970")
    return found


def _words(features, notes):
    for column in _of_words(features):
        words = features[column].dropna().unique()
        shown = ", ".join(map(str, words[:4])) + (", ..." * (len(words) > 4))
        notes.append(
            f"words: {column!r} has {len(words)} ({shown}), a column of 0 and 1 each"
        )


def _gaps(features, target, notes):
    gaps = int(features.isna().sum().sum())
    if gaps:
        rows = int(features.isna().any(axis=1).sum())
        notes.append(
            f"gaps: {gaps} in {rows} rows, filled with the median of the training part"
        )
    if target.isna().any():
        notes.append(f"left out: {int(target.isna().sum())} rows without a target")


def _task(values, target, notes):
    kinds = values.nunique()
    if kinds < 2:
        raise ParseError(f"the target {target!r} is the same in every row.")
    if not _is_numeric(values) or kinds == 2:
        if kinds > max(2, len(values) // 2):
            raise ParseError(
                f"the target {target!r} holds {kinds} different words in "
                f"{len(values)} rows; as classes they have too few rows each."
            )
        return "classification"
    whole = (values == np.rint(values)).all()
    if whole and kinds <= MOST_CLASSES and kinds <= len(values) / 5:
        notes.append(
            f"the {kinds} whole numbers of {target!r} are taken for classes "
            "(--task regression where they are amounts)"
        )
        return "classification"
    return "regression"


def _is_numeric(values):
    return getattr(values.dtype, "kind", "O") in "fiub"


def as_yaml(name, inferred, path):
    """The entry as a file of ``conf/dataset/``, with the notes as its comment.

    Parameters
    ----------
    name : str
        Of the data set.
    inferred : Inferred
    path : str
        Where the file lies below the folder of raw data.

    Returns
    -------
    str
    """
    import yaml

    entry = inferred.entry
    stated = {
        "title": f"{Path(path).name}",
        "task": entry.task,
        "files": [{"path": path}],
        "format": entry.format,
        "separator": entry.separator,
        "decimal": entry.decimal,
        "encoding": entry.encoding,
        "header": entry.header,
        "target": entry.target,
        "drop": entry.drop,
        "dates": entry.dates,
        "words": entry.words,
        "missing": entry.missing,
        "n": entry.n,
    }
    stated = {key: value for key, value in stated.items() if value not in ([], None)}
    comment = "\n".join(f"# - {' '.join(note.split())}" for note in inferred.notes)
    return (
        f"# @package dataset.{name}\n"
        "# Made by `adakern compare`, which goes by it from now on; edit it.\n"
        f"{comment}\n"
        + yaml.safe_dump(stated, sort_keys=False, allow_unicode=True, width=88)
    )
