"""Warnings that point to the calling line of the user's code."""

import sys
import warnings

from adakern._utils.printable import printable

#: Packages whose frames are skipped to find the user's code.
INNER = {"adakern", "sklearn", "joblib"}


def note(message):
    """Print a message to standard error, separate from the results."""
    print(printable(f"note: {message}"), file=sys.stderr)


def warn_user(message, category=UserWarning):
    """Warn at the nearest caller outside :data:`INNER`, however deep the call is."""
    frame = sys._getframe(1)
    level = 2
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] in INNER:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def warn_unconverged(estimator, left, limit="max_iter", value=None):
    """Warn that an iteration reached its limit; ``left`` says how far it got."""
    from sklearn.exceptions import (
        ConvergenceWarning,
    )  # imported here since planning does not need scikit-learn

    name, value = type(estimator).__name__, value or getattr(estimator, limit)
    remedy = f"increase {limit}" + " or tol" * hasattr(estimator, "tol")
    warn_user(
        f"{name} stopped, with {limit}={value}, at {left}; {remedy}",
        ConvergenceWarning,
    )
