"""The flagship as a model of AutoGluon's ``TabularPredictor``.

from adakern.integrations.autogluon import AdaptiveKernelModel

predictor.fit(table, hyperparameters={AdaptiveKernelModel: {}, "GBM": {}})
"""

import time

from adakern.adaptive import AdaptiveKernelClassifier, AdaptiveKernelRegressor

try:
    from autogluon.core.models import AbstractModel
except ModuleNotFoundError:
    AbstractModel = object

__all__ = ["AdaptiveKernelModel"]

#: Part of a time limit that is used: blending and saving take the rest.
USED = 0.95


class AdaptiveKernelModel(AbstractModel):
    """One model for AutoGluon, whose validation rows weigh the members."""

    ag_key = "ADAKERN"
    ag_name = "AdaptiveKernel"
    ag_priority = 60
    seed_name = "random_state"
    _supported_problem_types = ["binary", "multiclass", "regression"]
    _default_auxiliary_params_extra = {
        "valid_raw_types": ["bool", "int", "float", "category", "datetime"]
    }

    def _fit(
        self,
        X,
        y,
        X_val=None,
        y_val=None,
        time_limit=None,
        num_cpus=None,
        sample_weight=None,
        **kwargs,
    ):
        started = time.perf_counter()
        X, options = self.preprocess(X, y=y), self._get_model_params()
        if X_val is not None:
            known = y_val.isin(y.unique()) | (self.problem_type == "regression")
            X_val, y_val = self.preprocess(X_val)[known], y_val[known]
        if time_limit is not None:
            left = USED * time_limit - (time.perf_counter() - started)
            options["time_limit"] = max(left, 1.0)
        if isinstance(num_cpus, int):
            options["n_jobs"] = num_cpus
        is_regression = self.problem_type == "regression"
        estimator = AdaptiveKernelRegressor if is_regression else AdaptiveKernelClassifier
        self.model = estimator(**options).fit(X, y, sample_weight, X_val=X_val, y_val=y_val)
