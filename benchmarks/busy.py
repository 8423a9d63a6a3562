"""Fits beside a process that keeps one processor busy, against the same fits alone.

    python benchmarks/busy.py            # rows as Parkinson's for LAB RBF: minutes
    python benchmarks/busy.py --quick    # few rows: does it run?
    python benchmarks/busy.py DANK KNPL  # these alone

BLAS threads are at their defaults, as in a shell that sets nothing. Each fit runs in a
process of its own, alone and beside the busy one in turns, and the ratio of the medians
is printed; at most 3 is wanted. It says something only on a machine that is idle
otherwise: the load before the first fit is printed too.
"""

import argparse
import os
import statistics
import subprocess
import sys
from contextlib import contextmanager

LIMIT = 3.0
#: Rows, features: Parkinson's training rows; the larger sets of the DANK paper.
SIZES = {
    "LAB RBF": (4700, 19),
    "DANK": (700, 19),
    "DANK whole": (5000, 19),
    "DANK regression": (700, 19),
    "KNPL": (700, 19),
    "Nyström": (2000, 19),
    "adaptive": (300, 8),
}
QUICK = dict.fromkeys(SIZES, (150, 5))
FIT = """\
import sys, time, warnings
import numpy as np
from adakern.adaptive import AdaptiveKernelRegressor
from adakern.dank import DANKClassifier, DANKRegressor
from adakern.knpl import KNPLClassifier
from adakern.lab import LABRBFRegressor
from adakern.nystrom import NystromKernelSelector

name, n, d = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (n, d))
y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
lab = LABRBFRegressor(profile="laplacian", max_support=n // 13, random_state=0)
models = {
    "LAB RBF": lab,
    "DANK": DANKClassifier(),
    "DANK whole": DANKClassifier(C=32, strategy="whole", random_state=0),
    "DANK regression": DANKRegressor(),
    "KNPL": KNPLClassifier(),
    "Nyström": NystromKernelSelector(random_state=0),
    "adaptive": AdaptiveKernelRegressor(random_state=0),
}
warnings.simplefilter("ignore")
start = time.perf_counter()
classes = name in ("DANK", "DANK whole", "KNPL", "Nyström")
models[name].fit(X, y > 0 if classes else y)
print(time.perf_counter() - start)
"""


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help=", ".join(SIZES))
    parser.add_argument("--quick", action="store_true", help="few rows")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    sizes, rounds = (QUICK, 1) if options.quick else (SIZES, options.rounds)
    print(f"load of the last minute: {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    print(f"{'':16}{'alone':>9}{'beside':>9}{'ratio':>8}   at most {LIMIT:g}")
    for name in options.names or sizes:
        size = sizes[name]
        alone, beside = [], []
        for _ in range(rounds):
            alone.append(seconds(name, *size))
            with busy():
                beside.append(seconds(name, *size))
        a, b = statistics.median(alone), statistics.median(beside)
        print(f"{name:16}{a:8.2f}s{b:8.2f}s{b / a:8.2f}", flush=True)


def seconds(name, *size):
    """Of one fit, in a process whose BLAS libraries choose their threads."""
    environment = {k: v for k, v in os.environ.items() if not k.endswith("NUM_THREADS")}
    command = [sys.executable, "-c", FIT, name, *map(str, size)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout)


@contextmanager
def busy():
    """A process that never waits."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
