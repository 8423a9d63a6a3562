"""KernelSearchCV gives the same scores and choice as GridSearchCV."""

import time
import warnings

import numpy as np
import pytest
from sklearn import datasets
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
)
from sklearn.exceptions import FitFailedWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from adakern import model_selection
from adakern.baselines import KernelSVC, KernelSVR
from adakern.model_selection import KernelSearchCV

GRID = {"C": [0.1, 1, 10, 100], "gamma": [1e-3, 1e-2, 0.1, 1.0]}


def load_scaled(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X)[:400], y[:400]


def fit_both(estimator, grid, X, y, **kwargs):
    shared = KernelSearchCV(estimator, grid, **kwargs).fit(X, y)
    plain = GridSearchCV(estimator, grid, **kwargs).fit(X, y)
    assert shared.shared_
    return shared, plain


def assert_same_results(shared, plain, atol):
    assert shared.best_params_ == plain.best_params_
    actual, expected = shared.cv_results_, plain.cv_results_
    assert actual["params"] == expected["params"] and actual.keys() == expected.keys()
    for key in ("mean_test_score", "std_test_score", "split0_test_score"):
        np.testing.assert_allclose(actual[key], expected[key], rtol=0, atol=atol)
    assert shared.best_score_ == pytest.approx(plain.best_score_, abs=atol)


@pytest.mark.parametrize(
    "load", [load_iris, load_wine, load_breast_cancer, load_digits]
)
def test_equals_grid_search_in_classification(load):
    X, y = load_scaled(load)
    shared, plain = fit_both(SVC(), GRID, X, y, cv=StratifiedKFold(3))
    assert_same_results(shared, plain, atol=1e-12)
    np.testing.assert_array_equal(shared.predict(X), plain.predict(X))
    assert shared.score(X, y) == plain.score(X, y)


@pytest.mark.parametrize("scoring", ["neg_mean_squared_error", "r2", None])
def test_equals_grid_search_in_regression(scoring):
    X, y = load_scaled(load_diabetes)
    y = (y - y.mean()) / y.std()
    grid = {"C": [0.1, 1, 10], "gamma": [1e-3, 0.1, "scale"], "epsilon": [0.1, 0.5]}
    shared, plain = fit_both(SVR(), grid, X, y, cv=3, scoring=scoring)
    assert_same_results(shared, plain, atol=5e-3)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_kernel_ridge(kernel):
    X, y = datasets.make_friedman1(150, random_state=0)
    grid = {"alpha": np.geomspace(1e-6, 10, 3), "gamma": [0.01, 0.3, None]}
    shared, plain = fit_both(KernelRidge(kernel=kernel), grid, X, y, cv=4)
    assert_same_results(shared, plain, atol=1e-6)


@pytest.mark.parametrize("estimator", [KernelSVC(), KernelSVR()])
@pytest.mark.parametrize(
    ("kernel", "metric"), [("laplacian", "l1"), ("l2-laplacian", "l2")]
)
def test_laplacian_models_equal_precomputed_kernel(estimator, kernel, metric):
    X, y = load_scaled(load_wine)
    estimator.set_params(kernel=kernel, gamma=0.2, C=3.0)
    K = np.exp(-0.2 * pairwise_distances(X, metric=metric))
    reference = {KernelSVC: SVC, KernelSVR: SVR}[type(estimator)]
    model = reference(kernel="precomputed", C=3.0).fit(K, y)
    np.testing.assert_allclose(
        estimator.fit(X, y).predict(X), model.predict(K), atol=1e-3
    )
    shared, plain = fit_both(estimator, GRID | {"kernel": [kernel, "rbf"]}, X, y, cv=3)
    assert_same_results(shared, plain, atol=5e-3)


def test_cv_splits_given_as_masks():
    X, y = load_iris(return_X_y=True)
    numbers = list(StratifiedKFold(3).split(X, y))
    masks = [
        (np.isin(np.arange(150), a), np.isin(np.arange(150), b)) for a, b in numbers
    ]
    one, other = (
        KernelSearchCV(SVC(), GRID, cv=cv).fit(X, y) for cv in (numbers, masks)
    )
    assert one.shared_ and other.shared_
    for key in ("mean_test_score", "std_test_score"):
        np.testing.assert_array_equal(one.cv_results_[key], other.cv_results_[key])


def test_falls_back_to_grid_search():
    X, y = load_scaled(load_iris)
    for estimator, grid, kwargs in (
        (SVC(kernel="poly"), {"C": [1, 10]}, {}),
        (SVC(), {"kernel": ["rbf", "linear"]}, {}),
        (
            SVC(),
            {"C": [1, 10]},
            {"scoring": ["accuracy", "f1_macro"], "refit": "accuracy"},
        ),
        (Ridge(), {"alpha": [1, 10]}, {}),
        (SVC(), {"C": [1, 10]}, {"return_train_score": True}),
    ):
        search = KernelSearchCV(estimator, grid, **kwargs).fit(X, y)
        assert not search.shared_ and hasattr(search, "best_params_")


def test_failed_fits_are_reported_like_grid_search():
    X, y = load_scaled(load_iris)
    with (
        pytest.warns(FitFailedWarning, match="5 fits failed out of a total of 10"),
        pytest.warns(UserWarning, match="non-finite"),
    ):
        search = KernelSearchCV(SVC(), {"C": [-1.0, 1.0]}).fit(X, y)
    assert search.best_params_ == {"C": 1.0}
    with pytest.raises(ValueError, match="All the 10 fits failed"):
        KernelSearchCV(SVC(), {"C": [-1.0, -2.0]}).fit(X, y)
    with pytest.raises(ValueError, match="'C' parameter"):
        KernelSearchCV(SVC(), {"C": [-1.0]}, error_score="raise").fit(X, y)
    with (
        pytest.warns(FitFailedWarning, match="5 fits failed"),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", message=".*non-finite")
        search = KernelSearchCV(SVC(), {"C": ["large", 1.0]}).fit(X, y)
    assert search.best_params_ == {"C": 1.0}
    for scoring in (
        "roc_auc",
        "neg_log_loss",
    ):  # SVC has no probabilities
        with pytest.warns(UserWarning, match=r"Scoring failed|non-finite"):
            search = KernelSearchCV(SVC(), {"C": [1.0, 2.0]}, scoring=scoring).fit(X, y)
        assert np.isnan(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("gamma", [-1.0, 0.0, "bogus", None, np.inf, np.nan])
def test_invalid_gamma_falls_back_to_grid_search(gamma):
    """Regression test: it was treated as "scale", or gave an increasing kernel."""
    X, y = load_scaled(load_iris)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        searches = [
            search(SVC(), {"gamma": [gamma, 0.1]}, cv=3).fit(X, y)
            for search in (KernelSearchCV, GridSearchCV)
        ]
    assert not searches[0].shared_
    shared, plain = (search.cv_results_["mean_test_score"] for search in searches)
    np.testing.assert_array_equal(shared, plain)


@pytest.mark.parametrize("estimator", [SVC(), SVR(), KernelRidge()])
def test_unsupported_kernel_falls_back_to_grid_search(estimator):
    X, y = load_scaled(load_iris)
    kernel = "l2-laplacian" if isinstance(estimator, KernelRidge) else "laplacian"
    for search in (KernelSearchCV, GridSearchCV):
        with pytest.raises(ValueError, match="All the 5 fits failed"):
            search(estimator, {"kernel": [kernel], "gamma": [0.1]}).fit(X, y)


def test_fit_times_include_gram_matrices():
    """All computations except distances are included in the fit times."""
    X, y = datasets.make_friedman1(1500, random_state=0)
    grid = {"gamma": [0.1, 0.2, 0.3], "alpha": [1.0]}
    search = KernelSearchCV(KernelRidge(kernel="rbf"), grid, cv=3, refit=False)
    waits, shared_kernel = 0.2, model_selection.exponential_decay

    def slow(D, gamma):
        time.sleep(waits)
        return shared_kernel(D, gamma)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_selection, "exponential_decay", slow)
        search.fit(X, y)
    assert search.cv_results_["mean_fit_time"].sum() * 3 >= 3 * waits
