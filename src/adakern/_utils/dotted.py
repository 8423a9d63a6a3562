"""Functions and classes by their dotted names."""

from importlib import import_module


def resolve(dotted):
    """Import the function or class of a dotted name such as ``package.module.name``."""
    module, _, name = dotted.rpartition(".")
    return getattr(import_module(module), name)
