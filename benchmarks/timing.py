"""Functions shared by the benchmarks."""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context


def parser(doc, quick="small generated rows"):
    """Argument parser of a benchmark, with ``--quick`` to check only that it runs."""
    made = argparse.ArgumentParser(description=doc.partition("\n")[0])
    made.add_argument("--quick", action="store_true", help=quick)
    return made


def seconds(function, *args, **options):
    """Return the result of a function, and its wall-clock time in seconds."""
    start = time.perf_counter()
    returned = function(*args, **options)
    return returned, time.perf_counter() - start


def in_process(function, *args):
    """Return the result of a function called in a separate process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(function, *args).result()
