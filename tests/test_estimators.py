"""Tests of every estimator: scikit-learn's checks and determinism."""

from inspect import signature
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_wine, make_classification
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import minmax_scale
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import parametrize_with_checks

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern._utils import resources
from adakern.baselines import BayesianMKLClassifier, KernelSVC, KernelSVR
from adakern.dank import DANKClassifier, DANKRegressor
from adakern.kernels import gram_matrix
from adakern.knpl import KNPLClassifier
from adakern.model_selection import KernelSearchCV
from discovery import all_estimators
from torture import data

#: Smaller forests, since each check fits them again.
QUICK = {
    name: {"n_estimators": 20}
    for name in ("SimpleBlendClassifier", "SimpleBlendRegressor")
}
#: The adaptive kernels with fewer members (the checks of their defaults are slow, see
#: conftest.py), strategies that are not the default, and searches, which need an
#: estimator.
MORE = [
    *(
        kind(members=["linear", "rbf"], n_folds=2)
        for kind in (AdaptiveKernelClassifier, AdaptiveKernelRegressor)
    ),
    *(
        kind(strategy="decomposed", n_clusters=2)
        for kind in (DANKClassifier, DANKRegressor)
    ),
    *(kind(strategy="whole") for kind in (DANKClassifier, DANKRegressor)),
    DANKClassifier(probability=True),
    KernelSearchCV(SVC(), {"C": [0.1, 10]}, cv=2),
    KernelSearchCV(KernelRidge(kernel="laplacian"), {"alpha": [0.1, 10]}, cv=2),
]


@parametrize_with_checks(
    [*(e(**QUICK.get(e.__name__, {})) for e in all_estimators()), *MORE]
)
def test_estimator_follows_scikit_learn(estimator, check):
    """No check fails or is expected to fail."""
    check(estimator)


@pytest.fixture
def global_generator():
    """NumPy's global random state, restored afterwards."""
    generator = check_random_state(None)
    state = generator.get_state()
    yield generator
    generator.set_state(state)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", all_estimators(), ids=lambda e: e.__name__)
def test_global_random_state_is_not_used(estimator, global_generator):
    X, y = data(estimator())
    outputs = []
    for seed in (1, 2):
        global_generator.seed(seed)
        expected_state = global_generator.get_state()[1].copy()
        model = estimator(**QUICK.get(estimator.__name__, {}))
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        model.fit(X, y)
        predict = model.predict if hasattr(model, "predict") else model.transform
        outputs.append(predict(X))
        _, state, position, *_ = global_generator.get_state()
        np.testing.assert_array_equal(state, expected_state)
        assert position == 624  # unchanged since seeding
    np.testing.assert_array_equal(*outputs)


#: Values of which each is wrong for most parameters.
BAD = (
    *(object(), "nonsense", -1, np.nan, 1j, [], [np.nan], ["nonsense"], [[]]),
    {"nonsense": [1]},
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", all_estimators(), ids=lambda e: e.__name__)
def test_bad_values_of_parameters_are_named(estimator):
    """A value is refused with the name of its parameter, or gives a finite result."""
    X, y = data(estimator(), 30)
    parameters = estimator().get_params(deep=False)
    quick = QUICK.get(estimator.__name__, {})
    if "members" in parameters:
        quick = {"members": ["linear"], "n_folds": 2}
    for name, value in product(parameters, BAD):
        model = estimator(**quick).set_params(**{name: value})
        try:
            model.fit(X, y)
        except ValueError as error:
            assert name in str(error), f"{name}={value!r}: {error}"
        else:
            predict = getattr(model, "predict", getattr(model, "transform", None))
            assert np.isfinite(np.asarray(predict(X), float)).all(), (name, value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", all_estimators(), ids=lambda e: e.__name__)
def test_bad_values_for_rows_are_named(estimator):
    X, y = data(estimator(), 30)
    ones = np.ones(30)
    bad = {
        "sample_weight": [ones[1:], -ones, ones * np.nan, 0 * ones, ["a"] * 30, "a"],
        "groups": [ones[1:], ones * np.nan, np.ones((30, 2)), [None] * 30, "a"],
        "time": [ones[1:], ones * np.nan, np.ones((30, 2)), ["a"] * 30, "a"],
    }
    for name in bad.keys() & signature(estimator.fit).parameters.keys():
        for value in bad[name]:
            with pytest.raises(ValueError, match=name):
                estimator().fit(X, y, **{name: value})


@pytest.mark.parametrize("kind", [DANKClassifier, DANKRegressor, KNPLClassifier])
@pytest.mark.parametrize("weight", [1e-70, 1e70])
def test_weights_out_of_range_raise(kind, weight):
    """They once ended in errors of SciPy and in an overflow."""
    X, y = data(kind(), 30)
    with pytest.raises(ValueError, match="sample_weight must be 0 or from"):
        kind().fit(X, y, sample_weight=np.full(30, weight))


@pytest.mark.parametrize("model", [KernelSVC(), KernelSVR(), KNPLClassifier(reg=20.0)])
def test_precomputed_kernel_gives_the_same_model(model):
    X, y = load_wine(return_X_y=True)
    X = minmax_scale(X)
    expected = model.set_params(gamma=0.5).fit(X[::2], y[::2]).predict(X[1::2])
    model.set_params(kernel="precomputed").fit(gram_matrix(X[::2], gamma=0.5), y[::2])
    actual = model.predict(gram_matrix(X[1::2], X[::2], gamma=0.5))
    np.testing.assert_allclose(actual, expected, rtol=1e-9)


@pytest.mark.parametrize("model", [KNPLClassifier(), BayesianMKLClassifier()])
def test_too_little_memory_raises(model, monkeypatch):
    X, y = make_classification(50, random_state=0)
    sysconf = {"SC_PAGE_SIZE": 8, "SC_PHYS_PAGES": 50**2}
    monkeypatch.setattr(resources.os, "sysconf", sysconf.get)
    with pytest.raises(MemoryError, match="ClusterwiseClassifier"):
        model.fit(X, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", all_estimators(), ids=lambda e: e.__name__)
def test_names_of_classes_and_units_of_features_do_not_matter(estimator):
    """Classes of classifiers, and features of Gaussian kernels whose width is relative
    to them.
    """
    X, y = data(estimator())
    model = estimator(**QUICK.get(estimator.__name__, {}))
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    if is_classifier(model):
        names = np.array(["no", "yes"])
        expected = clone(model).fit(X, y).predict(X)
        renamed = clone(model).fit(X, names[y]).predict(X)
        np.testing.assert_array_equal(renamed, names[expected])
    kernel = {name: model.get_params().get(name) for name in ("kernel", "gamma")}
    if kernel == {"kernel": "rbf", "gamma": "scale"} and hasattr(model, "predict"):
        expected = clone(model).fit(X, y).predict(X)
        scaled = clone(model).fit(64 * X, y).predict(64 * X)  # exact in binary
        np.testing.assert_array_equal(scaled, expected)


@pytest.mark.parametrize(
    "model",
    [DANKClassifier(eta=1.0), DANKRegressor(eta=1.0), KNPLClassifier()],
    ids=lambda model: type(model).__name__,
)
@given(
    seed=st.integers(0, 10**6),
    size=st.sampled_from([1e-3, 1.0, 1e3]),
    offset=st.floats(-3, 3),
)
@settings(max_examples=15, deadline=None)
def test_optimum_does_not_depend_on_order_units_or_sign(model, seed, size, offset):
    """Objectives of equivalent problems differ by no more than their duality gaps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 3))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=25)
    turned = 2 - y
    if is_classifier(model):
        y = (y > np.median(y)).astype(int)
        turned = 1 - y
    rows = rng.permutation(25)
    first = clone(model).fit(X, y)
    for Z, z in ((X[rows], y[rows]), (size * (X + offset), y), (X, turned)):
        again = clone(model).fit(Z, z)
        rounding = 1e-9 * abs(first.objective_)
        gaps = first.duality_gap_ + again.duality_gap_
        assert abs(first.objective_ - again.objective_) <= gaps + rounding
