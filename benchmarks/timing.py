"""What the benchmarks share."""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context


def parser(doc, quick="small generated rows"):
    """Of a benchmark with this docstring; ``--quick`` asks only whether it runs."""
    made = argparse.ArgumentParser(description=doc.partition("\n")[0])
    made.add_argument("--quick", action="store_true", help=quick)
    return made


def seconds(function, *args, **options):
    """What a function returns, and how long it takes."""
    start = time.perf_counter()
    returned = function(*args, **options)
    return returned, time.perf_counter() - start


def in_process(function, *args):
    """What a function returns in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(function, *args).result()
