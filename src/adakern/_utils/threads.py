"""Threads of the linear algebra libraries."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context
from functools import lru_cache
from threading import Lock

from threadpoolctl import ThreadpoolController

#: Number of rows up to which more threads slow down SciPy's factorisations, or hardly
#: help.
SMALL_SYSTEM = 2000

#: Held while items are distributed to threads.
_MAPPING = Lock()


def one_thread(kind=None):
    """Context with one thread for ``kind``: "blas", "openmp", or both if None."""
    return _libraries(os.getpid()).limit(limits=1, user_api=kind)


def one_blas_thread(size, largest=SMALL_SYSTEM):
    """Context with one thread for linear algebra if ``size`` is at most ``largest``.

    The wheels of NumPy and SciPy each contain a BLAS, whose waiting threads compete for
    the processor. On two cores, fits that alternate between the two took 2 to 7 times
    as long.
    """
    return nullcontext() if size > largest else one_thread("blas")


def blas_threads():
    """Number of threads of linear algebra, which other code can use as well."""
    blas = _libraries(os.getpid()).select(user_api="blas").lib_controllers
    return max((library.num_threads for library in blas), default=1)


def map_in_threads(function, items):
    """Apply ``function`` to every item in as many threads as linear algebra has.

    Meanwhile, linear algebra has one thread.
    """
    # Counting the threads of all libraries takes a tenth of a millisecond.
    n_threads = blas_threads() if len(items) > 1 else 1
    # The limit applies to the whole process. If two calls overlapped, the second would
    # find a limit of one thread, and restore that when it ends.
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
    """Numerical libraries of this process, cached since finding them is slow."""
    return ThreadpoolController()
