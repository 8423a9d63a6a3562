"""Readers of published splits, which return masks of the test rows."""

import io

import numpy as np

from adakern._utils.wording import count
from adakern.tables.arff import arff
from adakern.tables.unpack import unpack
from adakern_bench.config.entry import DatasetError


def read_splits(data, entry, n):
    """Return a mask of the test rows of every published split of a data set."""
    formats = {"row-lists": row_lists, "test-marks": test_marks, "openml": of_task}
    read = formats[entry.split_format]
    splits = read(data, entry.splits, n)
    if len(splits) != entry.n_splits:
        raise DatasetError(
            f"{entry.splits.path} has {len(splits)} splits, expected {entry.n_splits}."
        )
    return splits


def seeded_splits(entry, n):
    """Return the test rows that `train_test_split` draws with each seed of an entry."""
    from sklearn.model_selection import (
        train_test_split,
    )  # half a second, for every plan

    rows = np.arange(n)
    tests = [
        train_test_split(rows, train_size=0.75, test_size=0.25, random_state=seed)[1]
        for seed in entry.split_seeds[: entry.n_splits]
    ]
    return _masks(tests, n)


def _masks(tests, n):
    """Return a mask of the rows of each test part."""
    return np.array([np.isin(np.arange(n), test) for test in tests])


def row_lists(data, file, n):
    """Read splits written as two lines of row numbers (training, test) each."""
    text = unpack(data, file.path, file.member).decode("utf-8", "replace")
    try:
        lines = [np.array(line.split(), int) for line in text.splitlines() if line]
    except ValueError as error:
        raise DatasetError(f"{file.path}: expected row numbers: {error}.") from None
    if len(lines) % 2 or not lines:
        raise DatasetError(
            f"{file.path} has {count(len(lines), 'line')} with row numbers; expected "
            "two per split, training and test rows."
        )
    tests = lines[1::2]
    for number, (train, test) in enumerate(zip(lines[::2], tests, strict=True)):
        rows, times = np.unique(np.concatenate([train, test]), return_counts=True)
        if not np.array_equal(rows, np.arange(n)) or times.max() > 1:
            wrong = {*rows.tolist()} ^ {*range(n)} or {*rows[times > 1].tolist()}
            raise DatasetError(
                f"{file.path}: split {number} does not partition the {n} rows: each of "
                f"0 to {n - 1} must occur once in its two lines, but row {min(wrong)} "
                "is missing, repeated, or not a row of the table."
            )
    return _masks(tests, n)


def test_marks(data, file, n):
    """Read splits written as one column each, 1 if a row is in the test part."""
    text = unpack(data, file.path, file.member)
    try:
        marks = np.loadtxt(io.BytesIO(text), delimiter=",", ndmin=2)
    except ValueError as error:
        raise DatasetError(f"{file.path}: expected marks 0 and 1: {error}.") from None
    # Equal marks in a column would leave a part empty.
    if (
        len(marks) != n
        or not np.isin(marks, (0, 1)).all()
        or not np.ptp(marks, axis=0).all()
    ):
        raise DatasetError(
            f"{file.path}: expected one line for each of the {n} rows, and both marks, "
            f"0 and 1, in each column; got {len(marks)} lines."
        )
    return marks.T.astype(bool)


def of_task(data, file, n):
    """Read the splits of an OpenML task, a table of marked row numbers."""

    frame = arff(unpack(data, file.path), file.path)
    try:
        rows = frame["rowid"].astype(int)
        marks = frame["type"].map({"TRAIN": False, "TEST": True}).astype(bool)
        keys = [frame[key].astype(int) for key in ("repeat", "fold")]
    except (KeyError, ValueError) as error:
        raise DatasetError(
            f"{file.path}: expected the columns type (TRAIN or TEST), rowid, repeat "
            f"and fold: {error}."
        ) from None
    tests = []
    for (repeat, fold), part in marks.groupby(keys):
        found = rows[part.index].to_numpy()
        if not np.array_equal(np.sort(found), np.arange(n)):
            raise DatasetError(
                f"{file.path}: repeat {repeat}, fold {fold} does not partition the {n} "
                "rows into training and test rows."
            )
        tests.append(found[part])
    return _masks(tests, n)
