"""Wrappers that give recent methods scikit-learn's interface.

AutoGluon is installed in a separate environment.
"""

from tempfile import TemporaryDirectory

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    clone,
    is_regressor,
)
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer


class _Boosting(BaseEstimator):
    """Gradient boosting of another package, with default parameters.

    Columns of pandas' dtype category are converted to text and declared as categorical,
    unless the package supports that dtype.
    """

    names_categories = True
    #: See `adakern.tables.encoding.most_categories`.
    most_categories = 10_000

    def __init__(self, random_state=0, n_jobs=1):
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y):
        self.model_ = self._model()
        names = list(X.select_dtypes("category")) if hasattr(X, "columns") else []
        named = {"cat_features": names} if names and self.names_categories else {}
        self.model_.fit(self._columns(X), y, **named)
        return self

    def predict(self, X):
        return np.ravel(self.model_.predict(self._columns(X)))

    def _columns(self, X):
        if not (self.names_categories and hasattr(X, "columns")):
            return X
        texts = {
            name: X[name].astype(object).map(str, na_action="ignore").fillna("missing")
            for name in X.select_dtypes("category")
        }
        return X.assign(**{name: text.astype(object) for name, text in texts.items()})


class _Classifies(ClassifierMixin):
    """Numbers classes from 0, since not all packages accept other labels."""

    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        return super().fit(X, codes)

    def predict(self, X):
        return self.classes_[super().predict(X).astype(int)]

    def predict_proba(self, X):
        return self.model_.predict_proba(self._columns(X))


class _CatBoost(_Boosting):
    """CatBoost, without output."""

    def _model(self):
        import catboost

        Model = getattr(catboost, type(self).__name__)
        silent = {"verbose": False, "allow_writing_files": False}
        return Model(random_seed=self.random_state, thread_count=self.n_jobs, **silent)


class CatBoostRegressor(RegressorMixin, _CatBoost):
    """See `_CatBoost`."""


class CatBoostClassifier(_Classifies, _CatBoost):
    """See `_CatBoost`."""


class _ChimeraBoost(_Boosting):
    """ChimeraBoost."""

    def _model(self):
        import chimeraboost

        Model = getattr(chimeraboost, type(self).__name__)
        return Model(random_state=self.random_state, thread_count=self.n_jobs)


class ChimeraBoostRegressor(RegressorMixin, _ChimeraBoost):
    """See `_ChimeraBoost`."""


class ChimeraBoostClassifier(_Classifies, _ChimeraBoost):
    """See `_ChimeraBoost`."""


class _Perpetual(_Boosting):
    """PerpetualBooster, with its limit on the number of categories of a column."""

    names_categories = False
    most_categories = 1_000

    def _model(self):
        import perpetual

        Model = getattr(perpetual, type(self).__name__)
        return Model(seed=self.random_state, num_threads=self.n_jobs)


class PerpetualRegressor(RegressorMixin, _Perpetual):
    """See `_Perpetual`."""


class PerpetualClassifier(_Classifies, _Perpetual):
    """See `_Perpetual`."""


class _XGBoost(_Boosting):
    """XGBoost."""

    names_categories = False

    def _model(self):
        import xgboost

        Model = getattr(xgboost, type(self).__name__)
        return Model(
            random_state=self.random_state, n_jobs=self.n_jobs, enable_categorical=True
        )


class XGBRegressor(RegressorMixin, _XGBoost):
    """See `_XGBoost`."""


class XGBClassifier(_Classifies, _XGBoost):
    """See `_XGBoost`."""


class _Filled(BaseEstimator):
    """An estimator of pytabkit, with missing numbers imputed, which pytabkit refuses.

    They are replaced by the median of the training rows, with an indicator column.
    Missing categories are passed on, since pytabkit accepts them.
    """

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y, X_val=None, y_val=None):
        if hasattr(X, "columns"):
            fill = SimpleImputer(
                strategy="median", add_indicator=True, keep_empty_features=True
            )
            numbers = X.select_dtypes("number").columns
            self.fill_ = make_column_transformer(
                (fill, numbers),
                remainder="passthrough",
                verbose_feature_names_out=False,
            ).set_output(transform="pandas")
            self.fill_.fit(X)
        told = {} if X_val is None else {"X_val": self._columns(X_val), "y_val": y_val}
        self.model_ = clone(self.estimator).fit(self._columns(X), y, **told)
        return self

    def predict(self, X):
        return self.model_.predict(self._columns(X))

    def _columns(self, X):
        return self.fill_.transform(X) if hasattr(X, "columns") else X


class FilledRegressor(RegressorMixin, _Filled):
    """See `_Filled`."""


class FilledClassifier(ClassifierMixin, _Filled):
    """See `_Filled`."""

    @property
    def classes_(self):
        return self.model_.classes_

    def predict_proba(self, X):
        return self.model_.predict_proba(self._columns(X))


class _AutoGluon(BaseEstimator):
    """AutoGluon, in the environment given in the method's file.

    Columns of pandas' dtype category are passed unchanged.
    """

    def __init__(self, time_limit=300, presets="best_quality"):
        self.time_limit = time_limit
        self.presets = presets

    def fit(self, X, y):
        self.folder_ = TemporaryDirectory(prefix="autogluon-")
        self.classes_ = np.unique(y)
        table = self._frame(X).assign(y=y)
        try:
            self.model_ = self._fitted("model", table)
        except AssertionError:
            # AutoGluon 1.6 fails with "Learner is already fit" if its test of stacking
            # had no time to fit a model.
            self.model_ = self._fitted("unstacked", table, dynamic_stacking=False)
        return self

    def _fitted(self, name, table, **settings):
        from autogluon.tabular import TabularPredictor

        path = f"{self.folder_.name}/{name}"
        kind = "binary" if len(self.classes_) == 2 else "multiclass"
        kind = "regression" if is_regressor(self) else kind
        model = TabularPredictor("y", problem_type=kind, path=path, verbosity=1)
        return model.fit(
            table,
            time_limit=self.time_limit,
            presets=self.presets,
            num_cpus=1,
            ag_args_ensemble={"fold_fitting_strategy": "sequential_local"},
            **settings,
        )

    def predict(self, X):
        return self.model_.predict(self._frame(X)).to_numpy()

    def _frame(self, X):
        import pandas as pd

        return X if hasattr(X, "columns") else pd.DataFrame(X).add_prefix("x")


class AutoGluonRegressor(RegressorMixin, _AutoGluon):
    """See `_AutoGluon`."""


class AutoGluonClassifier(ClassifierMixin, _AutoGluon):
    """See `_AutoGluon`."""

    def predict_proba(self, X):
        return self.model_.predict_proba(self._frame(X)).to_numpy()
