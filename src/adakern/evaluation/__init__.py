"""Metrics, paired tests and ranks: is one method better than another?"""

# The star imports (F403) are well-defined: `__all__` of each module lists its public
# names.
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
