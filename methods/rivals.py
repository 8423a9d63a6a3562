"""Rivals of today that do not speak scikit-learn's language, and one that lives
elsewhere.
"""

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


class _AutoGluon(BaseEstimator):
    """AutoGluon, in the environment that its method's file names."""

    def __init__(self, time_limit=300, presets="best_quality"):
        self.time_limit = time_limit
        self.presets = presets

    def fit(self, X, y):
        from autogluon.tabular import TabularPredictor

        self.folder_ = TemporaryDirectory(prefix="autogluon-")
        self.classes_ = np.unique(y)
        problem = "regression" if is_regressor(self) else None
        path = f"{self.folder_.name}/model"
        model = TabularPredictor("y", problem_type=problem, path=path, verbosity=1)
        self.model_ = model.fit(
            self._frame(X).assign(y=y),
            time_limit=self.time_limit,
            presets=self.presets,
            num_cpus=1,
            ag_args_ensemble={"fold_fitting_strategy": "sequential_local"},
        )
        return self

    def predict(self, X):
        return self.model_.predict(self._frame(X)).to_numpy()

    def _frame(self, X):
        import pandas as pd

        return pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])


class AutoGluonRegressor(RegressorMixin, _AutoGluon):
    """See `_AutoGluon`."""


class AutoGluonClassifier(ClassifierMixin, _AutoGluon):
    """See `_AutoGluon`."""

    def predict_proba(self, X):
        return self.model_.predict_proba(self._frame(X)).to_numpy()
