"""Several targets, compared with scikit-learn, single targets and definitions."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score

from adakern import AdaptiveKernelRegressor
from adakern.adaptive.intervals import fit_error_model
from adakern.adaptive.leave_one_out import LeaveOneOutError
from adakern.adaptive.members import REGISTRY
from adakern.adaptive.missing_targets import ByPattern

N = 70


def make_data(seed=0, n=N):
    """Rows of three columns and three targets in different units."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 0] * X[:, 1], X[:, 2] - X[:, 1]])
    return X, (Y + 0.1 * rng.standard_normal((n, 3))) * [1, 1e4, 1e-3]


def regressor(**options):
    return AdaptiveKernelRegressor(random_state=0, n_folds=3, **options)


def make_member(name):
    """An unfitted member for three numeric columns."""
    setting = REGISTRY[name].setting._replace(is_categorical=np.zeros(3, dtype=bool))
    return replace(REGISTRY[name], setting=setting, random_state=0)


@pytest.fixture(scope="module")
def fitted():
    X, Y = make_data()
    return X, Y, regressor().fit(X, pd.DataFrame(Y, columns=["a", "b", "c"]))


def test_outputs_have_one_entry_per_target(fitted):
    X, Y, model = fitted
    assert model.predict(X).shape == model.oof_prediction_.shape == (N, 3)
    assert model.predict_interval(X).shape == (N, 3, 2)
    assert model.predict_quantiles(X, [0.1, 0.2, 0.5, 0.9]).shape == (N, 3, 4)
    assert model.feature_importances_.shape == (3,)
    one = np.vstack([model.predict(row[None]) for row in X[:5]])
    np.testing.assert_allclose(one, model.predict(X)[:5], rtol=1e-9)
    assert model.oof_covered_.shape == (N, 3)
    assert model.targets_.tolist() == ["a", "b", "c"]
    each = r2_score(Y, model.oof_prediction_, multioutput="raw_values")
    np.testing.assert_allclose(model.oof_scores_, each)
    np.testing.assert_allclose(model.oof_score_, each.mean())
    assert model.oof_score_ > 0.8
    low, high = np.moveaxis(model.predict_interval(X), -1, 0)
    assert (low <= model.predict(X)).all() and (model.predict(X) <= high).all()
    for name, score in zip("abc", each, strict=True):
        assert f"  {name}                  {score:.4f}" in str(model)


def test_tags_and_pickle(fitted):
    X, _, model = fitted
    assert model.__sklearn_tags__().target_tags.multi_output
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_contributions_sum_to_predictions_of_each_target(fitted):
    X, _, model = fitted
    explanation = model.explain(X[:3], n_background=20)
    assert explanation.values.shape == (3, 3, 3)
    size = np.abs(explanation.predicted).max(axis=0)
    gap = (
        explanation.base + explanation.values.sum(axis=1) - explanation.predicted
    ) / size
    assert np.abs(gap).max() < 1e-10
    values, base, predicted = explanation.of_class("b")
    np.testing.assert_array_equal(values, explanation.values[:, :, 1])
    np.testing.assert_array_equal(predicted, explanation.predicted[:, 1])
    assert (base == explanation.base[1]).all()
    # The second target does not depend on the third column.
    assert np.abs(values[:, :2]).sum() > 5 * np.abs(values[:, 2]).sum()
    with pytest.raises(ValueError, match=r"one of .*a.*b.*c.*, got None"):
        explanation.of_class()


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_column_vector_equals_one_target(weighted):
    X, Y = make_data(1)
    weights = np.arange(N) % 4 if weighted else None
    one = regressor().fit(X, Y[:, 0], sample_weight=weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns about a column vector
        column = regressor().fit(X, Y[:, :1], sample_weight=weights)
    for method in ("predict", "predict_interval", "predict_quantiles"):
        expected, actual = getattr(one, method)(X), getattr(column, method)(X)
        np.testing.assert_array_equal(actual, expected)
    for name in ("oof_prediction_", "oof_covered_", "feature_importances_"):
        np.testing.assert_array_equal(getattr(column, name), getattr(one, name))
    assert one.weights_ == column.weights_ and one.oof_score_ == column.oof_score_


def test_invariance_to_order_and_units_of_targets(fitted):
    """Up to rounding in single precision, which the search amplifies."""
    X, Y, model = fitted
    order, units = [2, 0, 1], np.array([7.0, 1e-5, 300.0])
    other = regressor().fit(X, Y[:, order] * units)
    size = np.abs(Y).max(axis=0)
    gap = other.predict(X) / units - model.predict(X)[:, order]
    assert np.abs(gap / size[order]).max() < 1e-3
    gap = other.predict_interval(X) / units[:, None]
    gap = (gap - model.predict_interval(X)[:, order]) / size[order, None]
    assert np.abs(gap).max() < 1e-2


@pytest.mark.parametrize("kernel", ["laplacian", "rbf"])
def test_kernel_members_equal_scikit_learn(kernel):
    X, Y = make_data(2)
    Y = Y / Y.std(axis=0)
    member = make_member(kernel).fit(X, Y, np.ones(N))
    model = KernelRidge(alpha=member.alpha_, kernel=kernel, gamma=1.0)
    model.fit(member.support_, Y - Y.mean(axis=0))
    new, _ = make_data(3)
    expected = model.predict(new * member.scales_) + Y.mean(axis=0)
    np.testing.assert_allclose(member.predict(new), expected, rtol=1e-8, atol=1e-8)


def test_leave_one_out_error_is_the_mean_over_targets():
    X, Y = make_data(4, n=12)
    Y = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    error, *_ = LeaveOneOutError(X, Y, np.ones(12), "rbf")(np.full(3, 0.7), 0.1)
    total = 0.0
    for i in range(12):
        rest = np.arange(12) != i
        model = KernelRidge(alpha=0.1, kernel="rbf", gamma=1.0)
        model.fit(0.7 * X[rest], Y[rest])
        total += np.sum((model.predict(0.7 * X[i : i + 1]) - Y[i]) ** 2)
    np.testing.assert_allclose(np.exp(error), total / 12)


def test_linear_member_has_a_ridge_per_target():
    X, Y = make_data(5)
    together = make_member("linear").fit(X, Y, np.ones(N)).predict(X)
    alone = [
        make_member("linear").fit(X, y[:, None], np.ones(N)).predict(X) for y in Y.T
    ]
    np.testing.assert_allclose(together, np.hstack(alone))


def make_data_with_missing_targets(seed=6, n=N):
    """The first two targets are missing in the same rows, the third in others."""
    X, Y = make_data(seed, n)
    Y[::3, :2], Y[1::5, 2] = np.nan, np.nan
    return X, Y


@pytest.mark.parametrize("name", ["rbf", "linear", "extra-trees", "boosting"])
def test_member_is_fitted_to_rows_with_the_target(name):
    X, Y = make_data_with_missing_targets()
    weights = 1.0 + np.arange(N) % 2
    model = ByPattern(make_member(name), Y).fit(X, Y, weights)
    assert len(model.parts) == 2
    few = np.vstack([model.predict(row[None]) for row in X[:4]])
    np.testing.assert_allclose(few, model.predict(X)[:4], rtol=1e-6)
    for columns in ([0, 1], [2]):
        known = ~np.isnan(Y[:, columns[0]])
        alone = make_member(name).fit(X[known], Y[known][:, columns], weights[known])
        np.testing.assert_array_equal(model.predict(X)[:, columns], alone.predict(X))


def test_missing_targets_have_no_weight():
    X, Y = make_data_with_missing_targets(7)
    model = regressor().fit(X, Y)
    known = ~np.isnan(Y)
    np.testing.assert_array_equal(np.isnan(model.oof_covered_), ~known)
    some = known.any(axis=1)
    np.testing.assert_array_equal(np.isnan(model.oof_prediction_).T, [~some] * 3)
    for j, rows in enumerate(known.T):
        score = r2_score(Y[rows, j], model.oof_prediction_[rows, j])
        np.testing.assert_allclose(model.oof_scores_[j], score)
        assert score > 0.6
    assert np.isfinite(model.predict_interval(X)).all()
    assert np.isfinite(model.feature_importances_).all()


def test_row_without_targets_has_no_weight():
    X, Y = make_data(8)
    gaps = np.vstack([Y, np.full((9, 3), np.nan)])
    options = {"members": ["rbf", "linear"]}
    model = regressor(**options).fit(X, Y)
    other = regressor(**options).fit(np.vstack([X, X[:9] + 5]), gaps)
    assert np.isnan(other.oof_prediction_[N:]).all()
    assert np.isfinite(other.oof_prediction_[:N]).all()
    assert other.oof_scores_ == pytest.approx(model.oof_scores_, abs=0.1)


def test_target_known_in_one_row_is_constant():
    X, Y = make_data(9)
    Y[1:, 0] = np.nan
    model = regressor(members=["rbf", "linear"]).fit(X, Y)
    np.testing.assert_allclose(model.predict(X)[:, 0], Y[0, 0])
    assert np.isnan(model.oof_scores_[0]) and (model.oof_scores_[1:] > 0.5).all()
    assert np.isinf(model.predict_interval(X)[:, 0]).any(axis=1).all()


def test_more_targets_than_rows_and_constant_targets():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 2))
    Y = X @ rng.standard_normal((2, 30))
    Y[:, 5], Y[:, 6] = 3.0, 0.0
    model = regressor(members=["linear", "rbf"]).fit(X, Y)
    predicted = model.predict(X)
    assert predicted.shape == (12, 30)
    np.testing.assert_allclose(predicted[:, 5:7], np.tile([3.0, 0.0], (12, 1)))
    assert r2_score(Y, predicted) > 0.9


def test_error_sizes_per_target():
    """The noise of one target increases with the row, that of the other decreases."""
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(size=(600, 1)), axis=0)
    errors = rng.standard_normal((600, 2)) * np.hstack([0.1 + X, 50 * (1.1 - X)])
    predicted = np.zeros((600, 2))
    model = fit_error_model(X, predicted, errors, np.ones(600))
    width = np.ptp(model.interval(X, predicted, 0.9), axis=-1)
    assert (width[-60:].mean(axis=0) / width[:60].mean(axis=0) > 2).tolist() == [1, 0]
    inside = 2 * np.abs(errors) <= width
    assert (np.abs(inside.mean(axis=0) - 0.9) < 0.05).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"b": np.inf}, "column 'b' of y contains infinity in row 0"),
        ({"b": np.nan}, "column 'b' of y is NaN in every row"),
        ({"b": "x"}, "y must be numeric.*'x'.*AdaptiveKernelClassifier"),
        ({"b": 1j}, "y must be numeric.*[Cc]omplex"),
    ],
)
def test_invalid_targets_raise(change, message):
    X, Y = make_data(n=6)
    with pytest.raises(ValueError, match=message):
        regressor().fit(X, pd.DataFrame(Y, columns=list("abc")).assign(**change))


def test_target_without_weight_and_wrong_number_of_targets_raise():
    X, Y = make_data(n=9)
    Y[3:, 1] = np.nan
    weights = np.r_[0, 0, 0, np.ones(6)]
    with pytest.raises(ValueError, match="column 1 of y is missing in every row"):
        regressor().fit(X, Y, sample_weight=weights)
    with pytest.raises(ValueError, match=r"the 3 targets of y, .*got 2"):
        regressor().fit(X, Y, X_val=X, y_val=Y[:, ::2])
    with pytest.raises(ValueError, match=r"the 3 targets of y, .*got 1"):
        regressor().fit(X, Y, X_val=X, y_val=Y[:, 0])
    table = pd.DataFrame(Y, columns=list("abc"))
    with pytest.raises(ValueError, match=r"in its order, got c, b, a"):
        regressor().fit(X, table, X_val=X, y_val=table[["c", "b", "a"]])


def test_validation_rows_and_max_rows():
    X, Y = make_data(10, n=120)
    Y[::4, 0] = np.nan
    options = {"members": ["rbf", "linear"]}
    model = regressor(**options).fit(X[:80], Y[:80], X_val=X[80:], y_val=Y[80:])
    assert model.oof_prediction_.shape == (40, 3) and model.oof_score_ > 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the Nyström form
        model = regressor(max_rows=80, max_support=20, **options).fit(X, Y)
    assert np.isnan(model.oof_prediction_).any(axis=1).sum() == 40
    assert np.isfinite(model.predict(X)).all()


def test_fold_without_rows_of_a_target_predicts_its_mean():
    """The order of the targets is unchanged."""
    X, Y = make_data(11, n=20)
    Y[2:, 0] = np.nan
    model = ByPattern(make_member("linear"), Y)
    held = np.arange(20) < 2
    part = model.fit(X[~held], Y[~held], np.ones(18))
    np.testing.assert_allclose(part.predict(X)[:, 0], Y[:2, 0].mean())
