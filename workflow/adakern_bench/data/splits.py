"""Published splits: from the bytes of their files to marks of the test rows."""

import io

import numpy as np

from adakern_bench.data.errors import ParseError
from adakern_bench.data.parsers import unpack_file

__all__ = ["read_splits", "row_lists", "seeded_splits"]


def read_splits(data, entry, n):
    """The test rows of every published split of a data set."""
    read = {"row-lists": row_lists, "test-marks": test_marks}[entry.split_format]
    splits = read(data, entry.splits, n)
    if len(splits) != entry.n_splits:
        raise ParseError(
            f"{entry.splits.path} holds {len(splits)} splits, the entry says {entry.n_splits}."
        )
    return splits


def seeded_splits(entry, n):
    """The test rows that `train_test_split` draws with each seed of an entry."""
    from sklearn.model_selection import train_test_split  # half a second, for every plan

    rows = np.arange(n)
    tests = [
        train_test_split(rows, train_size=0.75, test_size=0.25, random_state=seed)[1]
        for seed in entry.split_seeds[: entry.n_splits]
    ]
    return np.array([np.isin(rows, test) for test in tests])


def row_lists(data, file, n):
    """Test rows of splits written as two lines of row numbers (training, test) each."""
    text = unpack_file(data, file).decode("utf-8", "replace")
    try:
        lines = [np.array(line.split(), int) for line in text.splitlines() if line]
    except ValueError as error:
        raise ParseError(f"{file.path}: row numbers expected: {error}.") from None
    if len(lines) % 2 or not lines:
        raise ParseError(
            f"{file.path} has {len(lines)} lines; two a split are needed, training and test rows."
        )
    marks = []
    for number, (train, test) in enumerate(zip(lines[::2], lines[1::2], strict=True)):
        rows = np.concatenate([train, test])
        if not np.array_equal(np.sort(rows), np.arange(n)):
            raise ParseError(
                f"{file.path}: split {number} does not partition the {n} rows: {_fault(rows, n)}."
            )
        marks.append(np.isin(np.arange(n), test))
    return np.array(marks)


def _fault(rows, n):
    outside = rows[(rows < 0) | (rows >= n)]
    if len(outside):
        return f"row {outside[0]} does not exist (they count from 0)"
    times = np.bincount(rows, minlength=n)
    wrong = np.flatnonzero(times != 1)[0]
    return f"row {wrong} occurs {times[wrong]} times in its two lines"


def test_marks(data, file, n):
    """Test rows of splits written as a column each, 1 where a row is in the test."""
    text = unpack_file(data, file)
    try:
        marks = np.loadtxt(io.BytesIO(text), delimiter=",", ndmin=2)
    except ValueError as error:
        raise ParseError(f"{file.path}: marks 0 and 1 expected: {error}.") from None
    if len(marks) != n:
        raise ParseError(f"{file.path} has {len(marks)} lines for {n} rows.")
    if not np.isin(marks, (0, 1)).all():
        raise ParseError(f"{file.path} holds other marks than 0 and 1.")
    one_sided = np.flatnonzero(marks.all(axis=0) | ~marks.any(axis=0))
    if len(one_sided):
        raise ParseError(f"{file.path}: split {one_sided[0]} has one part only.")
    return marks.T.astype(bool)
