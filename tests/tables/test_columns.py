"""Conversion of mixed-type columns to numbers."""

import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.spatial.distance import pdist

from adakern import AdaptiveKernelRegressor
from adakern.adaptive.views import INDICATOR_SCALE, KernelView, TreeView
from adakern.datasets import read_table
from adakern.tables.columns import TableReader, as_columns
from adakern.tables.typed import typed_columns


def fit_transform(X, new=None):
    X = np.asarray(X, dtype=object)
    reader = TableReader(None, np.zeros(X.shape[1], dtype=bool)).fit(X)
    return reader, reader.transform(X if new is None else np.asarray(new, dtype=object))


def test_numeric_strings_and_booleans_are_numbers():
    reader, table = fit_transform([["1.5", True], ["-2e3", False], [" ", None]])
    assert not reader.is_categorical.any()
    np.testing.assert_array_equal(table, [[1.5, 1], [-2000, 0], [np.nan, np.nan]])


@pytest.mark.parametrize("other", [2.5, 7, -(2**62), 2**70, np.nan])
def test_typed_numbers_equal_numeric_strings(other):
    """Also for a column with limits of detection, which typed numbers cannot have."""
    cells = [["<0.5"]] + [[f"{k}.25"] for k in range(20)]
    _, typed = fit_transform(cells, [[1.5], [other]])
    _, mixed = fit_transform(cells, [["1.5"], [other], ["<0.5"]])
    np.testing.assert_array_equal(typed, mixed[:2])
    assert typed.shape == (2, 2) and not typed[:, 1].any() and mixed[2, 1] == -1
    reader, _ = fit_transform(cells)
    assert_array_equal(reader.transform(np.array([[1.5], [other]], float)), typed)


@pytest.mark.parametrize(("price", "expected"), [("12,5", 1.459), ("12.5", 1459)])
def test_ambiguous_marks_are_those_of_other_columns(tmp_path, price, expected):
    """As in a file."""
    pd = pytest.importorskip("pandas")
    rows = [[price, "1,459"], [price[::-1], "2,318"]] * 10
    _, table = fit_transform(rows)
    assert table[0].tolist() == [12.5, expected]
    frame = pd.DataFrame(rows, columns=["price", "rate"]).assign(y=range(20))
    frame.to_csv(tmp_path / "t.tsv", sep="\t", index=False)
    read = read_table(tmp_path / "t.tsv", "y")
    assert read.X.to_numpy().tolist() == table.tolist()


def test_numbers_without_percent_sign_warn():
    with pytest.warns(UserWarning, match="percent sign"):
        reader, table = fit_transform([[f"{k} %"] for k in range(20)], [[0.5], [7]])
    np.testing.assert_array_equal(table[:, 0], [0.5, 7])
    with pytest.warns(UserWarning, match="percent sign"):
        assert_array_equal(reader.transform(np.array([[0.5], [7]])), table)


def test_missing_values_of_every_type():
    pd = pytest.importorskip("pandas")
    _, table = fit_transform([[None], [np.nan], [pd.NA], [pd.NaT], [""], [3]])
    np.testing.assert_array_equal(table[:, 0], [np.nan] * 5 + [3])


def test_date_features():
    pd = pytest.importorskip("pandas")
    days = pd.to_datetime(["2020-01-01 00:00", "2021-07-02 12:00"])
    reader, table = fit_transform([[day] for day in days])
    np.testing.assert_array_equal(reader.source_, [0] * 6)
    assert table[1, 0] - table[0, 0] == 366 + 182.5
    np.testing.assert_array_equal(table[:, [1, 4, 5]], [[2020, 2, 0], [2021, 4, 12]])
    np.testing.assert_allclose(np.hypot(table[:, 2], table[:, 3]), 1)
    _, strings = fit_transform([["2020-01-01"], ["2021-07-02T12:00:00"]])
    _, numpys = fit_transform(days.to_numpy()[:, None].astype("M8[s]"))
    np.testing.assert_array_equal(strings, table)
    np.testing.assert_array_equal(numpys, table)


def test_dates_do_not_depend_on_local_time_zone(monkeypatch):
    pd = pytest.importorskip("pandas")
    days = [[day] for day in pd.to_datetime(["2020-01-01", "2020-07-01"])]
    zoned = [[pd.Timestamp("2020-01-01 05:00", tz="America/New_York")]]
    _, table = fit_transform(days)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    _, again = fit_transform(days)
    _, moved = fit_transform(days, zoned)
    monkeypatch.undo()
    time.tzset()
    np.testing.assert_array_equal(table, again)
    assert moved[0, 0] - table[0, 0] == pytest.approx(10 / 24)


def test_periods_are_converted_to_start_dates(tmp_path):
    pd = pytest.importorskip("pandas")
    periods = pd.period_range("2000-01", periods=40, freq="M")
    X = pd.DataFrame({"month": periods, "x": np.arange(40)})
    starts = X.assign(month=periods.start_time)
    (reader, rows), (_, expected) = (
        fit_transform(as_columns(f)[0]) for f in (X, starts)
    )
    assert reader.columns_[0].kind == "date"
    assert_array_equal(rows, expected)
    X.assign(y=1).to_parquet(tmp_path / "months.parquet")
    data = (tmp_path / "months.parquet").read_bytes()
    columns = typed_columns(data, "months.parquet", "y")[1]
    kinds = {name: column.kind for name, column in columns.items()}
    assert kinds == {"month": "date", "x": "numeric", "y": "numeric"}


def test_complex_numbers_raise():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"z": [1j, 2.0], "x": [0, 1]})
    with pytest.raises(ValueError, match="'z' has complex numbers"):
        AdaptiveKernelRegressor().fit(X, [0.0, 1.0])


def test_durations_are_converted_to_seconds():
    pd = pytest.importorskip("pandas")
    _, table = fit_transform([[pd.Timedelta("1h")], [np.timedelta64(2, "m")], [None]])
    np.testing.assert_array_equal(table[:, 0], [3600, 120, np.nan])


def test_numeric_categories_do_not_depend_on_type():
    X, new = np.array([[3.0], [1.0], [np.nan]]), np.array([[3], [7]])
    reader = TableReader(None, np.array([True])).fit(X)
    assert reader.is_categorical.all()
    np.testing.assert_array_equal(reader.transform(X)[:, 0], [1, 0, np.nan])
    np.testing.assert_array_equal(reader.transform(new)[:, 0], [1, np.nan])
    assert reader.transform(np.array([[True]], dtype=object)) == [[0]]


def test_nan_among_strings_is_missing():
    assert as_columns([["red", 1.0], [np.nan, 2.0]])[0][1, 0] is np.nan


def test_new_categories_are_missing():
    _, table = fit_transform([["red"], ["blue"]], new=[["blue"], ["green"]])
    np.testing.assert_array_equal(table, [[0], [np.nan]])


def fit_kernel_view(X, new=None, categories=None):
    X = np.asarray(X, dtype=float)
    categories = (
        np.zeros(X.shape[1], dtype=bool) if categories is None else np.array(categories)
    )
    return (
        KernelView(categories).fit(X).transform(X if new is None else np.asarray(new))
    )


def test_any_two_of_many_levels_are_equally_far_apart():
    """A kernel on categories: they have one scale, but few levels one for each."""
    codes = np.repeat(np.arange(40), 3)
    X = np.column_stack([np.arange(120), codes, codes % 4])
    view = KernelView(np.array([False, True, True])).fit(X)
    one_of_each = view.transform(X[::3])[:, 1:41]
    np.testing.assert_allclose(pdist(one_of_each), INDICATOR_SCALE * np.sqrt(2))
    assert view.groups_ == (0, *[1] * 40, 2, 3, 4, 5)


def test_rare_levels_of_large_tables_share_an_indicator(monkeypatch):
    monkeypatch.setattr("adakern.adaptive.views.MOST_CELLS", 35 * 120)
    codes = np.append(np.repeat(np.arange(34), 3), np.arange(34, 52))
    Z = fit_kernel_view(codes[:, None], categories=[True])
    assert Z.shape == (120, 36)  # 35 levels, and the others
    np.testing.assert_array_equal(Z[-17:].argmax(axis=1), 35)


def test_columns_without_outliers_are_standardised():
    X = np.random.default_rng(0).uniform(5, 9, (500, 1))
    Z = fit_kernel_view(X)[:, 0]
    assert np.std(Z) == pytest.approx(1, rel=0.05)
    assert np.corrcoef(Z, X[:, 0])[0, 1] == pytest.approx(1, abs=1e-12)


def test_outlier_remains_the_maximum_but_is_shrunk():
    X = np.append(np.random.default_rng(0).standard_normal(300), 1e9)[:, None]
    Z = fit_kernel_view(X)[:, 0]
    assert Z[-1] == Z.max()
    assert Z[-1] < 40
    assert np.std(Z[:-1]) == pytest.approx(1, rel=0.1)


def test_view_is_invariant_to_units():
    X = np.random.default_rng(0).lognormal(size=(80, 2))
    np.testing.assert_allclose(
        fit_kernel_view(X), fit_kernel_view(X * [1e6, 1e-6] + [5, -5]), rtol=1e-6
    )


def test_constant_empty_and_duplicate_columns_are_dropped():
    x = np.random.default_rng(0).standard_normal(30)
    X = np.column_stack([x, np.ones(30), x, np.full(30, np.nan)])
    assert fit_kernel_view(X).shape == (30, 1)


def test_missing_values_are_imputed_with_median_and_indicator():
    X = np.array([[1.0], [2.0], [3.0], [np.nan]])
    Z = fit_kernel_view(X)
    assert Z.shape == (4, 2)
    assert Z[3, 0] == Z[1, 0]
    np.testing.assert_array_equal(Z[:, 1] > 0, [False, False, False, True])


def test_rare_and_new_categories_share_one_indicator(monkeypatch):
    monkeypatch.setattr("adakern.adaptive.views.MOST_CELLS", 0)  # as for very many rows
    X = np.repeat(np.arange(40.0), np.arange(40, 0, -1))[:, None]
    new = np.array([[0.0], [39.0], [np.nan]])
    Z = fit_kernel_view(X, new, categories=[True])
    assert Z.shape[1] == 31
    assert Z[0, 0] > 0
    assert (Z[1:, -1] > 0).all()


def test_tree_view_orders_categories_by_frequency():
    X = np.array([[2.0], [2.0], [0.0], [1.0], [1.0], [1.0]])
    tree = TreeView(np.array([True])).fit(X)
    np.testing.assert_array_equal(
        tree.transform(np.array([[1.0], [2.0], [0.0], [7.0]]))[:, 0], [0, 1, 2, np.nan]
    )


@pytest.mark.parametrize(
    "training_values", [[1, 2, 30], ["1", "2", "30"], ["1.0", "2.0", "30.0"]]
)
def test_category_with_and_without_zero_decimals_is_equal(training_values):
    """Files saved with or without missing values differ in this way."""
    X = np.array(training_values * 4, dtype=object)[:, None]
    reader = TableReader(None, np.array([True])).fit(X)
    first = reader.transform(X)[:3, 0]
    for values in (
        [1, 2, 30],
        [1.0, 2.0, 30.0],
        ["1", "2", "30"],
        ["1.0", "2.00", "30"],
    ):
        codes = reader.transform(np.array(values, dtype=object)[:, None])[:, 0]
        np.testing.assert_array_equal(codes, first)
    with pytest.warns(UserWarning, match="does not know the category of 3 of 3"):
        reader.transform(np.array(["01", "1.05", "v1.0"], dtype=object)[:, None])


def test_categories_that_differ_in_decimals_are_distinct():
    X = np.array(["1", "1.0"] * 4, dtype=object)[:, None]
    codes = TableReader(None, np.array([True])).fit(X).transform(X)[:, 0]
    assert list(codes[:2]) == [0, 1]
