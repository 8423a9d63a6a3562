"""Packages that only some methods need."""

import contextlib
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


@contextlib.contextmanager
def torch_seed(torch, rng):
    """PyTorch's global generator seeded from ``rng`` inside, untouched outside."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.randint(2**31)))
        yield
