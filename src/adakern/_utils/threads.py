"""Threads of the linear algebra libraries."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
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
    """A context in which all linear algebra runs on one thread, where it is small.

    For loops of thousands of small products and factorisations. More threads share one
    such step in microseconds and wait for each other, spinning, at its end; where
    another process has the processor of one of them, every step waits for the
    operating system to give it back, milliseconds later.
    """
    return nullcontext() if size > largest else one_thread("blas")


def one_scipy_thread(size):
    """A context in which SciPy's linear algebra runs on one thread, NumPy's as before.

    The wheels of NumPy and SciPy bring a BLAS each. In a loop that goes back and forth
    between NumPy's products and SciPy's factorisations, the waiting threads of one take
    the processor from the other: on two cores such fits took 2 to 7 times as long.
    Where both share one library, or the systems are large, nothing is changed.
    """
    if size > SMALL_SYSTEM:
        return nullcontext()
    libraries = _libraries(os.getpid())
    blas = libraries.select(user_api="blas").lib_controllers
    paths = [library.filepath for library in blas if _belongs_to_scipy(library.filepath)]
    return libraries.select(filepath=paths).limit(limits=1)


def blas_threads():
    """How many threads linear algebra has.

    What else can use several takes as many: whoever limits one limits all.
    """
    blas = _libraries(os.getpid()).select(user_api="blas").lib_controllers
    return max((library.num_threads for library in blas), default=1)


def map_in_threads(function, items):
    """``function`` of every item, in as many threads as linear algebra has.

    For functions that spend their time in NumPy outside linear algebra, whose loops let
    other threads run. Linear algebra has one thread meanwhile. While one such call is
    under way in this process, others do their items one after another.
    """
    n_threads = blas_threads()
    # The limit is the whole process's. Of two that overlap, the second would find one
    # thread when it begins, and restore that when it ends.
    if min(n_threads, len(items)) < 2 or not _MAPPING.acquire(blocking=False):
        return [function(item) for item in items]
    try:
        with one_thread("blas"), ThreadPoolExecutor(n_threads) as threads:
            return list(threads.map(function, items))
    finally:
        _MAPPING.release()


def _belongs_to_scipy(filepath):
    # "scipy.libs" on Linux and Windows, "scipy/.dylibs" on macOS. The name of the file
    # tells nothing: NumPy's, too, is built by SciPy's project and named after it.
    folders = Path(filepath).parts[-3:-1]
    return any(folder.split(".")[0] == "scipy" for folder in folders)


@lru_cache(maxsize=1)
def _libraries(process):
    """The numerical libraries of this process; finding them takes milliseconds."""
    return ThreadpoolController()
