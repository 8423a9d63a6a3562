"""Import of packages that only some methods require."""

import importlib


def require(package, who):
    """Import a package of the extra ``torch``; ImportError says how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f"{who} needs the package {package}, which is not installed; "
            "install it with the extra: pip install '.[torch]' in the repository"
        ) from error
