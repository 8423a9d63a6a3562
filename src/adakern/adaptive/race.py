"""Which members go on to all rows of a large table: a race on some thousands of them.

To fit every member to all rows, in every fold, takes most of the time and is of no use
for those that the blend then leaves out. Some thousands of rows tell which these are.
"""

import numpy as np

from adakern.adaptive.parts import Table

__all__ = ["LEARNERS", "MAX_SUPPORT", "finalists", "race_table"]

#: Rows that members learn from in a race, and rows that judge them.
LEARNERS, JUDGES = 8000, 4000

#: Centres of kernel members in a race.
MAX_SUPPORT = 2000

#: The blend of those that go on may have a loss this much above that of all, as a part
#: of it.
RISE = 0.002

#: A tree's loss falls at most with this power of the number of rows. (Friedman's first
#: function, 8,000 to 80,000 rows: the 0.18th, extra trees.)
TREES_GAIN = 0.25


def race_table(table, rng):
    """The rows of a race; those that judge are fold 0, the others fold 1.

    Parameters
    ----------
    table : Table
        With folds, of which the first judges.
    rng : numpy.random.RandomState
        Draws the rows.

    Returns
    -------
    Table
    """
    first = table.fold == 0
    parts = [
        rng.permutation(np.flatnonzero(part))[:most]
        for part, most in ((~first, LEARNERS), (first, JUDGES))
    ]
    rows = np.sort(np.concatenate(parts))
    return Table(
        table.X[rows], table.Y[rows], table.weights[rows], (~first[rows]).astype(int)
    )


def finalists(loss_of, trees, n_rows):
    """Members that go on: as few as do nearly as well as all.

    They are taken away one after another, always the one that is missed least, while
    the loss is at most 0.2 % above that of all. Trees gain more from rows than kernels
    that stand on a few thousand centres, and come back if so many more rows could bring
    them alone to where the blend is now.

    Parameters
    ----------
    loss_of : callable
        Loss of the blend of the members of these numbers, on the rows that judge.
    trees : ndarray of bool, shape (m,)
        Which members are trees.
    n_rows : int
        Rows that are learned from after the race.

    Returns
    -------
    ndarray of bool, shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.adaptive.race import finalists
    >>> def loss_of(members):  # the first is best, and the others are of no help
    ...     return 1.0 if 0 in members else 1.5
    >>> trees = np.array([False, False, True])
    >>> finalists(loss_of, trees, n_rows=10_000)
    array([ True, False, False])
    >>> finalists(loss_of, trees, n_rows=100_000)
    array([ True, False,  True])
    """
    kept = list(range(len(trees)))
    least = loss_of(kept)
    while len(kept) > 1:
        without = {i: loss_of([j for j in kept if j != i]) for i in kept}
        missed_least = min(without, key=without.get)
        if without[missed_least] > (1 + RISE) * least:
            break
        kept.remove(missed_least)
    reach = least * (n_rows / LEARNERS) ** TREES_GAIN
    alone = np.array([loss_of([i]) for i in range(len(trees))])
    return np.isin(np.arange(len(trees)), kept) | (trees & (alone <= reach))
