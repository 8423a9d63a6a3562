"""Threads of the linear algebra libraries."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context
from functools import lru_cache
from threading import Lock

from threadpoolctl import ThreadpoolController

#: Rows up to which more threads slow SciPy's factorisations down, or hardly help.
SMALL_SYSTEM = 2000

#: Held while items are shared out among threads.
_MAPPING = Lock()


def one_thread(kind=None):
    """A context in which ``kind`` has one thread: "blas", "openmp", or both if None."""
    return _libraries(os.getpid()).limit(limits=1, user_api=kind)


def one_blas_thread(size, largest=SMALL_SYSTEM):
    """A context in which all linear algebra runs on one thread where steps are small
    and many.

    NumPy's wheel and SciPy's bring a BLAS each, whose waiting threads take the
    processor from the other: on two cores fits that go back and forth took 2 to 7 times
    as long.
    """
    return nullcontext() if size > largest else one_thread("blas")


def blas_threads():
    """How many threads linear algebra has, and what else can use several."""
    blas = _libraries(os.getpid()).select(user_api="blas").lib_controllers
    return max((library.num_threads for library in blas), default=1)


def map_in_threads(function, items):
    """``function`` of every item, in as many threads as linear algebra has, which then
    has one.
    """
    # Counting the threads of all libraries takes a tenth of a millisecond.
    n_threads = blas_threads() if len(items) > 1 else 1
    # The limit is the whole process's. Of two that overlap, the second would find one
    # thread when it begins, and restore that when it ends.
    if n_threads < 2 or not _MAPPING.acquire(blocking=False):
        return [function(item) for item in items]
    try:
        with one_thread("blas"), ThreadPoolExecutor(n_threads) as threads:
            contexts = [copy_context() for _ in items]
            return list(
                threads.map(lambda own, item: own.run(function, item), contexts, items)
            )
    finally:
        _MAPPING.release()


@lru_cache(maxsize=1)
def _libraries(process):
    """The numerical libraries of this process; finding them takes milliseconds."""
    return ThreadpoolController()
