"""Metrics, paired tests and ranks: is one method better than another?"""

# A star is no guess here (hence F403): each module's `__all__` says which names are
# public.
from adakern.evaluation import metrics, quantities, ranking, significance
from adakern.evaluation.metrics import *  # noqa: F403
from adakern.evaluation.quantities import *  # noqa: F403
from adakern.evaluation.ranking import *  # noqa: F403
from adakern.evaluation.significance import *  # noqa: F403

__all__ = [
    name
    for part in (metrics, quantities, ranking, significance)
    for name in part.__all__
]
