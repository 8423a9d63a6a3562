"""Warnings that point at the line of the user's own code."""

import sys
import warnings

__all__ = ["warn_user"]


def warn_user(message, category=UserWarning):
    """Warn at the nearest caller outside adakern, however deep the call is.

    Parameters
    ----------
    message : str
    category : type, default=UserWarning
        Class of the warning.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_back.f_globals.get("__name__", "").startswith(
        ("adakern.", "sklearn.base", "sklearn.utils")
    ):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
