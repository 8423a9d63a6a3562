"""Parsing of attribute-relation files (ARFF), with text and quoted cells."""

import csv
import re

from adakern.tables.unpack import TableError

_DATA = re.compile(r"(?im)^[ \t]*@data[^\n]*$")
_ATTRIBUTE = re.compile(
    r"""(?im)^[ \t]*@attribute\s+('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\S+)"""
)


def is_arff(data):
    """Whether the bytes of a file start like ARFF."""
    return re.match(rb"(?i)(\s|%[^\n]*\n)*@relation\b", data) is not None


def arff(data, name):
    """Return a frame of strings, one column per attribute, "" for missing values."""
    import pandas as pd

    text = data.decode("utf-8", "replace")
    mark = _DATA.search(text)
    if mark is None:
        raise TableError(
            f"{name} ends before @data: it is incomplete, or not an ARFF file."
        )
    names = [
        re.sub(r"\\(.)", r"\1", found.strip("'\""))
        for found in _ATTRIBUTE.findall(text[: mark.start()])
    ]
    lines = [
        # Weka writes tabs and ends of lines by a letter.
        re.sub(r"\\(.)", lambda found: " " if found[1] in "nrt" else found[0], line)
        for line in text[mark.end() :].split("\n")  # texts may have other separators
        if line.strip() and not line.lstrip().startswith("%")
    ]
    if lines and lines[0].lstrip().startswith("{"):
        raise TableError(f"{name} is sparse ARFF, which is not supported.")
    single = sum(re.search(r"(^|,)\s*'", line) is not None for line in lines)
    double = sum(re.search(r'(^|,)\s*"', line) is not None for line in lines)
    reader = csv.reader(
        lines,
        quotechar="'" if single >= double else '"',
        escapechar="\\",
        doublequote=False,
        skipinitialspace=True,
    )
    rows = [["" if cell == "?" else cell.strip() for cell in row] for row in reader]
    for place, row in enumerate(rows):
        if len(row) != len(names):
            raise TableError(
                f"{name}: row {place + 1} has {len(row)} cells, expected {len(names)}."
            )
    return pd.DataFrame(rows, columns=names)
