"""Fits in several processes with Dask, on a local cluster with two workers."""

import joblib
import numpy as np
import pytest
from sklearn.svm import SVC

from adakern import AdaptiveKernelRegressor, DANKClassifier
from adakern.datasets import make_clowns
from adakern.model_selection import KernelSearchCV

pytestmark = pytest.mark.slow
distributed = pytest.importorskip("distributed")
X, y = make_clowns(300, random_state=0)


@pytest.fixture(scope="module")
def cluster():
    with distributed.Client(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as client:
        yield client


def adaptive():
    members = ["laplacian", "linear", "extra-trees"]
    model = AdaptiveKernelRegressor(members=members, random_state=0).fit(
        X[:, :1], X[:, 1]
    )
    return model.predict(X[:, :1])


def dank():
    options = {
        "strategy": "decomposed",
        "n_clusters": 3,
        "random_state": 0,
        "n_jobs": -1,
    }
    return DANKClassifier(**options).fit(X, y).decision_function(X)


def search():
    grid = {"C": [0.1, 1, 10], "gamma": [0.1, 1, 10]}
    fitted = KernelSearchCV(SVC(), grid, n_jobs=-1).fit(X, y)
    assert fitted.shared_
    return fitted.cv_results_["mean_test_score"]


@pytest.mark.parametrize("fit", [adaptive, dank, search])
def test_dask_backend_of_joblib_gives_the_same_result(fit, cluster):
    alone, before = fit(), cluster.run_on_scheduler(transitions)
    with joblib.parallel_config(backend="dask"):
        np.testing.assert_allclose(fit(), alone, rtol=0, atol=1e-8)
    assert cluster.run_on_scheduler(transitions) > before


def transitions(dask_scheduler):
    """Number of state transitions of tasks; it increases if the workers were used."""
    return dask_scheduler.transition_counter


def test_block_sums_on_dask_workers(cluster):
    import dask.array as da

    rows, target = np.hstack([X, X**2]), X[:, 0] * X[:, 1]
    options = {"members": ["rbf"], "max_support": 20, "max_rows": 80, "random_state": 0}
    model = AdaptiveKernelRegressor(**options).fit(
        da.from_array(rows, chunks=(70, 4)), target
    )
    alone = AdaptiveKernelRegressor(**options).fit(rows, target)
    predicted = model.predict(da.from_array(rows, chunks=(100, 2)))
    np.testing.assert_allclose(
        predicted.compute(), alone.predict(rows), rtol=0, atol=1e-8
    )
