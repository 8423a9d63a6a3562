"""The numbers of threads that fits work with, and leave behind."""

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from adakern.baselines import BayesianMKLRegressor, DeepMKL, FalkonRegressor
from adakern.dank import DANKClassifier, DANKRegressor
from adakern.lab import AsymmetricKernelRidge, LABRBFRegressor
from adakern.threads import SMALL_SYSTEM, one_scipy_thread, one_thread


def threads(kind="blas"):
    """Threads of each library, by the package that brought it."""
    found = {}
    for library in ThreadpoolController().lib_controllers:
        folders = library.filepath.replace("\\", "/").split("/")[:-1]
        owner = "scipy" if any(f.startswith("scipy") for f in folders) else "others"
        if library.user_api == kind:
            found.setdefault(owner, []).append(library.num_threads)
    return found


@pytest.fixture
def two_threads():
    """Two threads for every library, whatever the machine has."""
    with ThreadpoolController().limit(limits=2):
        if set(threads()) != {"scipy", "others"}:
            pytest.skip("NumPy and SciPy share one BLAS here")
        if any(n != 2 for counts in threads().values() for n in counts):
            pytest.skip(f"the BLAS here takes no two threads: {threads()}")
        yield threads()


def test_scipy_alone_is_kept_to_one_thread(two_threads):
    with one_scipy_thread(10):
        assert set(threads()["scipy"]) == {1}
        assert threads()["others"] == two_threads["others"]
    assert threads() == two_threads


def test_large_systems_keep_all_threads(two_threads):
    with one_scipy_thread(SMALL_SYSTEM + 1):
        assert threads() == two_threads


def test_one_kind_of_threads_or_all(two_threads):
    with one_thread("openmp"):
        assert threads() == two_threads
    with one_thread():
        assert {n for counts in threads().values() for n in counts} == {1}
    assert threads() == two_threads


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
def test_fit_leaves_the_threads_as_they_were(estimator, two_threads):
    X = np.random.default_rng(0).normal(size=(40, 2))
    estimator.fit(X, np.sign(X[:, 0]))
    assert threads() == two_threads
