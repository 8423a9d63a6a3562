"""Packages that only some methods need."""

import importlib


def require(package, who):
    """Import a package of the extra ``torch``, or say how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f"{who} needs the package {package}, which is not installed; "
            "install the extra: pip install '.[torch]' in its repository"
        ) from error
