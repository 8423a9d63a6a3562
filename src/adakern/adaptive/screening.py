"""Which members are fitted to all rows of a large table: a screening on a subsample.

To fit every member to all rows, in every fold, takes most of the time and is of no use
for those that the blend then leaves out. Some thousands of rows tell which these are.
"""

import numpy as np

#: On more rows than this members are screened.
SCREENED_ROWS = 8000

#: Rows that members learn from in a screening, and rows that they are judged on.
LEARNERS, JUDGES = 3000, 3000

#: Centres of kernel members in a screening.
MAX_SUPPORT = 1000

#: The blend of the candidates kept may have a loss this much above that of all, as a
#: part of it.
RISE = 0.002

#: A tree's loss falls at most with this power of the number of rows. (Friedman's first
#: function, 8,000 to 80,000 rows: the 0.18th, extra trees.)
TREES_GAIN = 0.25


def subsample(table, rng):
    """Rows of a screening: fold 0 judges, the others (fold -1) are learned from."""
    first = table.fold == 0
    parts = [
        rng.permutation(np.flatnonzero(part))[:most]
        for part, most in ((~first, LEARNERS), (first, JUDGES))
    ]
    part = table.take(np.sort(np.concatenate(parts)))
    part.fold = np.where(part.fold == 0, 0, -1)
    return part


def candidates_kept(loss_of, trees, n_rows):
    """Which members are kept, and which trees may yet reach them, both boolean.

    Members are dropped one after another, always the one that is missed least, while
    the loss is at most 0.2 % above that of all. ``loss_of`` a list of members' numbers
    is the loss of their blend on the rows that judge. Trees gain more from rows than
    kernels that stand on a few thousand centres; those (``trees``) may come back that
    ``n_rows`` rows could bring alone to where the blend is now.
    """
    kept = list(range(len(trees)))
    least = loss_of(kept)
    while len(kept) > 1:
        without = {i: loss_of([j for j in kept if j != i]) for i in kept}
        missed_least = min(without, key=without.get)
        if without[missed_least] > (1 + RISE) * least:
            break
        kept.remove(missed_least)
    kept = np.isin(np.arange(len(trees)), kept)
    reach = least * (n_rows / LEARNERS) ** TREES_GAIN
    alone = np.array([loss_of([i]) for i in range(len(trees))])
    return kept, trees & ~kept & (alone <= reach)
