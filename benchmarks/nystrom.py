"""Speed and memory of approximate kernel selection against the exact criterion.

    python benchmarks/nystrom.py            # l = 8,192, c = 0.05 l, 13 candidates
    python benchmarks/nystrom.py --quick    # l = 1,024: does it run?

The reference is the exact criterion as one would write it for speed: the Gram matrix
and one Cholesky solve for each candidate. Every gamma is timed for the reference and
for each sampling in turn, so that a change of the machine's load meets all of them, and
the ratios are those of the sums. The targets hold for the full size.
"""

import argparse
import time
import tracemalloc

import numpy as np

from adakern.nystrom import NystromKernelSelector

TARGETS = {"adaptive-criterion": 10.0, "greedy-criterion": 5.0}
SAMPLINGS = (
    "exact",
    *TARGETS,
    "uniform",
    "rpcholesky",
    "ridge-leverage",
    "adaptive-kumar",
)
GAMMAS = [2.0**e for e in range(-10, 3)]


def two_spirals(n_rows, n_noise=18, seed=0):
    """Two classes on spirals in the first two of 20 features."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    t = 3 * np.pi * np.sqrt(rng.uniform(size=n_rows))
    spiral = (t / (3 * np.pi))[:, None] * np.column_stack([np.cos(t), np.sin(t)])
    noise = rng.uniform(-0.5, 0.5, size=(n_rows, n_noise))
    return np.column_stack([np.where(y[:, None] == 1, spiral, -spiral), noise]), y


def selector(sampling, gamma, fraction):
    return NystromKernelSelector(
        param_grid={"gamma": [gamma]},
        sampling=sampling,
        n_columns=fraction,
        random_state=0,
    )


def time_all(X, y, fraction):
    """Seconds and criterion values of each sampling, for each gamma."""
    seconds = {sampling: [] for sampling in SAMPLINGS}
    criterion = {sampling: [] for sampling in SAMPLINGS}
    for gamma in GAMMAS:
        for sampling in SAMPLINGS:
            start = time.perf_counter()
            fitted = selector(sampling, gamma, fraction).fit(X, y)
            seconds[sampling].append(time.perf_counter() - start)
            criterion[sampling].append(fitted.best_score_)
    return seconds, criterion


def peak_memory(X, y, sampling, fraction):
    """Peak bytes of one fit with one candidate."""
    tracemalloc.start()
    selector(sampling, 1.0, fraction).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="l = 1,024")
    parser.add_argument("--fraction", type=float, default=0.05, help="c / l")
    arguments = parser.parse_args()
    l = 1024 if arguments.quick else 8192
    X, y = two_spirals(l)
    c = round(arguments.fraction * l)
    print(f"l = {l:,}, c = {c}, {len(GAMMAS)} candidates")
    selector("uniform", 1.0, 0.02).fit(X, y)  # load everything once
    seconds, criterion = time_all(X, y, arguments.fraction)
    exact = sum(seconds["exact"])
    print(f"{'sampling':20} {'s':>8} {'x faster':>9} {'distance':>9} {'MB':>7}  l c's")
    for sampling in SAMPLINGS:
        ratio = exact / sum(seconds[sampling])
        distance = np.mean(np.subtract(criterion[sampling], criterion["exact"]))
        peak = peak_memory(X, y, sampling, arguments.fraction)
        verdict = ""
        if sampling in TARGETS and not arguments.quick:
            met = "ok" if ratio >= TARGETS[sampling] else "MISSED"
            verdict = f"target {TARGETS[sampling]:g}x: {met}"
        print(
            f"{sampling:20} {sum(seconds[sampling]):8.2f} {ratio:9.1f} {distance:9.5f} "
            f"{peak / 1e6:7.1f} {peak / (8 * l * c):6.1f}  {verdict}"
        )


if __name__ == "__main__":
    main()
