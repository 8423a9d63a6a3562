"""An estimator that runs in another Python environment with its own packages.

A worker process in that environment (`elsewhere_worker.py`) fits and predicts; it
imports nothing from this project except the estimator's class. Rows are sent to it as
arrays, categorical columns as codes, and predictions are returned as arrays.
"""

import json
import os
import subprocess
import weakref
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from adakern_bench.base.environments import made_file
from adakern_bench.base.parent import ENDINGS, die_with_parent
from adakern_bench.base.paths import ROOT

_WORKER = Path(__file__).with_name("elsewhere_worker.py")


def _program(python):
    """Return the Python executable of a recipe; raise a ValueError if there is none."""
    named = python["python"]
    if named.startswith("$"):
        program = os.environ.get(named[1:], "")
        if not os.access(program, os.X_OK):
            raise ValueError(f"{named} is not an executable program")
        return program
    path = made_file(python["environment"])
    if not path.is_file():
        raise ValueError(
            f"the environment {named} does not exist; `adakern run` creates it"
        )
    made = json.loads(path.read_text("utf-8"))
    if "failed" in made:
        raise ValueError(
            f"the environment {named} could not be created: {made['failed']}"
        )
    return str(ROOT / made["python"])


class _Worker:
    """A process of another Python environment that holds one fitted estimator."""

    def __init__(self, program):
        self.folder = TemporaryDirectory(prefix="elsewhere-")
        self.process: Any = subprocess.Popen(
            [program, "-I", str(_WORKER), self.folder.name, str(ROOT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=die_with_parent,
        )

    def ask(self, what, arrays, **words):
        """Return (answer, array or None) of a request; RuntimeError if it failed."""
        np.savez(Path(self.folder.name, "given.npz"), **arrays)
        try:
            self.process.stdin.write(json.dumps(words | {"what": what}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            status = self.process.wait()
            raise RuntimeError(
                f"the Python process of the method ended with exit status {status}"
            )
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        found = Path(self.folder.name, "found.npy")
        return answer, np.load(found) if answer.get("array") else None

    def close(self):
        """End the process, so that its memory is counted, and remove its files."""
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()


#: Program -> workers whose estimator was garbage-collected; the next fit reuses one.
_IDLE: dict[str, list[_Worker]] = {}


def _worker(program):
    """A worker of this Python, and the list of idle workers that it returns to."""
    idle = _IDLE.setdefault(program, [])
    while idle:
        worker = idle.pop()
        if worker.process.poll() is None:
            return worker, idle
    return _Worker(program), idle


def _close_idle():
    for idle in _IDLE.values():
        while idle:
            idle.pop().close()


ENDINGS.append(_close_idle)


def _sent(X):
    """Return the arrays that represent rows; those of a DataFrame include the number of
    categories per column.

    The categories of `CategoryColumns` are numbered from 0.
    """
    if not hasattr(X, "columns"):
        return {"X": np.asarray(X)}
    categories = [len(getattr(kind, "categories", ())) for kind in X.dtypes]
    return {"X": X.to_numpy(dtype=float), "categories": np.array(categories)}


def _there(name):
    """The method of this name, available if the remote estimator has one."""

    def method(self, X):
        return self.worker_.ask(name, _sent(X))[1]

    method.__name__ = name
    return available_if(lambda self: name in getattr(self, "methods_", ()))(method)


class _Elsewhere(BaseEstimator):
    """Estimator that fits the class of `recipe` in another Python environment.

    Its parameters are those of the recipe.
    """

    def __init__(self, recipe, python, seed=None, threads=1):
        self.recipe = recipe
        self.python = python
        self.seed = seed
        self.threads = threads

    def get_params(self, deep=True):
        """Return the parameters of the recipe or, with deep=False, of this class."""
        if not deep:
            return super().get_params(deep=False)
        return {name: v for name, v in self.recipe.items() if name != "_target_"}

    def set_params(self, **params):
        """Set parameters of the remote class, which checks them itself."""
        self.recipe = self.recipe | params
        return self

    def fit(self, X, y):
        """Fit in the worker; an error there is raised as a RuntimeError."""
        self.worker_, idle = _worker(_program(self.python))
        weakref.finalize(self, idle.append, self.worker_)
        words = {"recipe": self.recipe, "seed": self.seed, "threads": self.threads}
        arrays = _sent(X) | {"y": np.asarray(y)}
        answer, classes = self.worker_.ask("fit", arrays, **words)
        self.methods_ = answer["methods"]
        self.versions_ = answer["versions"]
        if classes is not None:
            self.classes_ = classes
        return self

    def predict(self, X):
        """Predict in the worker."""
        return self.worker_.ask("predict", _sent(X))[1]


class ElsewhereRegressor(RegressorMixin, _Elsewhere):
    """See `_Elsewhere`."""


class ElsewhereClassifier(ClassifierMixin, _Elsewhere):
    """See `_Elsewhere`."""

    predict_proba = _there("predict_proba")
    decision_function = _there("decision_function")


def elsewhere(recipe, python, seed, threads):
    """The estimator of a recipe, fitted with the Python that `python_of` describes."""
    is_classifier = python["task"] == "classification"
    kind = ElsewhereClassifier if is_classifier else ElsewhereRegressor
    return kind(recipe, python, seed, threads)
