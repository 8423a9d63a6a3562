"""The table's file, its fingerprint and the check against an entry."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adakern_bench.config.entry import DatasetEntry, DatasetError, check_content
from adakern_bench.data import fingerprint
from adakern_bench.data.fingerprint import content_fingerprint, six_digits
from adakern_bench.data.table import Table


def decode(codes):
    """The value that a six-digit code stands for, by plain arithmetic."""
    sign = np.sign(codes)
    digits, exponent = np.divmod(np.abs(codes).astype(np.int64), 1000)
    value = digits / 1e5 * 10.0 ** (exponent - 400)
    return np.where(codes == 0, 0.0, sign * value)


def random_rows(n=30, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-6, 7, size=d)
    return X, rng.integers(0, 3, size=n)


NUMBERS = st.floats(1e-200, 1e200) | st.floats(-1e200, -1e-200) | st.just(0.0)


@given(st.lists(NUMBERS, min_size=1, max_size=30))
def test_six_digits_matches_formatting(values):
    # One value a column: no value is tiny beside another of its column.
    codes = six_digits(np.array([values]))[0]
    for value, code in zip(values, codes, strict=True):
        printed = float(f"{value:.9e}")  # the first rounding
        assert decode(code) == pytest.approx(printed, rel=5.0001e-6)
        if value:
            assert len(str(abs(int(code)) // 1000)) == 6


POWERS = [10.0**p for p in range(-12, 13)]
TIES = [0.1234565, 1.000005, 2.5000005e-7, 99999.95]


@pytest.mark.parametrize("value", [*POWERS, *TIES])
def test_six_digits_near_power_of_ten_or_tie(value):
    around = [
        value,
        value * (1 - 1e-12),
        value * (1 + 1e-12),
        np.nextafter(value, np.inf),
    ]
    assert len(set(six_digits(np.array([around]))[0].tolist())) == 1


@given(st.integers(0, 2**31), st.integers(2, 60), st.integers(1, 6))
@settings(max_examples=50)
def test_fingerprint_invariant_to_noise_and_row_order(seed, n, d):
    rng = np.random.default_rng(seed)
    X, y = random_rows(n, d, seed)
    X = X.round(5)  # as a file holds it
    order = rng.permutation(n)
    copy = X * (1 + 1e-12 * rng.uniform(-1, 1, X.shape))
    assert content_fingerprint(copy[order], y[order]) == content_fingerprint(X, y)


@given(st.integers(0, 2**31), st.integers(0, 29), st.integers(0, 3))
@settings(max_examples=50)
def test_fingerprint_depends_on_each_cell(seed, i, j):
    X, y = random_rows(seed=seed)
    changed = X.copy()
    changed[i, j] *= 1 + 2e-5
    assert content_fingerprint(changed, y) != content_fingerprint(X, y)


def test_fingerprint_depends_on_row_metadata():
    X, y = random_rows()
    marks = np.arange(len(X)) % 2
    fingerprint = content_fingerprint(X, y, [marks])
    others = [
        (X[:, ::-1], y, [marks]),
        (X, np.roll(y, 1), [marks]),
        (X, y, [1 - marks]),
        (X, y),
    ]
    others += [(X[:-1], y[:-1], [marks[:-1]]), (X, np.array(list("abc"))[y], [marks])]
    for other in [*others, (-X, y, [marks])]:
        assert content_fingerprint(*other) != fingerprint
    assert content_fingerprint(X, y.astype(str), [marks]) == fingerprint


def test_fingerprint_independent_of_block_size(monkeypatch):
    X, y = random_rows(50)
    whole = content_fingerprint(X, y)
    monkeypatch.setattr(fingerprint, "BLOCK_ROWS", 7)
    assert content_fingerprint(X, y) == whole


def make_table(**changes):
    X, y = random_rows()
    facts = {
        "y": y,
        "task": "classification",
        "provenance": {"source": "generated"},
        "name": "toy",
    }
    facts |= {"groups": np.arange(30) // 3, "test_rows": np.arange(20, 30)}
    facts["categories"] = {"a": ["small", "large"]}
    return Table(X, feature_names=list("abcd"), **facts | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"groups": None, "test_rows": None},
        {"y": np.array(["yes", "no", "né"] * 10)},
        {"y": np.linspace(0, 1, 30), "task": "regression"},
        {
            "published_splits": np.eye(3, 30, dtype=bool),
            "tuning_rows": np.arange(30) < 9,
        },
    ],
)
def test_table_save_load_round_trip(tmp_path, changes):
    table = make_table(**changes)
    table.save(tmp_path / "deep" / "toy.npz")
    back = Table.load(tmp_path / "deep" / "toy.npz")
    for key, value in vars(table).items():
        np.testing.assert_array_equal(getattr(back, key), value)
    assert back.fingerprint == table.fingerprint
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["toy.npz"]


@pytest.mark.parametrize(
    ("stated", "named"),
    [
        ({"n": 31}, "n is 30, the entry has 31"),
        ({"d": 5}, "d is 4, the entry has 5"),
        ({"n_test": 3}, "n_test is 10, the entry has 3"),
        ({"classes": {7: 2}}, "the entry has {'7': 2}"),
        ({"fingerprint": "0" * 32}, "the entry has " + "0" * 32),
    ],
)
def test_check_content_reports_differences(stated, named):
    table = make_table()
    content = table.content()
    agrees = content | {"classes": table.class_counts}
    check_content(DatasetEntry(task="classification", **agrees), content)
    with pytest.raises(DatasetError, match=named):
        check_content(DatasetEntry(task="classification", **agrees | stated), content)


@pytest.mark.parametrize("enormous", [1e15, -1e30, 1e300])
def test_fingerprint_with_one_huge_value(enormous):
    X, y = random_rows()
    X[3, 1] = enormous
    other = X.copy()
    other[7, 1] *= 1.001
    assert content_fingerprint(X, y) != content_fingerprint(other, y)
    shuffled = np.random.default_rng(1).permutation(len(y))
    again = content_fingerprint(X[shuffled], y[shuffled])
    assert again == content_fingerprint(X, y)


def test_fingerprint_rounding_errors_of_zeros():
    X, y = random_rows()
    X[:, 0] = np.where(np.arange(len(X)) < 5, X[:, 0], 0.0)
    other = X.copy()
    other[5:, 0] = 1e-17
    assert content_fingerprint(X, y) == content_fingerprint(other, y)


def test_compressed_table_that_would_take_gigabytes_is_refused(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros(2**24), description="{}")
    with pytest.raises(DatasetError, match=r"a\.npz unpacks to more than"):
        Table.load(tmp_path / "a.npz")
