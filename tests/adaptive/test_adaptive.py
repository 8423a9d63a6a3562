"""The adaptive estimators on ordinary and difficult tables."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, make_friedman1
from sklearn.model_selection import train_test_split
from threadpoolctl import ThreadpoolController

from adakern._utils.arrays import as_numpy
from adakern.adaptive import MEMBERS, AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern.adaptive.choose import LEARNERS
from adakern.adaptive.members import REGISTRY
from devices import put
from steps import fitted_members, suited

FAST = ["linear", "laplacian", "extra-trees"]
BOTH = [AdaptiveKernelRegressor, AdaptiveKernelClassifier]
X, y = load_iris(return_X_y=True)


def make_estimator(estimator, **params):
    return estimator(**{"members": FAST, "random_state": 0} | params)


def mixed_table(n=90, seed=0):
    """Categories, numbers, missing values, a constant and a duplicate column; the
    target depends on a category and a number.
    """
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue"], n)
    size = rng.lognormal(size=n)
    signal = np.log(size) + 2 * (colour == "red")
    frame = pd.DataFrame(
        {"colour": colour, "size": size, "one": 1.0, "again": size, "late": None}
    )
    frame.loc[rng.choice(n, 10, replace=False), "colour"] = None
    frame.loc[rng.choice(n, 10, replace=False), ["size", "again"]] = np.nan
    return frame, signal


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (estimator, name)
        for estimator in BOTH
        for name in MEMBERS
        if estimator is not BOTH[0] or REGISTRY[name].regresses
    ],
)
def test_each_member_learns(estimator, name):
    rows, target = (
        (X[:, :3], X[:, 3]) if estimator is AdaptiveKernelRegressor else (X, y)
    )
    train, test = train_test_split(np.arange(150), random_state=0, stratify=target > 1)
    model = estimator(members=[name], random_state=0).fit(rows[train], target[train])
    assert model.weights_ == {name: 1.0}
    assert model.score(rows[test], target[test]) > 0.87
    assert model.oof_score_ > 0.87


def test_mixed_types_missing_values_and_duplicate_columns():
    frame, y = mixed_table()
    array = frame.to_numpy(dtype=object)
    model, array_model = (
        make_estimator(AdaptiveKernelRegressor).fit(rows, y) for rows in (frame, array)
    )
    np.testing.assert_array_equal(array_model.predict(array), model.predict(frame))
    assert model.oof_score_ > 0.5
    importances = dict(zip(frame.columns, model.feature_importances_, strict=True))
    assert importances["one"] == pytest.approx(0, abs=1e-9)
    assert importances["late"] == pytest.approx(0, abs=1e-9)
    assert importances["colour"] + importances["size"] + importances["again"] > 0.999
    labels = np.where(y > np.median(y), "high", "low")
    classifier = make_estimator(AdaptiveKernelClassifier).fit(frame, labels)
    assert classifier.oof_score_ > 0.7
    new = frame.iloc[:5].assign(colour=["violet", None, "red", 3, "blue"])
    assert np.isfinite(classifier.predict_proba(new)).all()


@pytest.mark.slow
@pytest.mark.parametrize("estimator", BOTH)
def test_invariance_to_row_order(estimator):
    frame, y = mixed_table()
    y = y > 1 if estimator is AdaptiveKernelClassifier else y
    shuffled = np.random.default_rng(1).permutation(len(y))
    model = make_estimator(estimator).fit(frame, y)
    again = make_estimator(estimator).fit(frame.iloc[shuffled], y[shuffled])
    np.testing.assert_array_equal(
        model.oof_prediction_[shuffled], again.oof_prediction_
    )


def test_repeated_rows_do_not_inflate_the_score():
    """Noise repeated five times is still noise."""
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.standard_normal((40, 3)), 5, axis=0), rng.standard_normal(200)
    copies = np.repeat(rng.standard_normal(40), 5)
    for target in (y, copies):
        assert make_estimator(AdaptiveKernelRegressor).fit(X, target).oof_score_ < 0.1


def test_invariance_to_target_units():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:80], y[:80]
    expected = make_estimator(AdaptiveKernelRegressor).fit(X, y).predict(X)
    for unit in (2.0**-990, 2.0**-30, 2.0**30, 2.0**1014):  # powers of two are exact
        predicted = make_estimator(AdaptiveKernelRegressor).fit(X, y * unit).predict(X)
        np.testing.assert_allclose(predicted / unit, expected, rtol=1e-12)


def test_probabilities_are_calibrated():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, 2))
    chance = 1 / (1 + np.exp(-2 * X[:, 0]))
    y = (rng.uniform(size=1200) < chance).astype(int)
    model = make_estimator(AdaptiveKernelClassifier).fit(X[:300], y[:300])
    predicted = model.predict_proba(X[300:])[:, 1]
    assert np.mean(np.abs(predicted - chance[300:])) < 0.08


def test_predictions_do_not_depend_on_number_of_threads():
    """The blocks of rows are the same for any number of threads."""
    X, y = make_friedman1(300, random_state=0)
    model, again = (
        make_estimator(
            AdaptiveKernelRegressor,
            members=["laplacian", "forest", "extra-trees"],
            n_folds=2,
        )
        for _ in range(2)
    )
    with ThreadpoolController().limit(limits=2):
        model.fit(X, y)
        new = np.resize(X, (7000, X.shape[1]))
        shared = [model.predict(new) for _ in range(2)]
    np.testing.assert_array_equal(shared[0], shared[1])
    with ThreadpoolController().limit(limits=1):
        np.testing.assert_array_equal(model.predict(new), shared[0])
        np.testing.assert_allclose(again.fit(X, y).predict(new), shared[0], rtol=1e-9)


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize(
    "options",
    [pytest.param({"n_jobs": 2}, marks=pytest.mark.slow), {"time_limit": 1e6}],
)
def test_n_jobs_and_ample_time_limit_do_not_change_the_model(estimator, options):
    model = make_estimator(estimator).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = make_estimator(estimator, **options).fit(X, y)
    assert len(again.members_) == len(FAST)
    np.testing.assert_array_equal(model.oof_prediction_, again.oof_prediction_)


def test_no_warnings_and_small_pickle():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AdaptiveKernelClassifier(random_state=0).fit(X, y)
        model.predict(X)
    stored = pickle.dumps(model)
    assert len(stored) < 5e6
    np.testing.assert_array_equal(
        pickle.loads(stored).predict_proba(X), model.predict_proba(X)
    )


def test_verbose_prints_progress_and_members(capsys):
    model = make_estimator(AdaptiveKernelClassifier, verbose=1).fit(X, y)
    output = capsys.readouterr().out
    assert (
        "extra-trees: " in output
        and "s; the other members take less than 1 s" in output
    )
    assert "out-of-fold score" in output and repr(model.members_) in output
    lines = repr(model.members_).splitlines()
    assert lines[0].split() == ["member", "weight", "score", "log", "loss", "seconds"]
    assert len(lines) == 1 + len(FAST)
    assert sum(model.weights_.values()) == pytest.approx(1)


def test_class_weight_equals_sample_weight():
    by_class = make_estimator(
        AdaptiveKernelClassifier, class_weight={0: 1, 1: 3, 2: 1}
    ).fit(X, y)
    by_row = make_estimator(AdaptiveKernelClassifier).fit(X, y, np.where(y == 1, 3, 1))
    np.testing.assert_array_equal(by_class.predict_proba(X), by_row.predict_proba(X))


def make_large_table(estimator):
    X, y = make_friedman1(LEARNERS + 2000, n_features=6, random_state=0)
    y = y if estimator is AdaptiveKernelRegressor else (y > 14).astype(int)
    return X[:-1000], X[-1000:], y[:-1000], y[-1000:]


@pytest.mark.filterwarnings("ignore:9000 distinct rows")
@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.slow
def test_members_are_screened_on_many_rows(estimator, capsys):
    X, new, y, true = make_large_table(estimator)
    few = {"max_support": 100, "n_folds": 2, "random_state": 0}
    model = estimator(verbose=1, **few).fit(X, y)
    assert "screening: " in capsys.readouterr().out
    classify = estimator is AdaptiveKernelClassifier
    expected = suited(len(X), X.shape[1], classify=classify)
    assert {m.name for m in model.members_} == set(expected)
    used = {member.name for member in model.ensemble_.members}
    dropped = [m for m in model.members_ if m.name not in used]
    assert "linear" in {m.name for m in dropped}  # the target is not linear
    assert all(m.weight == 0 and m.score < model.oof_score_ for m in dropped)
    assert {m.name for m in model.members_ if m.dropped} <= {m.name for m in dropped}
    assert sum(model.weights_.values()) == pytest.approx(1)
    without_screening = estimator(members=list(model.weights_), **few).fit(X, y)
    assert model.score(new, true) > without_screening.score(new, true) - 0.01


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.slow
def test_kernels_are_selected_in_closed_form_on_few_rows(estimator):
    """Not with groups, on which other members depend, nor with a time limit."""
    X, y = make_friedman1(600, n_features=5, random_state=0)
    y = y if estimator is AdaptiveKernelRegressor else (y > 14).astype(int)
    _, members, dropped = fitted_members(estimator(random_state=0), X[:300], y[:300])
    dropped = {member.name for member in dropped}
    names = set(suited(300, 5, classify=estimator is AdaptiveKernelClassifier))
    assert dropped
    assert dropped <= {name for name in names if "rbf" in name or "laplacian" in name}
    assert {member.name for member in members} == names - dropped
    models = [estimator(members=m, random_state=0) for m in ("auto", sorted(names))]
    scores = [model.fit(X[:300], y[:300]).score(X[300:], y[300:]) for model in models]
    assert scores[0] > scores[1] - 0.02
    *_, dropped = fitted_members(models[0], X, y, groups=np.arange(600) // 2)
    assert not dropped
    limited = models[0].set_params(time_limit=600)
    *_, dropped = fitted_members(limited, X[:300], y[:300])
    assert not dropped


@pytest.mark.filterwarnings("ignore:9000 distinct rows")
@pytest.mark.slow
def test_no_screening_of_named_members_or_without_time(capsys):
    X, _, y, _ = make_large_table(AdaptiveKernelRegressor)
    few = {"max_support": 100, "verbose": 1, "random_state": 0}
    AdaptiveKernelRegressor(members=["linear", "rbf"], **few).fit(X, y)
    limited = AdaptiveKernelRegressor(time_limit=1e-6, **few)
    with pytest.warns(
        UserWarning, match="=1e-06 s was too short for the members .*fitted: linear"
    ):
        limited.fit(X, y)
    assert list(limited.weights_) == ["linear"]
    assert "screening" not in capsys.readouterr().out


@pytest.mark.parametrize("n", [2, 3, 5, 9])
@pytest.mark.parametrize("estimator", BOTH)
def test_few_rows(estimator, n):
    rng = np.random.default_rng(n)
    X, y = rng.standard_normal((n, 2)), np.arange(n) % 2
    model = estimator(random_state=0).fit(X, y)
    assert np.isfinite(getattr(model, "predict_proba", model.predict)(X)).all()


@pytest.mark.parametrize("X", [np.ones((20, 2)), np.full((20, 2), np.nan)])
@pytest.mark.parametrize("estimator", BOTH)
def test_constant_or_missing_features(estimator, X):
    model = make_estimator(estimator).fit(X, np.tile([0, 1, 1, 1], 5))
    expected = 1 if estimator is AdaptiveKernelClassifier else 0.75
    np.testing.assert_allclose(model.predict(X[:2]), expected)


def test_constant_target_and_single_class():
    model = make_estimator(AdaptiveKernelRegressor).fit(X, np.full(150, 7.0))
    np.testing.assert_allclose(model.predict_interval(X), 7.0)
    np.testing.assert_allclose(model.predict(X), 7.0)
    classifier = make_estimator(AdaptiveKernelClassifier).fit(X, np.full(150, "only"))
    assert set(classifier.predict(X)) == {"only"}
    np.testing.assert_allclose(classifier.predict_proba(X), 1.0)


def test_classes_with_one_row():
    rows = np.vstack([X, [[9, 9, 9, 9]], [[-9, -9, -9, -9]]])
    model = make_estimator(AdaptiveKernelClassifier).fit(rows, np.append(y, [3, 4]))
    proba = model.predict_proba(rows)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert (proba > 0).all()


def test_many_classes():
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((60, 5)) * 4
    y = np.repeat(np.arange(60), 5)
    X = centres[y] + 0.3 * rng.standard_normal((300, 5))
    assert make_estimator(AdaptiveKernelClassifier).fit(X, y).oof_score_ > 0.9


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_extreme_values(size):
    rows = np.where(np.arange(4) == 2, X * size, X)
    model = AdaptiveKernelClassifier(random_state=0).fit(rows, y)
    assert model.oof_score_ > 0.9
    rows[0] = 1e300
    assert np.isfinite(model.predict_proba(rows)).all()


@pytest.mark.parametrize("estimator", BOTH)
def test_column_with_other_type_in_predict_warns(estimator):
    """Strings in a numeric column are treated as missing, and so are numbers in a
    categorical one.
    """
    frame, y = mixed_table()
    model = make_estimator(estimator).fit(frame, y > 1 if estimator is BOTH[1] else y)
    missing = model.predict(frame.assign(size=np.nan, colour=None))
    with pytest.warns(UserWarning, match="is numeric: no number in 90 cells"):
        predicted = model.predict(frame.assign(size="large", colour=1.5))
    np.testing.assert_array_equal(predicted, missing)


def test_nystrom_form_on_many_rows_warns():
    X, y = make_friedman1(700, n_features=5, random_state=0)
    model = make_estimator(
        AdaptiveKernelRegressor, members=["laplacian-ard", "linear"], max_support=150
    )
    with pytest.warns(UserWarning, match="500 distinct rows: .* max_support=150"):
        model.fit(X[:500], y[:500])
    fits = {member.name: member.fits for member in model.ensemble_.members}[
        "laplacian-ard"
    ]
    assert all(len(m.support_) == 150 for m in [*fits.models, fits.whole])
    assert model.score(X[500:], y[500:]) > 0.8
    low, high = model.predict_interval(X[500:]).T
    assert np.mean((low <= y[500:]) & (y[500:] <= high)) > 0.8


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_tensors_give_the_same_model_as_arrays(estimator, n_jobs):
    """Up to rounding: PyTorch sums in another order than NumPy. The search for scales
    sums n terms in single precision, and two orders of summation differ by at most n
    eps, relative to targets of size 1 (Higham, Accuracy and Stability of Numerical
    Algorithms, 2002, section 4.2), whatever the BLAS kernel.
    """
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(60, 3)), np.arange(60) % 2, rng.uniform(1, 2, 60)
    rounding = len(X) * np.finfo(np.float32).eps
    arrays = make_estimator(estimator).fit(X, y, weights)
    tensors = make_estimator(estimator).set_params(n_jobs=n_jobs)
    tensors.fit(*(put(torch, part) for part in (X, y, weights)))
    assert b"torch" not in pickle.dumps(tensors), "it asks for PyTorch to be read"
    for method in {"predict", "predict_proba", "predict_interval"} & {*dir(arrays)}:
        expected, predict = getattr(arrays, method)(X), getattr(tensors, method)
        actual = predict(put(torch, X))
        assert isinstance(actual, torch.Tensor)
        np.testing.assert_allclose(as_numpy(actual), expected, rtol=0, atol=rounding)
        np.testing.assert_allclose(predict(X), expected, rtol=0, atol=rounding)
