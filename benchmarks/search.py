"""Time of the search with shared Gram matrices and of scikit-learn's GridSearchCV.

    python benchmarks/search.py                  # 1,000 and 3,000 rows; minutes
    python benchmarks/search.py --step 2         # every other C and gamma
    python benchmarks/search.py --quick          # 200 rows, only checks that it runs

Both search the same grid for a support vector machine (C and sigma from 2^-5 to 2^5,
Gaussian kernel, features in [0, 1]) with the same five folds on one thread, and are
timed in processor seconds. The ratio is the time of GridSearchCV divided by that of
``KernelSearchCV``; both should select the same point.
"""

import time

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import minmax_scale
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import timing
from adakern.model_selection import KernelSearchCV


def rows(n):
    """Two classes with 20 features and a tenth of the labels randomised."""
    X, y = make_classification(n, n_informative=8, flip_y=0.1, random_state=0)
    return minmax_scale(X), y


def processor_seconds(search, X, y):
    """Processor seconds of one search on one thread."""
    start = time.process_time()
    with threadpool_limits(1):
        search.fit(X, y)
    return time.process_time() - start


def main():
    """Measure and print."""
    parser = timing.parser(__doc__, "200 rows, 16 points")
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 3000])
    parser.add_argument("--step", type=int, default=1, help="step of the grid")
    options = parser.parse_args()
    powers = 2.0 ** np.arange(-5, 6, 3 if options.quick else options.step)
    grid = {"C": powers, "gamma": 1 / (2 * powers**2)}
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    print(f"{'rows':>6}{'GridSearchCV':>15}{'KernelSearchCV':>16}{'ratio':>8}  choice")
    for n in [200] if options.quick else options.rows:
        X, y = rows(n)
        plain = GridSearchCV(SVC(), grid, cv=folds, refit=False)
        shared = KernelSearchCV(SVC(), grid, cv=folds, refit=False)
        theirs, ours = (processor_seconds(search, X, y) for search in (plain, shared))
        same = shared.best_params_ == plain.best_params_
        print(
            f"{n:6}{theirs:13.2f} s{ours:14.2f} s{theirs / ours:8.2f}  "
            f"{'same' if same else 'different'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
