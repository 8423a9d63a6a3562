"""Kernels with a nonlinear pairwise layer (KNPL)."""

from adakern.knpl.classifier import KNPLClassifier

__all__ = [
    "KNPLClassifier",
]
