"""Constraints of parameters that many estimators share."""

from numbers import Integral, Real

from sklearn.utils._param_validation import Interval, StrOptions

POSITIVE = [Interval(Real, 0, None, closed="neither")]
NOT_NEGATIVE = [Interval(Real, 0, None, closed="left")]
FINITE = [Interval(Real, None, None, closed="neither")]
AT_LEAST_ONE = [Interval(Integral, 1, None, closed="left")]
FRACTION = [Interval(Real, 0, 1, closed="right")]
#: Constraint of ``gamma``: a positive number, or one of scikit-learn's two rules.
GAMMA = [StrOptions({"scale", "auto"}), *POSITIVE]

#: Constraints of parameters that have the same meaning in all estimators.
SHARED = {
    "C": POSITIVE,
    "coef0": FINITE,
    "degree": AT_LEAST_ONE,
    "epsilon": NOT_NEGATIVE,
    "gamma": GAMMA,
    "max_iter": AT_LEAST_ONE,
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "tol": POSITIVE,
}


def constraints(*shared, **own):
    """Return parameter constraints: shared ones by name, others in full."""
    return {name: SHARED[name] for name in shared} | own
