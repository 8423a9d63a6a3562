"""Parsers, which turn the bytes of a data file into a frame of all columns."""

import io
from contextlib import suppress
from pathlib import PurePosixPath

import numpy as np

from adakern._utils.resources import require_memory
from adakern.tables.arff import arff
from adakern.tables.delimited import Layout
from adakern.tables.typed import typed_columns
from adakern.tables.unpack import TableError, unpack
from adakern_bench.config.entry import FORMATS, DatasetError

MISSING_WORDS = ["?", "NA", "NaN", "nan", ""]
ENDINGS = {
    ".csv": "csv",
    ".arff": "arff",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".parquet": "table",
    ".xlsx": "table",
}
PACKED = (".gz", ".bz2", ".xz", ".zip")


def parse(data, entry, file):
    """Return all columns of a file, which may be compressed."""
    kind = format_of(entry, file)
    try:
        return PARSERS[kind](unpack(data, file.path, file.member), entry, file.path)
    except TableError:
        raise
    except Exception as error:
        raise DatasetError(
            f"{file.path} cannot be read as {kind}: {error}. Check its format, "
            "separator and header, and whether it is a web page."
        ) from error


def format_of(entry, file):
    """Format of a file, as stated or according to its extension."""
    if entry.format is not None:
        return entry.format
    endings = [e for e in PurePosixPath(file.path).suffixes if e not in PACKED]
    if endings and endings[-1] in ENDINGS:
        return ENDINGS[endings[-1]]
    raise DatasetError(
        f"{file.path}: unknown format; set format to one of {', '.join(FORMATS)}."
    )


def parse_table(data, entry, name):
    """Parse a table of mixed columns: numbers, categories and dates (`read_table`)."""
    layout = Layout(
        entry.separator, entry.decimal, entry.encoding, entry.header, entry.keep
    )
    read = {"categorical": entry.categorical, "merge": entry.merge, "form": entry.form}
    return parsed(typed_columns(data, name, entry.target, layout, **read))


def parsed(typed):
    """Return the frame of typed columns, with their types attached."""
    frame, columns, *_ = typed
    frame.attrs = {
        "kinds": {name: column.kind for name, column in columns.items()},
        "forms": {name: column.form for name, column in columns.items()},
    }
    return frame


def parse_csv(data, entry, name):
    """Parse CSV of numbers, and of text for which the entry states codes."""
    settings = {"decimal": entry.decimal or ".", "encoding": entry.encoding or "utf-8"}
    settings["skipinitialspace"] = True
    return _separated(data, entry, sep=entry.separator or ",", **settings)


def parse_whitespace(data, entry, name):
    """Parse values separated by blanks or tabs; # starts a comment."""
    return _separated(data, entry, sep=r"\s+", comment="#")


def _separated(data, entry, **settings):
    """Parse separated values; a first line without numbers may name the columns."""
    import pandas as pd

    settings |= {"na_values": MISSING_WORDS, "keep_default_na": False}
    has_names = entry.header
    if has_names is None:
        head = pd.read_csv(
            io.BytesIO(data), header=None, nrows=2, dtype=str, **settings
        )
        is_number = head.isna() | head.apply(pd.to_numeric, errors="coerce").notna()
        has_names = is_number.any(axis=1).tolist() == [False, True]
    return pd.read_csv(io.BytesIO(data), header=0 if has_names else None, **settings)


def parse_arff(data, entry, name):
    """Parse attribute-relation files; columns of numbers are numeric."""
    frame = arff(data, name).replace("", np.nan)
    for column in frame:
        with suppress(ValueError):
            frame[column] = frame[column].astype(float)
    return frame


def parse_libsvm(data, entry, name):
    """Parse sparse ``label index:value`` lines, indices from 1, as a dense frame."""
    import pandas as pd
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(io.BytesIO(data), zero_based=False)
    # The last features may all be zero in a file; the entry states how many there are.
    width = max(X.shape[1], entry.d or 0)
    require_memory(
        8 * X.shape[0] * width,
        f"a dense table of {X.shape[0]} rows and {X.shape[1]} features",
        "is the largest index of a feature right?",
    )
    X.resize(X.shape[0], width)
    frame = pd.DataFrame(X.toarray(), columns=[str(i + 1) for i in range(width)])
    frame["label"] = y
    return frame


PARSERS = {
    "csv": parse_csv,
    "table": parse_table,
    "whitespace": parse_whitespace,
    "arff": parse_arff,
    "libsvm": parse_libsvm,
}
