"""Control of threads and memory in numerical computations."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context
from functools import lru_cache
from threading import Lock

import numpy as np
from array_api_compat import array_namespace
from threadpoolctl import ThreadpoolController

#: Number of rows up to which more threads slow down SciPy's factorisations, or hardly
#: help.
SMALL_SYSTEM = 2000

#: Held while items are distributed to threads.
_MAPPING = Lock()

#: Default working memory of a block, in bytes.
BLOCK_BYTES = 64 * 2**20

#: Size in bytes of a tile that fits into the cache of one core.
CACHE_BYTES = 2**18

#: Size in bytes of a temporary tile; larger ones do not stay in the cache.
TILE_BYTES = 8 * 2**20


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
    """Apply ``function`` to every item, in as many threads as linear algebra may use.

    Meanwhile, linear algebra uses one thread.
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


def row_blocks(n_rows, bytes_per_row, budget=BLOCK_BYTES):
    """Cut ``range(n_rows)`` into slices that need at most ``budget`` bytes each."""
    size = max(1, int(budget // max(1, bytes_per_row)))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def by_row_blocks(function, X, bytes_per_row, budget=BLOCK_BYTES):
    """Apply ``function`` to the rows of X by blocks, and concatenate the results."""
    blocks = [*row_blocks(X.shape[0], bytes_per_row, budget)] or [slice(0)]
    results = [function(X[rows, :]) for rows in blocks]
    return array_namespace(*results).concat(results)


def require_memory(n_bytes, purpose, remedy):
    """Raise MemoryError, with a remedy, if the machine lacks the memory."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not known on this system
        physical = np.inf
    try:
        np.empty(n_bytes, dtype=np.uint8)
    except (MemoryError, ValueError):  # ValueError: more than any array may have
        physical = 0
    if n_bytes > physical:
        raise MemoryError(
            f"{purpose} needs {n_bytes / 1e9:.1f} GB, which this machine does not "
            f"have; {remedy}"
        )
