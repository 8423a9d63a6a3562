"""Metrics, paired tests and ranks: is one method better than another?"""

from adakern.evaluation.leaderboard import (
    bootstrap_elo,
    elo_ratings,
    mean_ranks,
    normalised_errors,
    pareto_front,
    win_matrix,
    wins,
)
from adakern.evaluation.metrics import (
    GREATER_IS_BETTER,
    MAIN_METRIC,
    METRICS,
    OPTIONAL_METRICS,
    interval_scores,
    probability_scores,
    score,
)
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
    "OPTIONAL_METRICS",
    "Comparison",
    "Ranking",
    "TTest",
    "bootstrap_elo",
    "compare_methods",
    "corrected_ttest",
    "elo_ratings",
    "holm_correction",
    "interval_scores",
    "mean_ranks",
    "normalised_errors",
    "paired_ttest",
    "pareto_front",
    "probability_scores",
    "rank_methods",
    "score",
    "win_matrix",
    "wins",
]
