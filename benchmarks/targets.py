"""Processor time of a fit to several targets, relative to a fit to one of them.

    python benchmarks/targets.py                  # 1, 3 and 10 targets of 1,000 rows
    python benchmarks/targets.py --quick          # only checks that it runs

Targets share six hidden functions of eight features; each also has its own wave and
step, and noise of 5 to 60 % of its standard deviation. One thread; the minimum of
``--repeats`` fits.
"""

import time

import numpy as np
from threadpoolctl import threadpool_limits

from adakern import AdaptiveKernelRegressor
from adakern.adaptive import MEMBERS
from timing import parser

KERNELS = [name for name in MEMBERS if name.startswith(("laplacian", "l2", "rbf"))]


def made(n, n_targets):
    """Rows and targets."""
    rng = np.random.default_rng(0)
    X, d = rng.uniform(-1, 1, (n, 8)), 8
    hidden = np.tanh(X @ rng.standard_normal((d, 6)))
    columns = []
    for _ in range(n_targets):
        own = np.sin(2 * X[:, rng.integers(d)]) * rng.standard_normal()
        own += (X[:, rng.integers(d)] > 0.2) * rng.standard_normal()
        y = hidden @ rng.standard_normal(6) + own
        noise = rng.uniform(0.05, 0.6) * rng.standard_normal(n)
        columns.append(y / y.std() + noise)
    return X, np.column_stack(columns)


def seconds(X, Y, repeats, **options):
    """Processor seconds of a fit, the minimum over repeats."""
    found = []
    for _ in range(repeats):
        started = time.process_time()
        AdaptiveKernelRegressor(random_state=0, **options).fit(X, Y)
        found.append(time.process_time() - started)
    return min(found)


def main():
    options = parser(__doc__, "60 rows")
    options.add_argument("--rows", type=int, default=1000)
    options.add_argument("--repeats", type=int, default=2)
    arguments = options.parse_args()
    quick = arguments.quick
    n, repeats = (60, 1) if quick else (arguments.rows, arguments.repeats)
    X, Y = made(n, 10)
    for name, chosen in (("all members", "auto"), ("kernel members", KERNELS)):
        with threadpool_limits(1):
            one = seconds(X, Y[:, 0], repeats, members=chosen)
            for t in (3, 10):
                ratio = seconds(X, Y[:, :t], repeats, members=chosen) / one
                print(f"{n} rows, {name}: {t} targets / 1 target {ratio:.2f}")


if __name__ == "__main__":
    main()
