"""The adaptive estimators as a model of AutoGluon's ``TabularPredictor``.

from adakern.integrations.autogluon import AdaptiveKernelModel

predictor.fit(table, hyperparameters={AdaptiveKernelModel: {}, "GBM": {}})
"""

from adakern.integrations import flagship

try:
    from autogluon.core.models import AbstractModel
except ModuleNotFoundError:
    AbstractModel = object


class AdaptiveKernelModel(AbstractModel):
    """AutoGluon model whose members are weighted on AutoGluon's validation rows."""

    ag_key = "ADAKERN"
    ag_name = "AdaptiveKernel"
    seed_name = "random_state"
    _supported_problem_types = ["binary", "multiclass", "regression"]
    _default_auxiliary_params_extra = {
        "valid_raw_types": ["bool", "int", "float", "category", "datetime"]
    }

    def _fit(
        self, X, y, X_val=None, y_val=None, time_limit=None, num_cpus=None, **kwargs
    ):
        X = self.preprocess(X, y=y)
        if X_val is not None:
            known = y_val.isin(y.unique()) | (self.problem_type == "regression")
            X_val, y_val = self.preprocess(X_val)[known], y_val[known]
        options = self._get_model_params()
        self.model = flagship(self.problem_type, time_limit, num_cpus, **options).fit(
            X, y, kwargs.get("sample_weight"), X_val=X_val, y_val=y_val
        )
