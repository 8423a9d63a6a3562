"""Time and memory of exact DANK against scikit-learn's SVC or SVR and the papers' method.

    python benchmarks/dank_exact.py            # as many rows as the papers' sets: minutes
    python benchmarks/dank_exact.py --quick    # few rows: does it run?

Generated rows, as many and with as many features as half of sonar, diabetic, EEG and
cpusmall. DANK and the support vector machine alternate, and the ratio is that of the
medians; Nesterov's method runs for 2,000 iterations or until it is certified. On the
regression eta is small enough for F to move much, the hard case for many rows.
"""

import tracemalloc
import warnings
from unittest.mock import patch

import numpy as np
from sklearn.datasets import make_classification, make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import minmax_scale, scale
from sklearn.svm import SVC, SVR

from adakern.dank import DANKClassifier, DANKRegressor, papers
from timing import parser, seconds

#: Rows, features, whether a regression, C, gamma, and eta.
CASES = {
    "sonar": (104, 60, False, 8.0, 0.125, "svm"),
    "diabetic": (576, 19, False, 32.0, 0.5, "svm"),
    "eeg": (7490, 14, False, 32.0, 2.0, "svm"),
    "cpusmall": (4096, 12, True, 32.0, 2.0, 1e3 * 32.0**2),
}


def main():
    """Measure and print."""
    options = parser(__doc__, "150 rows")
    options.add_argument("names", nargs="*", default=list(CASES))
    arguments = options.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"{'':10}{'rows':>6}{'DANK':>10}{'SVM':>10}{'ratio':>7}{'Nesterov':>10}{'memory':>14}")
    for name in arguments.names:
        n, d, regression, C, gamma, eta = CASES[name]
        n = 150 if arguments.quick else n
        if regression:
            X, y = make_friedman1(n, d, random_state=0)
            y = scale(y)
        else:
            X, y = make_classification(n, d, n_informative=d // 2, random_state=0)
        X, kernel = minmax_scale(X), {"C": C, "gamma": gamma}
        dank = (DANKRegressor if regression else DANKClassifier)(eta=eta, **kernel)
        models = dank, (SVR if regression else SVC)(**kernel)
        times = [[seconds(m.fit, X, y)[1] for m in models] for _ in range(9 if n < 1000 else 2)]
        ours, theirs = np.median(times, axis=0)
        nesterov = "-" if regression else f"{nesterov_seconds(X, y, kernel, arguments.quick):.2f} s"
        tracemalloc.start()
        dank.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1] / (8 * n**2)
        tracemalloc.stop()
        ratio = f"{ours:8.3f} s{theirs:8.3f} s{ours / theirs:7.1f}"
        print(f"{name:10}{n:6}{ratio}{nesterov:>10}{peak:6.2f} n^2 doubles", flush=True)


def nesterov_seconds(X, y, kernel, quick):
    """Of a fit by the papers' method, without its rule on the step length.

    The constant of the theorems makes the steps shorter than 1e-4 from the start.
    """
    model = DANKClassifier(method="nesterov", max_iter=50 if quick else 2000, **kernel)
    with patch.dict(papers.nesterov.__kwdefaults__, min_step=0.0):
        return seconds(model.fit, X, y)[1]


if __name__ == "__main__":
    main()
