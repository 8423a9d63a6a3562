"""Versions of the packages that results depend on."""

import platform
from importlib.metadata import version

__all__ = ["package_versions"]

PACKAGES = ("adakern", "numpy", "scipy", "scikit-learn")


def package_versions():
    """Name -> version, of Python and the packages that compute."""
    installed = {name: version(name) for name in PACKAGES}
    return {"python": platform.python_version()} | installed
