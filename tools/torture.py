"""Cases of the campaign with extreme inputs to every estimator, and their verdicts.

A case is right if it gives finite predictions, or an error message of this project,
within a minute. An internal error, NaN or infinity, a crash or a hang is wrong.
"""

import multiprocessing
import resource
import signal
import time
import traceback
import warnings
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from numbers import Real
from pathlib import Path

import numpy as np
from numpy.linalg import LinAlgError
from sklearn.base import is_classifier
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from discovery import all_estimators

#: Maximum processor seconds of a fit of a few dozen rows.
PATIENCE = 60

#: Parts of messages that come from a library rather than from this project.
FOREIGN_WORDS = ("array must not contain infs or NaNs", "Unable to allocate")
SIZES = (1e-300, 1e-200, 1e-70, 1e-20, 1e20, 1e70, 1e200, 1e300, 1e308)
EXTREMES = (1e-300, 1e-70, 1e-30, 1e-9, 1e9, 1e30, 1e70, 1e300)

#: Blends of many fits, whose members are tested separately.
BLENDS = {"AdaptiveKernelClassifier", "AdaptiveKernelRegressor"}
ESTIMATORS = [e for e in all_estimators() if e.__name__ not in BLENDS]


@dataclass
class Verdict:
    """Outcome of a case, and whether it is right."""

    right: bool
    outcome: str


def data(estimator, n=40):
    X, labels = make_classification(n, n_features=4, random_state=0)
    return X, labels if is_classifier(estimator) else X[:, 0] + np.sin(3 * X[:, 1])


def cases(Estimator):
    """Yield (category, name, function) of every case of one class."""
    X, y = data(Estimator())
    for category, name, given in [*_scales(X, y, Estimator), *_shapes(X, y)]:
        yield category, name, partial(answer, **{"X": X, "y": y} | given)
    yield "memory order", "Fortran", partial(_fortran, X=X, y=y)
    for name in _numbers(Estimator):
        for extreme in EXTREMES:
            yield (
                "parameters",
                f"{name}={extreme:g}",
                partial(answer, X=X, y=y, **{name: extreme}),
            )
    allowed = Estimator._parameter_constraints.get("kernel", [])
    if any("precomputed" in str(one) for one in allowed):
        for name, K in _kernels().items():
            yield (
                "kernel matrices",
                name,
                partial(answer, X=K, y=y, kernel="precomputed"),
            )
    yield "memory", "40,000 rows in 3 GB", _crowded


def answer(model, X, y, new=None, **parameters):
    """Fit a model and return its predictions for new rows, by default the same rows."""
    model.set_params(**parameters).fit(X, y)
    for way in ("decision_function", "predict", "transform"):
        if hasattr(model, way):
            return getattr(model, way)(X if new is None else new)
    return model.criterion_


def _scales(X, y, Estimator):
    with np.errstate(over="ignore"):
        for size in SIZES:
            yield "scale of X", f"{size:g}", {"X": X * size}
            yield "new rows", f"{size:g}", {"new": X * size}
            if not is_classifier(Estimator()):
                yield "scale of y", f"{size:g}", {"y": y * size}
    yield "scale of X", "one column of 1e60", {"X": X * [1, 1e60, 1, 1]}


def _shapes(X, y):
    for n in (1, 2, 3, 5):
        rows = np.argsort(y, kind="stable")[[*range(n // 2), *range(-(n - n // 2), 0)]]
        yield "shapes", f"{n} rows", {"X": X[rows], "y": y[rows], "new": X}
    yield "shapes", "equal rows", {"X": np.ones_like(X), "new": X}
    yield "shapes", "constant y", {"y": np.zeros_like(y)}
    yield "shapes", "240 columns", {"X": np.tile(X, (1, 60))}


def _fortran(model, X, y):
    first = answer(model, X, y)
    again = answer(model, np.asfortranarray(X), y)
    # The alignment of an array in memory may still change the last digits.
    np.testing.assert_allclose(first, again, rtol=1e-9, atol=1e-9)
    return again


def _numbers(Estimator):
    """Names of the parameters that accept a real number."""
    for name, value in Estimator().get_params().items():
        number = isinstance(value, Real) and not isinstance(value, bool | int)
        allowed = Estimator._parameter_constraints.get(name, [])
        if number or (name in ("gamma", "bandwidth") and "Interval" in str(allowed)):
            yield name


def _kernels():
    A = np.random.default_rng(0).normal(size=(40, 40))
    return {
        "indefinite": A + A.T,
        "asymmetric": A @ A.T + np.triu(A),
        "zero": np.zeros((40, 40)),
        "huge": (A @ A.T) * 1e300,
        "tiny": (A @ A.T) * 1e-300,
        "rank one": np.ones((40, 40)),
    }


class _Enough(Exception):
    """Ends a fit that has shown that it copes with little memory."""


def _crowded(model):
    """Fit with too little memory for the kernel matrix of all rows, which takes
    13 GB.
    """
    X, y = data(model, 40_000)
    resource.setrlimit(resource.RLIMIT_AS, (3 * 10**9, 3 * 10**9))

    def enough(*_):
        raise _Enough

    signal.signal(signal.SIGPROF, enough)
    signal.setitimer(signal.ITIMER_PROF, 10)
    try:
        return answer(model, X, y, X[:100])
    except _Enough:
        return 0.0  # the fit is still running despite the memory limit


def judge(Estimator, case, seconds=PATIENCE):
    """Run one case in a separate process and return its verdict.

    The limit is on processor time, which other programs hardly affect.
    """
    for package in getattr(Estimator, "_required_packages", ()):
        import_module(package)  # imported once: PyTorch takes longer than most fits
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(
        target=_try, args=(sender, Estimator, case, seconds)
    )
    process.start()
    sender.close()
    try:
        if not receiver.poll(100 * seconds):
            return Verdict(False, "hangs without using the processor")
        return receiver.recv()
    except EOFError:
        process.join()
        name = signal.Signals(-process.exitcode).name
        late = name in ("SIGXCPU", "SIGKILL")
        return Verdict(
            False, f"no end within {seconds} s" if late else f"crash: {name}"
        )
    finally:
        process.kill()
        process.join()


def _try(sender, Estimator, case, seconds):
    used = int(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, used + seconds + 5))
    model = Estimator()
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    try:
        # OpenMP's threads do not survive a fork, so a fit with several would hang.
        with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answer = np.asarray(case(model), dtype=float)
        outcome = "finite" if np.isfinite(answer).all() else "NaN or infinity"
        if outcome == "finite" and caught:
            outcome = "finite, with a warning"
        verdict = Verdict(outcome.startswith("finite"), outcome)
    except BaseException as error:
        told = f"{type(error).__name__}: {error}"
        refused = isinstance(error, ValueError | MemoryError)
        foreign = isinstance(error, LinAlgError) or any(
            words in told for words in FOREIGN_WORDS
        )
        if refused:
            verdict = Verdict(not foreign, f"refused: {told.splitlines()[0][:160]}")
        else:
            place = traceback.extract_tb(error.__traceback__)[-1]
            verdict = Verdict(
                False, f"{told[:160]} ({Path(place.filename).name}:{place.lineno})"
            )
    sender.send(verdict)
    sender.close()
