"""Training time of KNPL and the kernel-learning baselines against scikit-learn's SVC.

    python benchmarks/knpl.py            # 575 training rows with 19 features
    python benchmarks/knpl.py --quick    # 120 rows: does it run?

The rows are those of diabetic (half of it, as in the papers) where the file is found
under ``--mirror``, else generated rows of that size. The reference is SVC at equal
kernels: on the method's own Gaussian kernel, or on the mean of its bank's kernels, the
Gram matrices included. Method and reference alternate in one run, and the ratio is that
of the medians.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.io import arff
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import minmax_scale
from sklearn.svm import SVC, SVR

from adakern.baselines import (
    BayesianMKLClassifier,
    BayesianMKLRegressor,
    DeepMKL,
    EasyMKL,
    LogDetKernel,
    MetricNadarayaWatson,
    RandomFeatureAlignment,
    SimpleMKLClassifier,
    SimpleMKLRegressor,
    UniformMKLClassifier,
    UniformMKLRegressor,
)
from adakern.knpl import KNPLClassifier

TARGET = 30.0
C, GAMMA = 32.0, 2.0
DEGREES = (1, 2, 3)
#: The ten widths of Gonen 2012, sigma = 2^-3, ..., 2^6.
BMKL_GAMMAS = tuple(1 / (2 * 4.0**power) for power in range(-3, 7))

WHY_NOT = {
    "dmkl": "every step takes an L2 SVM and two n x n inverses for the span bound",
    "bmkl": "every round factorises an n x n covariance (n^3), about 100 rounds",
    "bmkl regression": "every round factorises an n x n covariance (n^3)",
    "knpl, algorithms 1 and 2": "15 eigendecompositions a round, and it cycles",
}


def methods():
    """Name -> (estimator, reference at equal kernels)."""
    rbf = {"C": C, "gamma": GAMMA}
    svc, svr = SVC(**rbf), SVR(**rbf)
    bank = UniformMKLClassifier(C, degrees=DEGREES)
    wide = {"gammas": BMKL_GAMMAS, "degrees": DEGREES}
    wide_svc, wide_svr = UniformMKLClassifier(C, **wide), UniformMKLRegressor(C, **wide)
    bank_svr = UniformMKLRegressor(C, degrees=DEGREES)
    deep = DeepMKL(C)
    layer = UniformMKLClassifier(C, gammas=deep.gammas, degrees=deep.degrees)
    reg = 100 * C**2
    admm = KNPLClassifier(reg=reg, solver="admm", **rbf)
    return {
        "knpl": (KNPLClassifier(reg=reg, **rbf), svc),
        "knpl, algorithms 1 and 2": (admm, svc),
        "logdet": (LogDetKernel(random_state=0, **rbf), svc),
        "rf-alignment": (RandomFeatureAlignment(random_state=0, **rbf), svc),
        "easymkl": (EasyMKL(degrees=DEGREES), bank),
        "simplemkl": (SimpleMKLClassifier(C, degrees=DEGREES), bank),
        "bmkl": (BayesianMKLClassifier(**wide), wide_svc),
        "dmkl": (deep, layer),
        "svr-mkl": (SimpleMKLRegressor(C, degrees=DEGREES), bank_svr),
        "bmkl regression": (BayesianMKLRegressor(**wide), wide_svr),
        "nw-metric-learning": (MetricNadarayaWatson(), svr),
    }


def training_rows(mirror, quick):
    """The rows, and where they come from."""
    path = Path(mirror) / "diabetic" / "messidor_features.arff"
    if path.exists():
        table = pd.DataFrame(arff.loadarff(path)[0]).astype(float).to_numpy()
        X, y, source = table[:, :-1], table[:, -1], "diabetic"
    else:
        X, y = make_classification(1151, 19, flip_y=0.2, random_state=0)
        source = "generated"
    train, _ = train_test_split(
        np.arange(len(y)), train_size=120 if quick else 575, stratify=y, random_state=0
    )
    return minmax_scale(X[train]), y[train], source


def fit_seconds(estimator, X, y):
    start = time.perf_counter()
    estimator.fit(X, y)
    return time.perf_counter() - start


def compare(estimator, reference, X, y, rounds):
    """Median seconds of both, taken in turn."""
    times = [
        (fit_seconds(estimator, X, y), fit_seconds(reference, X, y))
        for _ in range(rounds)
    ]
    return np.median(times, axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="120 rows, one round")
    default = os.environ.get("ADAKERN_DATA_MIRROR", "../shared/data")
    parser.add_argument("--mirror", default=default, help="folder of the data files")
    arguments = parser.parse_args()
    X, y, source = training_rows(arguments.mirror, arguments.quick)
    print(f"{source}: {len(X)} training rows, {X.shape[1]} features")
    print(f"{'method':26} {'seconds':>8} {'SVC':>8} {'ratio':>7}  at most {TARGET:g}")
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name, (estimator, reference) in methods().items():
        rounds = 1 if arguments.quick else 3
        seconds, base = compare(estimator, reference, X, y, rounds)
        ratio = seconds / base
        outcome = "ok" if ratio <= TARGET else f"MISSED: {WHY_NOT.get(name, '')}"
        print(f"{name:26} {seconds:8.3f} {base:8.3f} {ratio:7.1f}  {outcome}")


if __name__ == "__main__":
    main()
