"""Nyström approximation: column samplers, kernel selection, features."""

from adakern.nystrom.classifier import SelectedKernelRidgeClassifier
from adakern.nystrom.selector import NystromKernelSelector
from adakern.nystrom.transformer import CriterionNystroem

__all__ = [
    "CriterionNystroem",
    "NystromKernelSelector",
    "SelectedKernelRidgeClassifier",
]
