"""Rivals of today that do not speak scikit-learn's language, and one that lives
elsewhere.
"""

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_regressor


class _CatBoost(BaseEstimator):
    """CatBoost with the defaults of its package, quiet, with scikit-learn's
    parameters."""

    def __init__(self, random_state=0, n_jobs=1):
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y):
        import catboost

        Model = getattr(catboost, type(self).__name__)
        silent = {"verbose": False, "allow_writing_files": False}
        model = Model(random_seed=self.random_state, thread_count=self.n_jobs, **silent)
        self.model_ = model.fit(X, y)
        return self

    def predict(self, X):
        return np.ravel(self.model_.predict(X))


class CatBoostRegressor(RegressorMixin, _CatBoost):
    """See `_CatBoost`."""


class CatBoostClassifier(ClassifierMixin, _CatBoost):
    """See `_CatBoost`."""

    @property
    def classes_(self):
        return self.model_.classes_

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


#: What the other Python runs: AutoGluon pins other versions than this project.
_JOB = """
import sys
import numpy as np, pandas as pd
from autogluon.tabular import TabularPredictor
what, folder = sys.argv[1:3]
given = np.load(f"{folder}/{what}.npz", allow_pickle=False)
frame = pd.DataFrame(given["X"], columns=[f"x{k}" for k in range(given["X"].shape[1])])
if what == "fit":
    problem, seconds, presets = sys.argv[3:]
    kind = None if problem == "None" else problem
    TabularPredictor("y", problem_type=kind, path=f"{folder}/model", verbosity=1).fit(
        frame.assign(y=given["y"]),
        time_limit=float(seconds),
        presets=presets,
        num_cpus=1,
        ag_args_ensemble={"fold_fitting_strategy": "sequential_local"})
else:
    model = TabularPredictor.load(f"{folder}/model")
    predict = model.predict_proba if what == "predict_proba" else model.predict
    found = predict(frame)
    np.save(f"{folder}/{what}.npy", found.to_numpy())
"""


class _AutoGluon(BaseEstimator):
    """AutoGluon in an environment of its own, whose Python ADAKERN_AUTOGLUON names.

    The variable and no parameter, so that no configuration names what is run.
    """

    def __init__(self, time_limit=300, presets="best_quality"):
        self.time_limit = time_limit
        self.presets = presets

    def fit(self, X, y):
        self.folder_ = TemporaryDirectory(prefix="autogluon-")
        self.classes_ = np.unique(y)
        problem = "regression" if is_regressor(self) else None
        self._run("fit", problem, self.time_limit, self.presets, X=X, y=y)
        return self

    def predict(self, X):
        return self._run("predict", X=X)

    def _run(self, what, *arguments, **arrays):
        folder = Path(self.folder_.name)
        np.savez(folder / f"{what}.npz", **arrays)
        command = [
            os.environ["ADAKERN_AUTOGLUON"],
            "-c",
            _JOB,
            what,
            folder,
            *arguments,
        ]
        subprocess.run([str(part) for part in command], check=True)
        return None if what == "fit" else np.load(folder / f"{what}.npy")


class AutoGluonRegressor(RegressorMixin, _AutoGluon):
    """See `_AutoGluon`."""


class AutoGluonClassifier(ClassifierMixin, _AutoGluon):
    """See `_AutoGluon`."""

    def predict_proba(self, X):
        return self._run("predict_proba", X=X)
