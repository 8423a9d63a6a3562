"""Contributions of columns to predictions, and influential training rows."""

from itertools import combinations
from math import comb

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern.adaptive import explain as module

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def four_columns():
    """Rows of four columns, one categorical and one with missing values."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=80),
            "b": rng.normal(size=80),
            "kind": rng.choice(["x", "y", "z"], 80),
            "c": np.where(rng.random(80) < 0.2, np.nan, rng.normal(size=80)),
        }
    )
    y = X["a"] * X["b"] + (X["kind"] == "x") + X["c"].fillna(2.0)
    return X, y.to_numpy()


def shapley_values(predict, row, background):
    """Shapley's formula, term by term, for rows of a data frame."""
    d = len(row.columns)

    def value(names):
        mixed = background.copy()
        for name in names:
            mixed[name] = row[name].iloc[0]
        return predict(mixed).mean(axis=0)

    values = []
    for name in row.columns:
        others, total = [other for other in row.columns if other != name], 0
        for size in range(d):
            for group in combinations(others, size):
                difference = value([*group, name]) - value(group)
                total += difference / (d * comb(d - 1, size))
        values.append(total)
    return np.array(values)


@pytest.mark.parametrize("max_enumerated", [module.MOST_ENUMERATED, 0])
@pytest.mark.parametrize("classify", [False, True])
def test_contributions_are_shapley_values(
    four_columns, monkeypatch, max_enumerated, classify
):
    """Exact if enumerated; unbiased if sampled from permutations."""
    monkeypatch.setattr(module, "MOST_ENUMERATED", max_enumerated)
    X, y = four_columns
    kind, target = AdaptiveKernelRegressor, y
    if classify:
        kind, target = AdaptiveKernelClassifier, np.digitize(y, [0.5, 2.0])
    model = kind(members=["rbf", "extra-trees"], random_state=0).fit(X, target)
    predict = model.predict_proba if classify else model.predict
    explanation = model.explain(X[:2], n_background=10_000)
    total = explanation.base + explanation.values.sum(axis=1)
    size = np.abs(explanation.values).max()
    np.testing.assert_allclose(total, predict(X[:2]), atol=1e-9 * size)
    np.testing.assert_array_equal(explanation.predicted, predict(X[:2]))
    # All training rows are stored and used as the background.
    np.testing.assert_allclose(explanation.base, predict(X).mean(axis=0))
    expected = [shapley_values(predict, X[i : i + 1], X) for i in range(2)]
    # A permutation and its reverse for each of 80 rows: standard error about 2 %.
    tolerance = 1e-9 if max_enumerated else 0.15
    np.testing.assert_allclose(explanation.values, expected, atol=tolerance * size)
    assert explanation.names == list(X.columns)
    assert explanation.data[0, 2] == X["kind"].iloc[0]


def test_contributions_of_linear_model(rng):
    X = rng.uniform(size=(60, 9))
    y = X @ np.arange(9.0)
    model = AdaptiveKernelRegressor(members=["linear"], random_state=0).fit(X, y)
    coef = LinearRegression().fit(X, model.predict(X)).coef_
    explanation = model.explain(X[:4], n_background=10_000)
    expected = coef * (X[:4] - X.mean(axis=0))
    # Values beyond four standard deviations are compressed; uniform ones are not.
    np.testing.assert_allclose(explanation.values, expected, atol=1e-8)


def test_contributions_of_constant_and_duplicate_columns(rng):
    X = rng.normal(size=(70, 8))
    X[:, 3] = 1.0
    X[:, 6] = X[:, 5]
    model = AdaptiveKernelRegressor(members=["rbf-ard"], random_state=0)
    model.fit(X, X[:, 0] + X[:, 5] ** 2)
    explanation = model.explain(X[:3])
    np.testing.assert_array_equal(explanation.values[:, 3], 0)
    # The members do not use the copy.
    np.testing.assert_array_equal(explanation.values[:, 6], 0)
    assert np.abs(explanation.values[:, 5]).min() > 0


def test_contributions_are_symmetric_in_columns(rng):
    X = rng.normal(size=(40, 2))
    X = np.vstack([X, X[:, ::-1]])
    member = AdaptiveKernelRegressor(members=["rbf"], random_state=0)
    model = member.fit(X, X[:, 0] * X[:, 1])
    row = np.array([[0.7, -0.4]])
    explanation, exchanged = (
        model.explain(row, n_background=999),
        model.explain(row[:, ::-1], n_background=999),
    )
    np.testing.assert_allclose(
        explanation.values[0], exchanged.values[0, ::-1], atol=1e-6
    )


def test_explanation_does_not_depend_on_batch_or_global_state(four_columns):
    X, y = four_columns
    wide = np.column_stack(
        [X[["a", "b"]], np.random.default_rng(1).normal(size=(80, 6))]
    )
    model = AdaptiveKernelRegressor(members=["rbf", "forest"]).fit(wide, y)
    # The global state is only read, to check that it does not change.
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    all_rows = model.explain(wide[:3])
    alone = model.explain(wide[1:2])
    after = np.random.get_state()[1]  # noqa: NPY002
    np.testing.assert_array_equal(after, state)
    scale = np.abs(all_rows.values).max()
    np.testing.assert_allclose(alone.values[0], all_rows.values[1], atol=1e-10 * scale)
    np.testing.assert_array_equal(alone.rows[0], all_rows.rows[1])


def test_blocks_and_equal_rows_do_not_change_contributions(four_columns, monkeypatch):
    X, y = four_columns
    model = AdaptiveKernelRegressor(members=["rbf"], random_state=0).fit(X, y)
    expected = model.explain(X[:2]).values
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(module, "_distinct", lambda rows: (rows, slice(None)))
    np.testing.assert_allclose(model.explain(X[:2]).values, expected, atol=1e-10)


def test_date_has_one_contribution(rng):
    days = pd.to_datetime("2024-01-01") + pd.to_timedelta(np.arange(60), unit="D")
    X = pd.DataFrame({"day": days, "x": rng.normal(size=60)})
    model = AdaptiveKernelRegressor(members=["linear"], random_state=0)
    explanation = model.fit(X, np.arange(60.0) + X["x"]).explain(X[:2])
    assert explanation.values.shape == (2, 2)
    assert (np.abs(explanation.values[:, 0]) > 10).all()


def test_influential_rows_sum_to_the_prediction(rng):
    """The prediction is the mean target plus the weighted deviations of the rows."""
    X = rng.normal(size=(50, 2))
    X[7] = X[31]
    y = np.sin(X[:, 0]) + X[:, 1]
    w = rng.uniform(0.5, 2, size=50)
    index = pd.Index(range(100, 150))
    model = AdaptiveKernelRegressor(members=["laplacian"], random_state=0)
    model.fit(pd.DataFrame(X, index=index, columns=["a", "b"]), y, sample_weight=w)
    new = pd.DataFrame([[0.3, -0.2], [0.0, 1.0]], columns=["a", "b"])
    explanation = model.explain(new, n_rows=50)
    assert explanation.rows.shape == (2, 49)
    assert 107 in explanation.rows
    assert 131 not in explanation.rows
    targets = pd.Series(y, index=index)
    targets[107] = np.average(y[[7, 31]], weights=w[[7, 31]])
    mean = np.average(y, weights=w)
    total = mean + np.sum(
        explanation.row_weights * (targets.to_numpy()[explanation.rows - 100] - mean),
        axis=1,
    )
    np.testing.assert_allclose(total, model.predict(new), rtol=1e-7)
    assert (np.diff(np.abs(explanation.row_weights)) <= 0).all()
    few = model.explain(new, n_rows=3)
    np.testing.assert_array_equal(few.rows, explanation.rows[:, :3])


def test_validation_rows_have_no_influence(rng):
    X = rng.normal(size=(60, 2))
    model = AdaptiveKernelRegressor(members=["rbf"], random_state=0)
    model.fit(X[:40], X[:40, 0], X_val=X[40:], y_val=X[40:, 0])
    explanation = model.explain(X[:1], n_rows=60)
    np.testing.assert_array_equal(np.sort(explanation.rows[0]), np.arange(40))
    deviations = X[explanation.rows[0], 0] - X[:40, 0].mean()
    total = X[:40, 0].mean() + explanation.row_weights[0] @ deviations
    assert total == pytest.approx(model.predict(X[:1])[0], rel=1e-6)


def test_no_influential_rows_without_kernel_members(rng):
    X = rng.normal(size=(40, 2))
    model = AdaptiveKernelRegressor(members=["linear"]).fit(X, X[:, 0])
    assert model.explain(X[:2]).rows.shape == (2, 0)


def test_contributions_of_constant_target_are_zero(rng):
    X = rng.normal(size=(20, 2))
    explanation = AdaptiveKernelRegressor().fit(X, np.ones(20)).explain(X[:2])
    np.testing.assert_array_equal(explanation.values, 0)
    assert explanation.base == 1


def test_explain_with_invalid_arguments_raises(four_columns):
    X, y = four_columns
    model = AdaptiveKernelClassifier(members=["linear"]).fit(X, y > 1)
    with pytest.raises(ValueError, match="no rows"):
        model.explain(X[:0])
    with pytest.raises(ValueError, match="n_background must be an integer >= 1, got 0"):
        model.explain(X[:1], n_background=0)
    with pytest.raises(ValueError, match="n_rows must be an integer >= 0, got -1"):
        model.explain(X[:1], n_rows=-1)
    explanation = model.explain(X[:1])
    with pytest.raises(ValueError, match=r"one of \[False, True\], got 'no'"):
        explanation.of_class("no")


def test_plot_of_one_row_and_of_all_rows(four_columns):
    X, y = four_columns
    model = AdaptiveKernelClassifier(members=["linear"]).fit(X, y > 1)
    explanation = model.explain(X[:6])
    one = explanation.plot(0)
    _, base, predicted = explanation.of_class()
    assert sum(bar.get_width() for bar in one.patches) == pytest.approx(
        predicted[0] - base[0]
    )
    labels = [text.get_text() for text in one.get_yticklabels()]
    assert f"kind = {X['kind'].iloc[0]}" in labels
    every = explanation.plot(label=True)
    points = [line.get_xdata() for line in every.lines[1:]]
    assert sorted(map(len, points)) == [6] * 4
    np.testing.assert_allclose(
        np.sum(points, axis=0), explanation.of_class(True)[0].sum(axis=1)
    )
