"""Edge cases: few distinct rows, weights, guarantees, and columns of unusual types."""

import tracemalloc

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from sklearn import __version__ as sklearn_version
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.utils.fixes import parse_version

from adakern.adaptive import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern.adaptive.blend import WeightedMean, fit_blend
from steps import fitted_members

MEMBERS = ["linear", "laplacian", "rbf", "forest", "extra-trees", "boosting"]


def regressor(**params):
    return AdaptiveKernelRegressor(**{"members": MEMBERS, "random_state": 0} | params)


def classifier(**params):
    return AdaptiveKernelClassifier(**{"members": MEMBERS, "random_state": 0} | params)


# Few distinct rows.


def test_repeated_rows_are_predicted_by_their_means():
    rng = np.random.default_rng(0)
    g = rng.integers(0, 2, 1000)
    model = regressor().fit(g[:, None], 10 * g + rng.standard_normal(1000))
    np.testing.assert_allclose(model.predict([[0], [1]]), [0, 10], atol=0.2)
    assert model.oof_score_ == pytest.approx(25 / 26, abs=0.01)
    low, high = model.predict_interval([[0], [1]]).T
    np.testing.assert_allclose(high - low, 2 * 1.645, rtol=0.15)
    kinds = rng.choice(["a", "b", "c"], 200)
    means = {"a": 0, "b": 10, "c": 3}
    y = np.array([means[kind] for kind in kinds]) + rng.standard_normal(200)
    predicted = regressor().fit(kinds[:, None], y).predict([["a"], ["b"], ["c"]])
    np.testing.assert_allclose(predicted, [0, 10, 3], atol=0.4)


@pytest.mark.parametrize("n", [30, 100])
def test_exclusive_or(n):
    X = np.random.default_rng(0).integers(0, 2, (n, 2))
    model = classifier().fit(X, X[:, 0] ^ X[:, 1])
    proba = model.predict_proba([[0, 0], [0, 1], [1, 0], [1, 1]])[:, 1]
    np.testing.assert_allclose(proba, [0, 1, 1, 0], atol=0.05)
    assert model.oof_score_ == 1


@pytest.mark.parametrize("k", [2, 7, 10])
def test_function_of_few_levels(k):
    rng = np.random.default_rng(k)
    x, f = rng.integers(0, k, 120), rng.standard_normal(k)
    model = regressor().fit(x[:, None], f[x])
    np.testing.assert_allclose(model.predict(np.arange(k)[:, None]), f, atol=0.1)
    assert model.oof_score_ > 0.9


@pytest.mark.slow
def test_class_with_two_of_thousands_of_rows():
    """As in a training part of nursery; boosting cannot hold out rows
    of such a class.
    """
    X = np.random.default_rng(0).standard_normal((2600, 2))
    y = np.where(np.arange(2600) < 2, 2, X[:, 0] > 0)
    model = classifier(members=["linear", "boosting"]).fit(X, y)
    assert model.oof_score_ > 0.98 and np.isfinite(model.predict_proba(X)).all()


def test_all_classes_have_positive_probability():
    X = np.repeat([0.0, 1.0], 40)[:, None] + np.linspace(0, 0.1, 80)[:, None]
    proba = classifier().fit(X, X[:, 0] > 0.5).predict_proba(X)
    # A prior of a fifth of a row for two equally frequent classes.
    assert 0.1 / 80.2 < proba.min() < 2 * 0.1 / 80.2


def test_class_weight_with_equal_rows():
    X = np.repeat([[0.0], [1.0]], 100, axis=0)
    y = np.r_[np.repeat([0, 1], [80, 20]), np.repeat([0, 1], [95, 5])]
    proba = classifier(class_weight={0: 1, 1: 4}).fit(X, y).predict_proba([[0], [1]])
    expected = [80 / (80 + 4 * 20), 4 * 5 / (95 + 4 * 5)]
    np.testing.assert_allclose(proba[:, 1], expected, atol=0.06)


# Weights.


def test_weights_of_extreme_size():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 2)), rng.standard_normal(60)
    model = regressor().fit(X, y, 10.0 ** rng.uniform(-300, 300, 60))
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("factor", [2.0**-30, 1e308])
def test_invariance_to_scale_of_weights(factor):
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:80], y[:80]
    weights = np.random.default_rng(0).choice([0.25, 0.5, 1.0], 80)
    model, scaled = (regressor().fit(X, y, f * weights) for f in (1, factor))
    np.testing.assert_allclose(model.predict(X), scaled.predict(X), rtol=1e-6)
    intervals = model.predict_interval(X), scaled.predict_interval(X)
    np.testing.assert_allclose(*intervals, rtol=1e-6)


def test_intervals_use_weights():
    rng = np.random.default_rng(0)
    X, noisy = rng.standard_normal((400, 1)), rng.uniform(size=400) < 0.5
    y = np.where(noisy, 10.0, 0.1) * rng.standard_normal(400)
    widths = [
        np.ptp(regressor(members=["linear"]).fit(X, y, w).predict_interval(X[:1]))
        for w in (np.where(noisy, 1, 1e-3), np.where(noisy, 1e-3, 1))
    ]
    assert widths[0] > 10 * widths[1]
    # All trees of the error model draw the heaviest rows, so none is out of bag.
    noise, weights = rng.standard_normal(400), np.exp(1.5 * rng.standard_normal(400))
    model = regressor(members=["linear"]).fit(X, X[:, 0] + noise, weights)
    assert np.median(np.ptp(model.predict_interval(X, 0.9), axis=1)) < 1.3 * 2 * 1.645


# Comparison of the blend with its best member.


def test_member_exact_on_most_rows_has_largest_weight():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (150, 2))
    y = np.sin(3 * X[:, 0]) * X[:, 1]
    y[:4] += 3 * rng.standard_normal(4)
    model = regressor().fit(X, y)
    assert model.weights_["rbf"] > 0.5


@pytest.mark.parametrize("zeros", [0.0, 0.6])
def test_blend_is_no_worse_than_its_best_member(zeros):
    """In classification from 300 rows on; with fewer the best member is uncertain."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = np.where(rng.uniform(size=300) < zeros, 0, np.exp(X[:, 0]) + X[:, 1] ** 2)
    y[:3] *= 20

    def fit_and_combine(problem, members):
        blend = fit_blend(problem, members)
        values = [m.fits.left_out for m in members]
        return blend, blend.combine(values, problem.table.X)

    problem, members, _ = fitted_members(regressor(), X[:150], y[:150])
    blend, predicted = fit_and_combine(problem, members)
    assert r2_score(problem.table.Y, predicted) >= max(blend.scores) - 1e-9
    model = classifier(members=MEMBERS[:3])
    problem, members, _ = fitted_members(model, X, y > np.median(y))

    def loss(members):
        blend, predicted = fit_and_combine(problem, members)
        return blend.losses(predicted, problem.table.Y).sum()

    assert loss(members) <= (1 + 1e-9) * min(loss([m]) for m in members)


# Scores and intervals.


def test_out_of_fold_score_of_noise():
    """With few rows and many members."""
    scores = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((50, 5)), rng.standard_normal(50)
        scores.append(regressor(members=MEMBERS[:5]).fit(X, y).oof_score_)
    assert np.mean(scores) < 0.02


def test_intervals_cover_new_groups():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(100), 5)
    X = np.repeat(rng.standard_normal((100, 3)), 5, axis=0)
    X += 0.01 * rng.standard_normal(X.shape)
    y = 3 * rng.standard_normal(100)[groups] + 0.1 * rng.standard_normal(500)
    old, new = groups < 50, groups >= 50
    covers = []
    for fit_groups in (None, groups[old]):
        model = regressor(members=["laplacian", "extra-trees"])
        model.fit(X[old], y[old], groups=fit_groups)
        low, high = model.predict_interval(X[new]).T
        covers.append(np.mean((low <= y[new]) & (y[new] <= high)))
    assert covers[0] < 0.5
    assert covers[1] > 0.75
    assert model.oof_score_ < 0.3


def test_intervals_are_wider_with_larger_noise():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (1200, 1))
    y = X[:, 0] + (0.1 + X[:, 0]) * rng.standard_normal(1200)
    model = regressor(members=["linear"]).fit(X[:500], y[:500])
    low, high = model.predict_interval(X[500:]).T
    inside = (low <= y[500:]) & (y[500:] <= high)
    assert min(inside[X[500:, 0] // 1 == k].mean() for k in range(3)) > 0.8
    assert abs(inside.mean() - 0.9) < 0.04
    levels = model.predict_quantiles(X[500:], [0.1, 0.5, 0.9])
    assert (np.diff(levels, axis=1) > 0).all()
    np.testing.assert_allclose(
        (y[500:, None] <= levels).mean(axis=0), [0.1, 0.5, 0.9], atol=0.06
    )
    with pytest.raises(ValueError, match="coverage"):
        model.predict_interval(X, coverage=1.0)
    with pytest.raises(ValueError, match="quantiles"):
        model.predict_quantiles(X, [0.5, 1.5])


def test_bounds_have_the_sign_of_the_targets():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 2))
    prices = np.exp(2 * X[:, 0] + rng.standard_normal(150))
    assert regressor().fit(X, prices).predict_interval(X).min() >= 0
    assert regressor().fit(X, -prices).predict_quantiles(X).max() <= 0


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("member", ["linear", "laplacian", "boosting"])
def test_intervals_contain_predictions_and_quantiles_are_ordered(sign, member):
    """For a hinge function, for which a linear fit has both signs, and for waiting
    times.
    """
    rng = np.random.default_rng(0)
    X, new = rng.uniform(-2, 4, (120, 1)), rng.uniform(-4, 6, (300, 1))
    for y in (np.maximum(X[:, 0], 0), rng.exponential(np.exp(X[:, 0]))):
        model = AdaptiveKernelRegressor(members=[member], random_state=0)
        model.fit(X, sign * y)
        predicted = model.predict(new)
        assert (sign * predicted).min() >= 0
        for coverage in (0.01, 0.5, 0.9, 0.999):
            low, high = model.predict_interval(new, coverage).T
            assert (low <= predicted).all() and (predicted <= high).all()
        quantiles = model.predict_quantiles(new, [0.01, 0.3, 0.49, 0.5, 0.51, 0.99])
        assert (np.diff(quantiles, axis=1) >= 0).all()
        assert (sign * model.oof_prediction_).min() >= 0


@hypothesis.settings(max_examples=50, deadline=None)
@hypothesis.given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=5))
def test_bounds_of_predictions(targets):
    Y = np.array(targets)[:, None]
    low, high = WeightedMean().bounds(Y)
    assert low <= Y.min() <= Y.max() <= high
    if Y.min() < 0 < Y.max():
        assert high - low == pytest.approx(2 * np.ptp(Y))
    else:
        assert low >= 0 or high <= 0


def test_sign_of_bounds_uses_all_targets():
    """Not only validation rows, which may be later and all positive."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (120, 1))
    later = rng.uniform(0.5, 3, (40, 1))
    validation = {"X_val": later, "y_val": later[:, 0]}
    model = AdaptiveKernelRegressor(members=["linear"], random_state=0)
    low, high = model.fit(X, X[:, 0], **validation).predict_interval([[-2.0]])[0]
    assert low <= -2 + 1e-6 and high < 0


def test_coverage_of_prediction_sets():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 2))
    y = (X[:, 0] + rng.standard_normal(900) > 0).astype(int) + (X[:, 1] > 1)
    model = classifier(members=["linear", "forest"]).fit(X[:300], y[:300])
    sets = model.predict_set(X[300:], coverage=0.9)
    assert sets.shape == (600, 3)
    assert sets.any(axis=1).all()
    assert abs(sets[np.arange(600), y[300:]].mean() - 0.9) < 0.05
    assert sets.sum() < model.predict_set(X[300:], coverage=0.99).sum()
    for coverage in (1.5, [0.5, 0.9], "most"):
        with pytest.raises(
            ValueError, match=r"coverage must be a number between 0 and 1"
        ):
            model.predict_set(X, coverage=coverage)


@pytest.mark.parametrize("make", [regressor, classifier])
def test_validation_rows_determine_the_weights(make):
    X, y = load_wine(return_X_y=True)
    train, val = np.arange(0, 178, 2), np.arange(1, 178, 2)
    model = make().fit(X[train], y[train], X_val=X[val], y_val=y[val])
    assert len(model.oof_prediction_) == len(val)
    assert model.oof_score_ > 0.8
    predicted = getattr(model, "predict_proba", model.predict)(X[val])
    np.testing.assert_allclose(
        predicted.mean(0), model.oof_prediction_.mean(0), atol=0.05
    )
    other = make().fit(X[train], y[train], X_val=X[val[::5]], y_val=y[val[::5]])
    for ours, others in zip(
        model.ensemble_.members, other.ensemble_.members, strict=False
    ):
        if ours.name == others.name:  # members are not fitted to these rows
            rows = ours.view.transform(X), others.view.transform(X)
            np.testing.assert_allclose(ours.predict(rows[0]), others.predict(rows[1]))


# Column types.


def make_columns_of_many_types(n=60):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    days = pd.date_range("2020-01-01", periods=n, freq="9D")
    frame = pd.DataFrame(
        {
            "number": rng.standard_normal(n),
            "category": pd.Categorical(rng.choice(["a", "b"], n)),
            "yes": rng.uniform(size=n) > 0.5,
            "nullable": pd.array(rng.integers(0, 5, n), dtype="Int64"),
            "day": days,
            "zoned": days.tz_localize("Europe/Berlin"),
            "took": pd.to_timedelta(np.arange(n), unit="h"),
            "empty": np.nan,
            "once": np.where(np.arange(n) == 3, 1.0, np.nan),
            "written": days.strftime("%Y-%m-%d"),
        }
    )
    frame.loc[4, "nullable"] = pd.NA
    season = np.sin(2 * np.pi * days.day_of_year / 365.25)
    return frame, season.to_numpy() + 0.1 * rng.standard_normal(n)


def test_columns_of_many_types():
    frame, y = make_columns_of_many_types()
    model = regressor().fit(frame, y)
    assert model.oof_score_ > 0.9  # the season
    assert model.feature_importances_.shape == (10,)
    predicted = model.predict(frame)
    np.testing.assert_array_equal(model.predict(frame[frame.columns[::-1]]), predicted)
    with pytest.warns(UserWarning, match="columns that were not in training: more"):
        np.testing.assert_array_equal(model.predict(frame.assign(more=1)), predicted)
    with pytest.raises(ValueError, match="X lacks the columns number, took"):
        model.predict(frame.drop(columns=["number", "took"]))
    with pytest.warns(UserWarning, match="day. is a date: no date in 60 cells"):
        assert np.isfinite(model.predict(frame.assign(day="soon"))).all()


def test_categorical_features_given_as_numbers():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 12, 300)
    y = rng.standard_normal(12)[code] + 0.1 * rng.standard_normal(300)
    X = np.column_stack([code, rng.standard_normal(300)])
    for features in ([0], [True, False]):
        model = regressor(members=["linear"], categorical_features=features)
        assert model.fit(X, y).oof_score_ > 0.9
    assert regressor(members=["linear"]).fit(X, y).oof_score_ < 0.5


def object_array(*values):
    return np.array([*values] * 10, dtype=object)


ROWS = np.arange(20)
CODED = np.column_stack([ROWS % 12, ROWS / 7])
GAPS = np.where(ROWS == 3, np.nan, 1.0)
CELLS = np.array([["a", 1.0, None]] * 20, dtype=object)
CELLS[3, 2] = [1]
INFINITE = np.array([["word", 1.0], ["other", np.inf]] * 10, dtype=object)


@pytest.mark.parametrize(
    ("make", "settings", "data", "message"),
    [
        (classifier, {}, {"y": object_array("a", None)}, r"y\[1\] is None"),
        (classifier, {}, {"y": object_array("a", 1)}, "of one type, got int, str"),
        (regressor, {}, {"y": ["a", "b"] * 10}, "y must be numeric"),
        (
            regressor,
            {},
            {"X": [[10**400], *ROWS[1:, None].tolist()]},
            "column 0 has .* 1.8e308",
        ),
        (
            regressor,
            {},
            {"y": [1, 2, 10**400, *range(17)]},
            "y has .* beyond 1.8e308",
        ),
        (regressor, {}, {"X": CELLS}, "column 2 has a list"),
        (regressor, {}, {"X": INFINITE}, "infinity"),
        (regressor, {}, {"groups": GAPS}, "Input groups contains NaN"),
        (
            regressor,
            {},
            {"groups": object_array("a", None)},
            "None or values of several",
        ),
        (regressor, {}, {"X_val": CODED, "y_val": ROWS * np.nan}, "y_val contains NaN"),
        (
            regressor,
            {},
            {"X_val": CODED, "y_val": ["a"] * 20},
            "y_val must be numeric|y must be numeric",
        ),
        (regressor, {}, {"X_val": CODED}, "passed together"),
        (regressor, {}, {"y_val": ROWS}, "passed together"),
        (regressor, {}, {"X": CODED * np.longdouble("1e400")}, "infinity"),
        (classifier, {}, {"y": ["a", np.nan] * 10}, r"y\[1\] is nan"),
        (
            classifier,
            {"class_weight": {0: np.inf}},
            {"y": ROWS % 2},
            "class_weight must give finite and",
        ),
        (
            classifier,
            {"class_weight": {0: -1, 1: 1}},
            {"y": ROWS % 2},
            "class_weight must give .* non-negative",
        ),
        (
            classifier,
            {},
            {"X_val": CODED, "y_val": ROWS, "groups": ROWS},
            "groups or X_val",
        ),
        (regressor, {"members": ["svm"]}, {}, "some of linear.*got.*'svm'"),
        (regressor, {"members": ["rfb"]}, {}, "some of linear.*got.*'rfb'"),
        (regressor, {"categorical_features": ["code"]}, {}, "0 to 1.* got 'code'"),
        (regressor, {"categorical_features": [[0]]}, {}, r"0 to 1.* got \[0\]"),
    ],
)
def test_invalid_input_raises(make, settings, data, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make(**settings).fit(**{"X": CODED, "y": ROWS} | data)


@pytest.mark.skipif(
    parse_version(sklearn_version) < parse_version("1.7"),
    reason="scikit-learn before 1.7 accepts labels of bytes and warns",
)
def test_labels_of_bytes_raise():
    with pytest.raises(TypeError, match="bytes is not supported"):
        classifier().fit(CODED, np.array([b"a", b"b"] * 10))


def test_missing_pandas_label_raises():
    labels = pytest.importorskip("pandas").array(["a", None] * 10, "string")
    with pytest.raises(ValueError, match=r"y\[1\] is <NA>"):
        classifier().fit(CODED, labels)


@pytest.mark.parametrize("seed", range(4))
def test_class_of_a_single_group_is_predicted(seed):
    """Without the fold of this group, there is only one class to learn."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    groups = np.arange(300) // 60
    y = (groups == 2) & (X[:, 0] > 0)
    model = classifier(members=["boosting", "forest", "linear"], random_state=seed)
    model.fit(X, y, groups=groups)
    proba = model.predict_proba(X)
    alone = np.vstack([model.predict_proba(row[None]) for row in X[:5]])
    np.testing.assert_allclose(alone, proba[:5], atol=1e-12)


def test_single_group_is_ignored_with_warning():
    with pytest.warns(UserWarning, match="groups has one value only"):
        model = regressor(members=["linear"]).fit(CODED, ROWS, groups=["site"] * 20)
    assert model.weights_ == regressor(members=["linear"]).fit(CODED, ROWS).weights_


def test_arrow_table():
    pytest.importorskip("pandas")
    days = ROWS.astype("M8[D]").astype("M8[us]")
    table = pytest.importorskip("pyarrow").table(
        {"a": ROWS / 3, "b": ROWS % 5, "day": days}
    )
    model = regressor(members=["linear"]).fit(table, ROWS)
    np.testing.assert_allclose(model.predict(table), ROWS, atol=0.1)
    assert (
        model.predict(table.select(["day", "b", "a"])) == model.predict(table)
    ).all()


@pytest.mark.parametrize("unit", ["us", "ns"])
def test_arrow_timestamps(unit):
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    days = pd.date_range("2020-01-01", periods=120, freq="9D")
    y = np.sin(2 * np.pi * days.day_of_year / 365)
    table = pa.table({"day": pa.array(days.to_numpy().astype(f"M8[{unit}]"))})
    model = regressor(members=["rbf"]).fit(table, y)
    assert model.score(pd.DataFrame({"day": days}), y) > 0.99


# Fitted state.


def test_interrupted_refit_is_not_fitted(monkeypatch):
    X, y = load_iris(return_X_y=True)
    model = classifier(members=["linear"]).fit(X, y)

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("adakern.adaptive.base.fit_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_memory_of_importances_of_many_columns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 600))
    model = regressor(members=["linear"], n_folds=2).fit(X, X[:, 0])
    tracemalloc.start()
    importances = model.feature_importances_
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert importances.argmax() == 0
    assert peak < 100e6
