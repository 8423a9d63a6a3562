"""Nyström approximation: column samplers, kernel selection, features."""

from adakern.nystrom.classifier import (
    SelectedKernelRidgeClassifier as SelectedKernelRidgeClassifier,
)
from adakern.nystrom.selector import NystromKernelSelector as NystromKernelSelector
from adakern.nystrom.transformer import CriterionNystroem as CriterionNystroem
