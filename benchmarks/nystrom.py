"""Time and memory of kernel selection from few columns and by the exact criterion.

    python benchmarks/nystrom.py            # 4,096 rows, 5 % of the columns
    python benchmarks/nystrom.py --quick    # 512 rows, only checks that it runs

The reference is the exact criterion: the Gram matrix and a Cholesky factorisation for
each candidate. For each gamma the reference and all samplers take turns, so that the
load of the machine affects all alike; the ratio is that of the sums. "Distance" is the
mean difference between the criterion and its exact value; memory is that of one
candidate, without the rows.
"""

import tracemalloc

import numpy as np

import timing
from adakern.nystrom import NystromKernelSelector

REFERENCE = "exact"
SAMPLINGS = (
    REFERENCE,
    "adaptive-criterion",
    "greedy-criterion",
    "uniform",
    "rpcholesky",
    "ridge-leverage",
    "adaptive-kumar",
)
GAMMAS = [2.0**power for power in range(-10, 3)]


def two_spirals(n_rows, n_noise=18):
    """Two classes on spirals in the first two of 20 features."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    radius = np.sqrt(rng.uniform(size=n_rows))
    angle = 3 * np.pi * radius
    spiral = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    noise = rng.uniform(-0.5, 0.5, size=(n_rows, n_noise))
    return np.hstack([np.where(y[:, None] == 1, spiral, -spiral), noise]), y


def selector(sampling, gamma, fraction):
    """Return a selector with a single candidate."""
    return NystromKernelSelector(
        param_grid={"gamma": [gamma]},
        sampling=sampling,
        n_columns=fraction,
        random_state=0,
    )


def peak_memory(sampling, fraction, X, y):
    """Peak bytes of one fit with one candidate."""
    tracemalloc.start()
    selector(sampling, 1.0, fraction).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main():
    """Measure and print."""
    parser = timing.parser(__doc__, "512 rows")
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--fraction", type=float, default=0.05, help="of the columns")
    options = parser.parse_args()
    X, y = two_spirals(512 if options.quick else options.rows)
    print(f"{len(X):,} rows, {options.fraction:.0%} of the columns")
    selector("uniform", 1.0, 0.02).fit(X, y)  # loads libraries before measuring
    seconds = dict.fromkeys(SAMPLINGS, 0.0)
    criterion = {sampling: [] for sampling in SAMPLINGS}
    for gamma in GAMMAS:
        for sampling in SAMPLINGS:
            model = selector(sampling, gamma, options.fraction)
            fitted, took = timing.seconds(model.fit, X, y)
            seconds[sampling] += took
            criterion[sampling].append(fitted.best_score_)
    peaks = {s: peak_memory(s, options.fraction, X, y) for s in SAMPLINGS}
    print(f"{'':20}{'seconds':>9}{'exact /':>9}{'MB':>8}{'exact /':>9}{'distance':>10}")
    for sampling in SAMPLINGS:
        distance = np.mean(np.subtract(criterion[sampling], criterion[REFERENCE]))
        print(
            f"{sampling:20}{seconds[sampling]:9.2f}"
            f"{seconds[REFERENCE] / seconds[sampling]:9.1f}"
            f"{peaks[sampling] / 1e6:8.1f}"
            f"{peaks[REFERENCE] / peaks[sampling]:9.1f}{distance:10.5f}"
        )


if __name__ == "__main__":
    main()
