"""Kernels that adapt to the data."""

__version__ = "0.1.0"
