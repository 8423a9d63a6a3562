"""The flagship as a model of other systems; each module imports without its package."""

from adakern.adaptive import AdaptiveKernelClassifier, AdaptiveKernelRegressor

#: Part of a time limit that is used: blending and saving take the rest.
USED = 0.95


def flagship(problem_type, time_limit=None, num_cpus=None, **options):
    """The estimator for a type of problem, with what their budgets are called there."""
    if time_limit is not None:
        options["time_limit"] = USED * time_limit
    if isinstance(num_cpus, int):
        options["n_jobs"] = num_cpus
    is_regression = problem_type == "regression"
    return (AdaptiveKernelRegressor if is_regression else AdaptiveKernelClassifier)(
        **options
    )
