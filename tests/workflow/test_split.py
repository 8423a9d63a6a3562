"""Splits are disjoint, reproducible and keep groups together."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adakern_bench.data.table import Table
from adakern_bench.records.prepare import prepare
from adakern_bench.records.split import (
    check_repeats,
    inner_folds,
    load_split,
    make_splits,
)
from script import run_script

DEFAULTS = {
    "kind": "holdout",
    "repeats": 3,
    "test_size": 0.5,
    "n_splits": 4,
    "stratify": True,
}
DEFAULTS |= {"seed": 0, "published": False}


def make_table(n=40, task="classification", **more):
    rng = np.random.default_rng(n)
    y = np.arange(n) % 3 if task == "classification" else rng.normal(size=n)
    return Table(rng.normal(size=(n, 2)), y, "made", task, ["a", "b"], **more)


def make_splits_of(data, **settings):
    return make_splits(data, **DEFAULTS | settings)


@settings(max_examples=40)
@example(
    n=12,
    kind="holdout",
    task="classification",
    stratify=False,
    test_size=0.6875,
    seed=76,
)
@given(
    n=st.integers(12, 90),
    kind=st.sampled_from(["holdout", "kfold", "group-holdout"]),
    task=st.sampled_from(["classification", "regression"]),
    stratify=st.booleans(),
    test_size=st.floats(0.25, 0.7),
    seed=st.integers(0, 2**32 - 1),
)
def test_split_invariants(n, kind, task, stratify, test_size, seed):
    groups = np.arange(n) // 3
    data = make_table(n, task, groups=groups)
    options = {"kind": kind, "stratify": stratify, "test_size": test_size, "seed": seed}
    try:
        splits = make_splits_of(data, **options)
    except ValueError as error:
        # Raised only if so few training rows can all be of one class.
        assert "only one class" in str(error) and task == "classification"
        if kind == "group-holdout":  # only the last group remains, with one row
            assert len(set(groups)) * (1 - test_size) < 2 and n % 3 == 1
        else:
            assert kind == "holdout" and not stratify
            assert n - np.ceil(test_size * n) <= np.sum(data.y == 0)
        return
    assert len(splits) == (12 if kind == "kfold" else 3)
    for first in (
        range(0, 12, 4) if kind == "kfold" else ()
    ):  # each repeat tests each row once
        tested = np.concatenate([test for _, test in splits[first : first + 4]])
        np.testing.assert_array_equal(np.sort(tested), np.arange(n))
    for (train, test), (again_train, again_test) in zip(
        splits, make_splits_of(data, **options), strict=True
    ):
        np.testing.assert_array_equal(train, again_train)
        np.testing.assert_array_equal(test, again_test)
        np.testing.assert_array_equal(np.union1d(train, test), np.arange(n))
        assert not set(train) & set(test)
        assert len(set(train)) == len(train) and np.all(np.diff(test) > 0)
        if kind == "group-holdout":
            assert not set(groups[train]) & set(groups[test])
        if kind == "holdout":
            assert abs(len(test) - test_size * n) <= 1
        if stratify and task == "classification" and kind != "group-holdout":
            share = len(test) / n
            for label, count in data.class_counts.items():
                assert abs(np.sum(data.y[test] == label) - share * count) <= 1 + 1e-9


def test_repeats_differ_and_do_not_depend_on_their_number():
    first = [train.tolist() for train, _ in make_splits_of(make_table())]
    more = [train.tolist() for train, _ in make_splits_of(make_table(), repeats=6)]
    assert more[:3] == first and len({*map(tuple, more)}) == 6
    assert make_splits_of(make_table(), seed=1)[0][0].tolist() != first[0]


@pytest.mark.parametrize("kind", ["holdout", "kfold", "published"])
def test_training_rows_are_shuffled(kind):
    """scikit-learn's nearest neighbours break ties by the order of the rows."""
    data = make_table(40, test_rows=np.array([3, 5, 30]))
    chosen = {"published": True} if kind == "published" else {"kind": kind}
    for train, _ in make_splits_of(data, **chosen):
        assert np.any(np.diff(train) < 0)


def test_training_part_with_one_class_raises():
    data = make_table(30)
    data.y = (np.arange(30) == 0).astype(int)
    with pytest.raises(ValueError, match=r"made.*only one class.*protocol\.stratify"):
        make_splits_of(data, stratify=False, repeats=20)
    with pytest.raises(
        ValueError, match=r"made.*2 rows.*got 1 of class 1.*stratify=false"
    ):
        make_splits_of(data)


def test_split_script_writes_indices(tmp_path):
    data = make_table(40)
    data.save(tmp_path / "made.npz")
    out, stored = tmp_path / "split.npz", {"table": tmp_path / "made.npz"}
    run_script("split", stored, {"split": out}, splitting=DEFAULTS)
    for repeat, parts in enumerate(make_splits_of(data)):
        for stored, part in zip(load_split(out, repeat), parts, strict=True):
            np.testing.assert_array_equal(stored, part)


def test_each_published_split_is_used_once():
    # A test part with one class is valid: it can be scored.
    ((train, test),) = make_splits_of(
        make_table(test_rows=np.array([3, 6, 30])), published=True
    )
    assert test.tolist() == [3, 6, 30] and len(train) == 37
    marks = np.zeros((3, 40), bool)
    for k in range(3):
        marks[k, k::4] = True
    data = make_table(published_splits=marks)
    splits = make_splits_of(data, published=True)
    assert len(splits) == 3
    for mark, (train, test) in zip(marks, splits, strict=True):
        np.testing.assert_array_equal(test, np.flatnonzero(mark))
        np.testing.assert_array_equal(np.sort(train), np.flatnonzero(~mark))
    assert len(make_splits_of(data, published=True, max_splits=2)) == 2


def test_time_splits_go_forward():
    splits = make_splits_of(
        make_table(40, "regression", times=np.arange(40)), kind="time"
    )
    assert len(splits) == 3
    for train, test in splits:
        assert train.max() < test.min() and np.all(np.diff(train) > 0)
    assert splits[-1][1].max() == 39
    data = make_table(39, "regression", times=np.arange(39))
    ((train, test),) = make_splits_of(data, kind="time", repeats=1)
    np.testing.assert_array_equal(train, np.arange(26))
    np.testing.assert_array_equal(test, np.arange(26, 39))


@given(st.integers(12, 60), st.integers(12, 60), st.integers(0, 99))
def test_train_rows_are_nested_and_test_part_is_unchanged(few, many, seed):
    few, many = sorted((few, many))
    whole = make_splits_of(make_table(120), seed=seed)
    small = make_splits_of(make_table(120), seed=seed, train_rows=few, test_rows=20)
    large = make_splits_of(make_table(120), seed=seed, train_rows=many, test_rows=20)
    for everything, little, much in zip(whole, small, large, strict=True):
        assert set(little[0]) <= set(much[0]) <= set(everything[0])
        assert (len(little[0]), len(much[0])) == (few, many)
        assert np.array_equal(little[1], much[1]) and len(much[1]) == 20
        assert set(much[1]) <= set(everything[1])


def test_too_many_train_rows_raises():
    with pytest.raises(ValueError, match=r"at most 20.*got 21"):
        make_splits_of(make_table(), train_rows=21)


def test_rows_of_equal_time_are_not_separated():
    moments = np.repeat(np.arange(12), [1, 9, 2, 3, 30, 1, 1, 4, 6, 2, 5, 8])
    data = make_table(len(moments), "regression", times=moments)
    splits = make_splits_of(data, kind="time", repeats=5)
    for train, test in splits:
        assert moments[train].max() < moments[test].min()
        assert len(np.union1d(train, test)) == test.max() + 1
    check_repeats(splits, data, len(splits))
    assert len({test[0] for _, test in splits}) == len(splits)


def test_too_few_times_raises():
    data = make_table(90, "regression", times=np.repeat([0, 1, 2], 30))
    splits = make_splits_of(data, kind="time", repeats=5)
    assert len(splits) == 2
    with pytest.raises(ValueError, match="at most 2 with 3 different times, got"):
        check_repeats(splits, data, 5)


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("n_splits", [1, 3])
def test_inner_folds_follow_the_split(task, n_splits):
    groups = np.arange(60) // 4
    data = make_table(60, task, groups=groups)
    train, test = np.arange(40), np.arange(40, 60)
    prepared = prepare(data, train, test)
    folds = inner_folds(prepared, task, n_splits, seed=0)
    assert len(folds) == n_splits
    for first, second in folds:
        assert not set(groups[train[first]]) & set(groups[train[second]])
    later = prepare(make_table(60, task, times=np.arange(60)), train, test)
    folds = inner_folds(later, task, n_splits, seed=0)
    assert len(folds) == n_splits
    assert all(first.max() < second.min() for first, second in folds)
    # If the test part shares groups with the training part, so do the folds.
    shared = prepare(data, np.arange(0, 60, 2), np.arange(1, 60, 2))
    assert shared.apart is None


@pytest.mark.parametrize("shared", [[3], [3, 7, 9]])
def test_split_with_training_rows_in_test_part_raises(tmp_path, shared):
    train, test = np.arange(10), np.array([*shared, 11, 12])
    np.savez_compressed(tmp_path / "splits.npz", train_0=train, test_0=test)
    message = rf"of repeat 0 .*{len(shared)} of {len(test)} test rows .*first: 3"
    with pytest.raises(ValueError, match=message):
        load_split(tmp_path / "splits.npz", 0)


@pytest.mark.parametrize(
    ("n", "settings", "message"),
    [
        (1, {}, "kind=holdout needs at least 2 rows, got 1"),
        (3, {"kind": "kfold"}, "kind=kfold needs at least 4 rows, got 3"),
        (3, {"kind": "time"}, "kind=time needs at least 4 rows, got 3"),
        (9, {"kind": "group-holdout"}, "needs at least 2 groups, got 1"),
    ],
)
def test_too_small_table_raises(n, settings, message):
    data = make_table(n, "regression", groups=np.zeros(n, dtype=int))
    with pytest.raises(ValueError, match=f"data set made: .*{message}.*protocol.kind"):
        make_splits_of(data, stratify=False, **settings)
