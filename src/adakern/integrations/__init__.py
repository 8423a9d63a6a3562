"""Adapters of the adaptive estimators for other systems, one module each."""

from adakern.adaptive import AdaptiveKernelClassifier, AdaptiveKernelRegressor

#: Fraction of the time limit for fitting; blending and saving take the rest.
USED = 0.95


def flagship(problem_type, time_limit=None, num_cpus=None, **options):
    """Return the estimator for a problem type, with the given budgets."""
    if time_limit is not None:
        options["time_limit"] = USED * time_limit
    if isinstance(num_cpus, int):
        options["n_jobs"] = num_cpus
    is_regression = problem_type == "regression"
    return (AdaptiveKernelRegressor if is_regression else AdaptiveKernelClassifier)(
        **options
    )
