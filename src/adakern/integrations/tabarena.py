"""The adaptive estimators as a TabArena system with its own validation.

from adakern.integrations.tabarena import AdaptiveKernelSystem

ExternalSystemExperiment("adakern", system_cls=AdaptiveKernelSystem)
"""

from adakern.integrations import flagship

try:
    from tabarena.benchmark.exec_models.external import ExternalSystemModel
except ModuleNotFoundError:
    ExternalSystemModel = object


class AdaptiveKernelSystem(ExternalSystemModel):
    """Adaptive estimator on raw columns; ``options`` are its parameters."""

    def __init__(self, *, options=None, **kwargs):
        super().__init__(**kwargs)
        self.options = options or {}

    def _fit_system(
        self, X, y, *, problem_type, validation_metadata, random_state, **given
    ):
        budget = {name: given[name] for name in ("time_limit", "num_cpus")}
        options = {"random_state": random_state or 0} | self.options
        group_on = validation_metadata.group_on
        groups = (
            None if group_on is None else X.groupby(group_on, dropna=False).ngroup()
        )
        self.model = flagship(problem_type, **budget, **options).fit(
            X, y, groups=groups
        )
        return self

    def _predict(self, X):
        from pandas import Series

        return Series(self.model.predict(X), index=X.index)

    def _predict_proba(self, X):
        from pandas import DataFrame

        return DataFrame(self.model.predict_proba(X), X.index, self.model.classes_)
