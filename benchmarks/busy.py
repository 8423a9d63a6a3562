"""Time of fits while another process keeps one core busy, relative to an idle machine.

    python benchmarks/busy.py            # takes minutes
    python benchmarks/busy.py --quick    # few rows, only checks that it runs
    python benchmarks/busy.py DANK KNPL  # only these

The number of BLAS threads is the default. Each fit runs in a separate process,
alternately alone and with the busy process, and the ratio of the medians is printed; it
should be at most 3. The ratio is meaningful only on an otherwise idle machine, so the
load before the first fit is printed as well.
"""

import os
import statistics
import subprocess
import sys
import warnings
from contextlib import contextmanager

import numpy as np

import adakern
import timing
from adakern import DANKClassifier, DANKRegressor, KNPLClassifier, LABRBFRegressor

#: Rows, features (as in Parkinson's data and the larger sets of the DANK paper), and a
#: function that returns the estimator for a number of rows.
FITS = {
    "LAB RBF": (4700, 19, lambda n: LABRBFRegressor("laplacian", max_support=n // 13)),
    "DANK": (700, 19, lambda n: DANKClassifier()),
    "DANK whole": (
        5000,
        19,
        lambda n: DANKClassifier(C=32, strategy="whole", random_state=0),
    ),
    "DANK regression": (700, 19, lambda n: DANKRegressor()),
    "KNPL": (700, 19, lambda n: KNPLClassifier()),
    "Nyström": (2000, 19, lambda n: adakern.NystromKernelSelector(random_state=0)),
    "adaptive": (300, 8, lambda n: adakern.AdaptiveKernelRegressor(random_state=0)),
}


def main():
    """Measure and print."""
    parser = timing.parser(__doc__, "few rows")
    parser.add_argument("names", nargs="*", help=", ".join(FITS))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for name in [name for name in os.environ if name.endswith("NUM_THREADS")]:
        del os.environ[name]
    print(f"load of the last minute: {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    print(f"{'':16}{'alone':>9}{'busy':>9}{'ratio':>8}   at most 3")
    for name in options.names or FITS:
        size = (150, 5) if options.quick else FITS[name][:2]
        alone, beside = [], []
        for _ in range(1 if options.quick else options.rounds):
            alone.append(timing.in_process(seconds, name, *size))
            with busy():
                beside.append(timing.in_process(seconds, name, *size))
        a, b = statistics.median(alone), statistics.median(beside)
        print(f"{name:16}{a:8.2f}s{b:8.2f}s{b / a:8.2f}", flush=True)


def seconds(name, n, d):
    """Seconds of one fit."""
    warnings.simplefilter("ignore")
    rng, model = np.random.default_rng(0), FITS[name][2](n)
    X = rng.uniform(-1, 1, (n, d))
    y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    classes = name in ("DANK", "DANK whole", "KNPL", "Nyström")
    return timing.seconds(model.fit, X, y > 0 if classes else y)[1]


@contextmanager
def busy():
    """Keep one core busy."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
