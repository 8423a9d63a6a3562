"""Constraints of parameters that many estimators have."""

from numbers import Integral, Real

from sklearn.utils._param_validation import Interval, StrOptions

POSITIVE = [Interval(Real, 0, None, closed="neither")]
NOT_NEGATIVE = [Interval(Real, 0, None, closed="left")]
FINITE = [Interval(Real, None, None, closed="neither")]
AT_LEAST_ONE = [Interval(Integral, 1, None, closed="left")]
#: Of a kernel: a number, or one of scikit-learn's two rules.
GAMMA = [StrOptions({"scale", "auto"}), *POSITIVE]
