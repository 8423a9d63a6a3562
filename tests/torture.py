"""Every estimator at extremes: what the campaign tries, and what counts as right.

Right is a finite answer, or an error in the project's own words, before a minute is
over. A bare internal error, NaN without a word, a crash or a run without end is not.
"""

import multiprocessing
import re
import resource
import signal
import time
import traceback
import warnings
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from numbers import Real

import numpy as np
from sklearn.base import is_classifier
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

__all__ = ["Verdict", "cases", "judge"]

#: Seconds of the processor that a fit of a few dozen rows may take.
PATIENCE = 60

#: What no message may begin with: not the project's words but those of a library.
FOREIGN = re.compile(
    "(LinAlg|Index|Overflow|ZeroDivision|FloatingPoint|Attribute|Type|Key|Assertion|"
    "UnboundLocal|Recursion|Arpack)Error"
)
FOREIGN_WORDS = ("array must not contain infs or NaNs", "Unable to allocate")


@dataclass
class Verdict:
    """How one case ended."""

    right: bool
    outcome: str


def data(estimator, n=40):
    X, labels = make_classification(n, n_features=4, random_state=0)
    return X, labels if is_classifier(estimator) else X[:, 0] + np.sin(3 * X[:, 1])


def cases(Estimator):
    """(category, name, function) of everything that is tried on one class."""
    yield from _scales(Estimator)
    yield from _parameters(Estimator)
    yield from _shapes(Estimator)
    yield from _kernels(Estimator)
    yield "memory", "40,000 rows in 3 GB", _crowded


class _Enough(Exception):
    """The time of a fit that is only to show what it does about memory is over."""


def _crowded(model):
    """A kernel matrix of all rows has 13 GB: no room for it, or no need of it."""
    X, y = data(model, 40_000)
    resource.setrlimit(resource.RLIMIT_AS, (3 * 10**9, 3 * 10**9))

    def enough(*_):
        raise _Enough

    signal.signal(signal.SIGPROF, enough)
    signal.setitimer(signal.ITIMER_PROF, 10)
    try:
        return use(model.fit(X, y), X[:100])
    except _Enough:
        return 0.0  # at work, and none the worse for the little memory


def _scales(Estimator):
    for size in (1e-300, 1e-200, 1e-70, 1e-20, 1e20, 1e70, 1e200, 1e300, 1e308):
        yield "scale of X", f"{size:g}", partial(_fit, scale=size)
        yield "new rows", f"{size:g}", partial(_fit, new=size)
        if not is_classifier(Estimator()):
            yield "scale of y", f"{size:g}", partial(_fit, y_scale=size)
    yield "scale of X", "one column of 1e60", partial(_fit, mix=1e60)


def _fit(model, scale=1.0, y_scale=1.0, new=1.0, mix=1.0):
    X, y = data(model)
    X = X * scale
    X[:, 1] *= mix
    y = y if is_classifier(model) else y * y_scale
    return use(model.fit(X, y), X * new)


def use(model, X):
    """Its answer for X, of whichever kind."""
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    if hasattr(model, "predict"):
        return model.predict(X)
    if hasattr(model, "transform"):
        return model.transform(X)
    return model.criterion_


def _parameters(Estimator):
    defaults = Estimator().get_params()
    for name, value in defaults.items():
        number = isinstance(value, Real) and not isinstance(value, bool | int)
        allowed = Estimator._parameter_constraints.get(name, [])
        if number or (name in ("gamma", "bandwidth") and "Interval" in str(allowed)):
            for extreme in (1e-300, 1e-70, 1e-30, 1e-9, 1e9, 1e30, 1e70, 1e300):
                case = partial(_with, name=name, value=extreme)
                yield "parameters", f"{name}={extreme:g}", case


def _with(model, name, value):
    return _fit(model.set_params(**{name: value}))


def _shapes(Estimator):
    def few(model, n):
        X, y = data(model)
        rows = np.argsort(y, kind="stable")[[*range(n // 2), *range(-(n - n // 2), 0)]]
        return use(model.fit(X[rows], y[rows]), X)

    def same(model):
        X, y = data(model)
        return use(model.fit(np.ones_like(X), y), X)

    def constant(model):
        X, y = data(model)
        return use(model.fit(X, np.zeros_like(y)), X)

    def wide(model):
        X, y = data(model)
        return use(model.fit(np.tile(X, (1, 60)), y), np.tile(X, (1, 60)))

    def fortran(model):
        X, y = data(model)
        first = use(model.fit(X, y), X)
        again = use(model.fit(np.asfortranarray(X), y), np.asfortranarray(X))
        # Where an array begins in memory can still move its last digit.
        np.testing.assert_allclose(first, again, rtol=1e-9, atol=1e-9)
        return again

    for n in (1, 2, 3, 5):
        yield "shapes", f"{n} rows", partial(few, n=n)
    yield "shapes", "equal rows", same
    yield "shapes", "constant y", constant
    yield "shapes", "240 columns", wide
    yield "memory order", "Fortran", fortran


def _kernels(Estimator):
    allowed = Estimator._parameter_constraints.get("kernel", [])
    if not any("precomputed" in str(one) for one in allowed):
        return
    rng = np.random.default_rng(0)
    A = rng.normal(size=(40, 40))
    matrices = {
        "indefinite": A + A.T,
        "asymmetric": A @ A.T + np.triu(A),
        "zero": np.zeros((40, 40)),
        "huge": (A @ A.T) * 1e300,
        "tiny": (A @ A.T) * 1e-300,
        "rank one": np.ones((40, 40)),
    }
    for name, K in matrices.items():
        yield "kernel matrices", name, partial(_precomputed, K=K)


def _precomputed(model, K):
    _, y = data(model)
    return use(model.set_params(kernel="precomputed").fit(K, y), K)


def judge(Estimator, case, seconds=PATIENCE):
    """Run one case in a process of its own and say how it ended.

    The time is the processor's: beside busy neighbours a fit takes no more of it.
    """
    for package in getattr(Estimator, "_required_packages", ()):
        import_module(package)  # once: PyTorch takes longer than most fits
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(
        target=_try, args=(sender, Estimator, case, seconds)
    )
    process.start()
    sender.close()
    try:
        if not receiver.poll(100 * seconds):
            return Verdict(False, "it sleeps")
        return receiver.recv()
    except EOFError:
        process.join()
        name = signal.Signals(-process.exitcode).name
        late = name in ("SIGXCPU", "SIGKILL")
        return Verdict(False, f"no end within {seconds} s" if late else f"crash: {name}")
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
        # The threads of OpenMP do not survive a fork: with more than one a fit sleeps.
        with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answer = np.asarray(case(model), dtype=float)
        outcome = "finite" if np.isfinite(answer).all() else "NaN or infinity"
        if outcome == "finite" and caught:
            outcome = "finite, with a warning"
        verdict = Verdict(outcome.startswith("finite"), outcome)
    except (ValueError, MemoryError) as error:
        told = f"{type(error).__name__}: {error}".splitlines()[0][:160]
        is_ours = not FOREIGN.fullmatch(type(error).__name__)
        is_ours = is_ours and not any(words in str(error) for words in FOREIGN_WORDS)
        verdict = Verdict(is_ours, f"refused: {told}")
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        verdict = Verdict(
            False,
            f"{type(error).__name__}: {error} ({place.filename.rpartition('/')[2]}:{place.lineno})"[
                :200
            ],
        )
    sender.send(verdict)
    sender.close()
