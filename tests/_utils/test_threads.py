"""The numbers of threads that fits work with, and leave behind."""

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from adakern._utils.threads import (
    SMALL_SYSTEM,
    one_blas_thread,
    one_scipy_thread,
    one_thread,
)
from adakern.baselines import BayesianMKLRegressor, DeepMKL, FalkonRegressor
from adakern.dank import DANKClassifier, DANKRegressor
from adakern.lab import AsymmetricKernelRidge, LABRBFRegressor


def threads():
    """Threads of the BLAS that NumPy brought and of the one that SciPy brought."""
    found = {}
    for library in ThreadpoolController().lib_controllers:
        folders = library.filepath.replace("\\", "/").split("/")[-3:-1]
        for owner in ("numpy", "scipy"):
            if library.user_api == "blas" and any(f.startswith(owner) for f in folders):
                found[owner] = library.num_threads
    return found


@pytest.fixture(autouse=True)
def two_threads():
    """Two threads for every library, whatever the machine has."""
    with ThreadpoolController().limit(limits=2):
        if threads() != {"numpy": 2, "scipy": 2}:
            pytest.skip(f"not two libraries that take two threads: {threads()}")
        yield


def test_scipy_alone_is_kept_to_one_thread():
    with one_scipy_thread(10):
        assert threads() == {"numpy": 2, "scipy": 1}
    assert threads() == {"numpy": 2, "scipy": 2}


def test_large_systems_keep_all_threads():
    with one_scipy_thread(SMALL_SYSTEM + 1):
        assert threads() == {"numpy": 2, "scipy": 2}


def test_loops_of_small_systems_get_one_thread():
    with one_blas_thread(SMALL_SYSTEM):
        assert threads() == {"numpy": 1, "scipy": 1}
    with one_blas_thread(SMALL_SYSTEM + 1):
        assert threads() == {"numpy": 2, "scipy": 2}
    assert threads() == {"numpy": 2, "scipy": 2}


def test_one_kind_of_threads_or_all():
    with one_thread("openmp"):
        assert threads() == {"numpy": 2, "scipy": 2}
    with one_thread():
        assert threads() == {"numpy": 1, "scipy": 1}
    assert threads() == {"numpy": 2, "scipy": 2}


@pytest.mark.parametrize(
    "estimator",
    [
        AsymmetricKernelRidge(),
        BayesianMKLRegressor(max_iter=2),
        DANKClassifier(),
        DANKClassifier(strategy="decomposed"),
        DANKRegressor(),
        DeepMKL(max_iter=2),
        FalkonRegressor(),
        LABRBFRegressor(max_support=5, growth_iter=1, max_iter=1),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.*max_iter")
def test_fit_leaves_the_threads_as_they_were(estimator):
    X = np.random.default_rng(0).normal(size=(40, 2))
    estimator.fit(X, np.sign(X[:, 0]))
    assert threads() == {"numpy": 2, "scipy": 2}
