"""Numbers of threads during and after fits."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from threading import Barrier, Event, get_ident

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from adakern._utils import resources as limits
from adakern._utils.resources import (
    SMALL_SYSTEM,
    map_in_threads,
    one_blas_thread,
    one_thread,
)
from adakern.dank import DANKClassifier, exact, quartic


def blas_threads():
    """Numbers of threads of the BLAS libraries of NumPy and of SciPy."""
    n_threads = {}
    for library in ThreadpoolController().lib_controllers:
        folders = library.filepath.replace("\\", "/").split("/")[-3:-1]
        for owner in ("numpy", "scipy"):
            if library.user_api == "blas" and any(f.startswith(owner) for f in folders):
                n_threads[owner] = library.num_threads
    return n_threads


@pytest.fixture(autouse=True)
def two_threads():
    """Two threads for every library during the test, checked at the end."""
    with ThreadpoolController().limit(limits=2):
        if blas_threads() != {"numpy": 2, "scipy": 2}:
            pytest.skip(f"not two libraries that take two threads: {blas_threads()}")
        yield
        assert blas_threads() == {"numpy": 2, "scipy": 2}


@pytest.mark.parametrize(
    ("context", "size", "inside"),
    [
        (one_blas_thread, SMALL_SYSTEM, (1, 1)),
        (one_blas_thread, SMALL_SYSTEM + 1, (2, 2)),
        (one_thread, "openmp", (2, 2)),
        (one_thread, "blas", (1, 1)),
        (one_thread, None, (1, 1)),
    ],
)
def test_contexts_limit_threads(context, size, inside):
    with context(size):
        assert blas_threads() == dict(zip(("numpy", "scipy"), inside, strict=True))
        if inside == (1, 1):
            workers = set(map_in_threads(lambda item: get_ident(), [1, 2, 3]))
            assert workers == {get_ident()}


def test_map_in_threads_distributes_items():
    both_are_there = Barrier(2, timeout=60)

    def work(item):
        both_are_there.wait()  # would block if a single thread processed all items
        return item, blas_threads(), get_ident(), variable.get()

    variable = ContextVar("known")
    variable.set("by the caller")  # such as the device of arrays
    assert limits.blas_threads() == 2
    items, inside, workers, context = zip(
        *map_in_threads(work, list(range(6))), strict=True
    )
    assert items == tuple(range(6))
    assert set(context) == {"by the caller"}
    assert all(n_threads == {"numpy": 1, "scipy": 1} for n_threads in inside)
    assert len(set(workers)) == 2


def test_concurrent_maps_restore_the_threads():
    inside, ended = Event(), Event()

    def wait_inside(item):
        inside.set()
        assert ended.wait(timeout=60)
        return get_ident()

    with ThreadPoolExecutor(1) as other:
        first = other.submit(map_in_threads, wait_inside, [1, 2])
        assert inside.wait(timeout=60)
        assert set(map_in_threads(lambda item: get_ident(), [1, 2])) == {get_ident()}
        ended.set()
        assert get_ident() not in first.result()


def test_error_in_thread_is_raised_and_threads_are_restored():
    with pytest.raises(ZeroDivisionError):
        map_in_threads(lambda item: 1 / item, [1, 0, 2])


@pytest.mark.parametrize(
    ("strategy", "module", "name"),
    [("exact", exact, "best_multiple"), ("whole", quartic, "solve")],
)
def test_small_fits_use_one_blas_thread(monkeypatch, strategy, module, name):
    """In all computations that alternate between NumPy and SciPy."""
    recorded, step = [], getattr(module, name)

    def record_threads(*args, **kwargs):
        recorded.append(blas_threads())
        return step(*args, **kwargs)

    monkeypatch.setattr(module, name, record_threads)
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = X[:, 0] > 0  # few support vectors: "whole" stores no Gram matrix
    DANKClassifier(C=10, strategy=strategy, random_state=0).fit(X, y)
    assert recorded and all(
        n_threads == {"numpy": 1, "scipy": 1} for n_threads in recorded
    )
