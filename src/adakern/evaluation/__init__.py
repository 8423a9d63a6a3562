"""Metrics, paired tests and ranks: is one method better than another?"""

from adakern.evaluation.metrics import GREATER_IS_BETTER, MAIN_METRIC, METRICS, score
from adakern.evaluation.ranks import Ranking, rank_methods
from adakern.evaluation.significance import (
    Comparison,
    TTest,
    compare_methods,
    corrected_ttest,
    holm_correction,
    paired_ttest,
)

__all__ = [
    "GREATER_IS_BETTER",
    "MAIN_METRIC",
    "METRICS",
    "Comparison",
    "Ranking",
    "TTest",
    "compare_methods",
    "corrected_ttest",
    "holm_correction",
    "paired_ttest",
    "rank_methods",
    "score",
]
