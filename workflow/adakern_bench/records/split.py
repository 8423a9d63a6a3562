"""Training and test rows of every repeat."""

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)

from adakern._utils.files import atomic_path

#: Fraction of the training rows, or of their groups, used for validation.
VALIDATION_SIZE = 0.2


def make_splits(
    table,
    *,
    kind,
    repeats,
    test_size,
    n_splits,
    stratify,
    seed,
    published,
    train_rows=None,
    max_train_rows=None,
    test_rows=None,
    max_splits=None,
):
    """Return the shuffled (or time-ordered) training rows and the sorted test rows of
    each repeat.
    """
    if not published:
        _check_size(table, kind, n_splits, repeats)
    if published:
        splits = _published(table)[:max_splits]
    elif kind == "time":
        splits = _later_rows(table, repeats)
    else:
        splitter = _splitter(table, kind, repeats, test_size, n_splits, stratify, seed)
        target = table.y if table.task == "classification" else None
        splits = splitter.split(
            table.X, target, table.groups if kind == "group-holdout" else None
        )
    splits = [
        _drawn(
            table,
            kind,
            train,
            test,
            train_rows,
            test_rows,
            [seed, repeat],
            max_train_rows,
        )
        for repeat, (train, test) in enumerate(splits)
    ]
    for repeat, (train, _) in enumerate(splits):
        if table.task == "classification" and len(np.unique(table.y[train])) < 2:
            raise ValueError(
                f"data set {table.name}: the training part of repeat {repeat} has only "
                f"one class ({table.y[train][0]}). Set protocol.stratify=true, a "
                "smaller protocol.test_size, or another protocol.seed"
            )
    return splits


def _drawn(table, kind, train, test, train_rows, test_rows, seed, max_train_rows):
    """Order the rows of both parts and reduce them to the requested sizes."""
    if train_rows is not None and train_rows > len(train):
        raise ValueError(
            f"data set {table.name}: protocol.train_rows must be at most {len(train)}, "
            f"the number of training rows in this protocol, got {train_rows}"
        )
    train = np.random.default_rng(seed).permutation(np.sort(train))[
        : train_rows or max_train_rows
    ]
    test = np.random.default_rng(seed).permutation(np.sort(test))[:test_rows]
    return np.sort(train) if kind == "time" else train, np.sort(test)


def _later_rows(table, repeats):
    """Splits into earlier and later rows that keep rows of the same time together."""
    n = len(table.y)
    moments = table.moments
    splits = {}
    for train, test in _earlier_and_later(table.X, repeats):
        # The test part starts at the first time that is not in the training part.
        first = moments[test[0]]
        if first == moments[train[-1]]:
            first += 1
        start = np.searchsorted(moments, first)
        if 0 < start < n:
            end = np.searchsorted(moments, moments[max(test[-1], start)], "right")
            splits.setdefault(start, (np.arange(start), np.arange(start, end)))
    return list(splits.values())


def _earlier_and_later(X, n_splits):
    """Splits of time-ordered rows; a single one tests on the last third."""
    return list(TimeSeriesSplit(max(2, n_splits)).split(X))[-n_splits:]


def check_repeats(splits, table, repeats):
    """Raise a ValueError if there are too few different times for the splits."""
    if len(splits) < repeats:
        raise ValueError(
            f"data set {table.name}: protocol.repeats must be at most {len(splits)} "
            f"with {len(np.unique(table.moments))} different times, got {repeats}. Set "
            f"protocol.repeats={len(splits)}, or another protocol.kind"
        )


def _published(table):
    rows = np.arange(len(table.y))
    if table.published_splits is None:
        return [(np.setdiff1d(rows, table.test_rows), table.test_rows)]
    return [(rows[~test], rows[test]) for test in table.published_splits]


#: Kind of split -> its splitter, and the stratified one.
_SPLITTERS = {
    "holdout": (ShuffleSplit, StratifiedShuffleSplit),
    "group-holdout": (GroupShuffleSplit, GroupShuffleSplit),
    "kfold": (RepeatedKFold, RepeatedStratifiedKFold),
    "search": (KFold, StratifiedKFold),
    "search in groups": (GroupKFold, StratifiedGroupKFold),
}


def _splitter(table, kind, repeats, test_size, n_splits, stratify, seed):
    stratified = stratify and table.task == "classification"
    if stratified:
        _check_class_sizes(table, n_splits if kind == "kfold" else 2)
    splitter = _SPLITTERS[kind][stratified]
    if kind == "kfold":
        return splitter(n_splits=n_splits, n_repeats=repeats, random_state=seed)
    return splitter(n_splits=repeats, test_size=test_size, random_state=seed)


def _check_size(table, kind, n_splits, repeats):
    """Raise a ValueError if there are too few rows, or groups, for the splits."""
    n = len(table.y)
    noun = "rows"
    if kind == "group-holdout":
        n = len(np.unique(table.groups))
        noun = "groups"
    needed = {"kfold": n_splits, "time": repeats + 1}.get(kind, 2)
    if n < needed:
        raise ValueError(
            f"data set {table.name}: protocol.kind={kind} needs at least {needed} "
            f"{noun}, got {n}. Use a larger table, another protocol.kind, or smaller "
            "protocol.n_splits and protocol.repeats"
        )


def _check_class_sizes(table, smallest):
    classes, counts = np.unique(table.y, return_counts=True)
    if counts.min() < smallest:
        raise ValueError(
            f"data set {table.name}: a stratified split needs at least {smallest} rows "
            f"per class, got {counts.min()} of class {classes[counts.argmin()]}. Set "
            "protocol.stratify=false or merge the class in the data set's entry"
        )


def inner_folds(prepared, task, n_splits, seed):
    """Splits of a training part that respect groups or time as the outer split does."""
    X = prepared.X_train
    y = prepared.y_fit
    if prepared.apart == "time":
        return _earlier_and_later(X, n_splits)
    if prepared.apart is None:
        return list(folds(task, n_splits, seed).split(X, strata(y, task)))
    settings = {"n_splits": n_splits, "random_state": seed}
    n_groups = len(np.unique(prepared.marks))
    if n_splits == 1 or n_groups < n_splits:
        splitter = GroupShuffleSplit(**settings, test_size=VALIDATION_SIZE)
    else:
        grouped = _SPLITTERS["search in groups"][task == "classification"]
        splitter = grouped(**settings, shuffle=True)
    return list(splitter.split(X, y, prepared.marks))


def validation_split(prepared):
    """Divide training rows into rows for fitting and for validation, which are the
    latest rows or whole groups.
    """
    n = len(prepared.y_train)
    if prepared.apart == "time":
        return np.split(np.arange(n), [n - max(1, round(VALIDATION_SIZE * n))])
    splitter = GroupShuffleSplit(1, test_size=VALIDATION_SIZE, random_state=0)
    return next(splitter.split(np.arange(n), groups=prepared.marks))


def strata(y, task):
    """Classes to stratify by, with classes of one row merged into the largest; None for
    regression.
    """
    if task != "classification":
        return None
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    return np.where(counts[codes] > 1, codes, counts.argmax())


def folds(task, n_splits, seed):
    """Return the splitter of a search within a training part."""
    stratified = task == "classification"
    if n_splits == 1:
        splitter = _SPLITTERS["holdout"][stratified]
        return splitter(1, test_size=VALIDATION_SIZE, random_state=seed)
    splitter = _SPLITTERS["search"][stratified]
    return splitter(n_splits=n_splits, shuffle=True, random_state=seed)


def save_splits(path, splits):
    """Write the row indices of every repeat."""
    arrays = {}
    for repeat, (train, test) in enumerate(splits):
        arrays[f"train_{repeat}"] = train.astype(np.int32)
        arrays[f"test_{repeat}"] = test.astype(np.int32)
    with atomic_path(path) as temporary:
        np.savez_compressed(temporary, **arrays)


def load_split(path, repeat):
    """Training and test rows of one repeat."""
    with np.load(path) as arrays:
        train = arrays[f"train_{repeat}"]
        test = arrays[f"test_{repeat}"]
    if len(both := np.intersect1d(train, test)):
        raise ValueError(
            f"{path}: training and test rows of repeat {repeat} must be disjoint, got "
            f"{len(both)} of {len(test)} test rows among the training rows (first: "
            f"{both[0]}). Delete the file, so that it is made again"
        )
    return train, test
