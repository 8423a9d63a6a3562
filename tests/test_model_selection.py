"""The shared search is GridSearchCV: same scores, same choice, same interface."""

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


def scaled(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X)[:400], y[:400]


def both(estimator, grid, X, y, **kwargs):
    shared = KernelSearchCV(estimator, grid, **kwargs).fit(X, y)
    plain = GridSearchCV(estimator, grid, **kwargs).fit(X, y)
    assert shared.shared_
    return shared, plain


def assert_same(shared, plain, atol):
    assert shared.best_params_ == plain.best_params_
    found, expected = shared.cv_results_, plain.cv_results_
    assert found["params"] == expected["params"] and found.keys() == expected.keys()
    for key in ("mean_test_score", "std_test_score", "split0_test_score"):
        np.testing.assert_allclose(found[key], expected[key], rtol=0, atol=atol)
    assert shared.best_score_ == pytest.approx(plain.best_score_, abs=atol)


@pytest.mark.parametrize(
    "load", [load_iris, load_wine, load_breast_cancer, load_digits]
)
def test_same_choice_as_grid_search_classification(load):
    X, y = scaled(load)
    shared, plain = both(SVC(), GRID, X, y, cv=StratifiedKFold(3))
    assert_same(shared, plain, atol=1e-12)
    np.testing.assert_array_equal(shared.predict(X), plain.predict(X))
    assert shared.score(X, y) == plain.score(X, y)


@pytest.mark.parametrize("scoring", ["neg_mean_squared_error", "r2", None])
def test_same_choice_as_grid_search_regression(scoring):
    X, y = scaled(load_diabetes)
    y = (y - y.mean()) / y.std()
    grid = {"C": [0.1, 1, 10], "gamma": [1e-3, 0.1, "scale"], "epsilon": [0.1, 0.5]}
    shared, plain = both(SVR(), grid, X, y, cv=3, scoring=scoring)
    assert_same(shared, plain, atol=5e-3)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_kernel_ridge(kernel):
    X, y = datasets.make_friedman1(150, random_state=0)
    grid = {"alpha": np.geomspace(1e-6, 10, 3), "gamma": [0.01, 0.3, None]}
    shared, plain = both(KernelRidge(kernel=kernel), grid, X, y, cv=4)
    assert_same(shared, plain, atol=1e-6)


@pytest.mark.parametrize("estimator", [KernelSVC(), KernelSVR()])
@pytest.mark.parametrize(
    ("kernel", "metric"), [("laplacian", "l1"), ("l2-laplacian", "l2")]
)
def test_laplacian_models_are_the_models_on_their_gram_matrix(
    estimator, kernel, metric
):
    X, y = scaled(load_wine)
    estimator.set_params(kernel=kernel, gamma=0.2, C=3.0)
    K = np.exp(-0.2 * pairwise_distances(X, metric=metric))
    reference = {KernelSVC: SVC, KernelSVR: SVR}[type(estimator)]
    model = reference(kernel="precomputed", C=3.0).fit(K, y)
    np.testing.assert_allclose(
        estimator.fit(X, y).predict(X), model.predict(K), atol=1e-3
    )
    shared, plain = both(estimator, GRID | {"kernel": [kernel, "rbf"]}, X, y, cv=3)
    assert_same(shared, plain, atol=5e-3)


def test_splits_may_be_masks():
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
    X, y = scaled(load_iris)
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


def test_failed_points_are_told_as_grid_search_tells_them():
    X, y = scaled(load_iris)
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
    ):  # of probabilities, which SVC has none of
        with pytest.warns(UserWarning, match=r"Scoring failed|non-finite"):
            search = KernelSearchCV(SVC(), {"C": [1.0, 2.0]}, scoring=scoring).fit(X, y)
        assert np.isnan(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("gamma", [-1.0, 0.0, "bogus", None, np.inf, np.nan])
def test_a_gamma_that_stands_for_nothing_is_left_to_grid_search(gamma):
    """It was taken for "scale", or for a kernel that grows with the distance."""
    X, y = scaled(load_iris)
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
def test_a_kernel_that_the_estimator_lacks_is_left_to_grid_search(estimator):
    X, y = scaled(load_iris)
    kernel = "l2-laplacian" if isinstance(estimator, KernelRidge) else "laplacian"
    for search in (KernelSearchCV, GridSearchCV):
        with pytest.raises(ValueError, match="All the 5 fits failed"):
            search(estimator, {"kernel": [kernel], "gamma": [0.1]}).fit(X, y)


def test_the_time_of_a_gram_matrix_counts():
    """All that the search does is in the times of its points, but for distances."""
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
