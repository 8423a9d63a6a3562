"""Selection of the members to fit, and of those worth fitting in every fold.

Fitting takes most of the time, which is wasted on members that the blend leaves out.
These are identified on a subsample of the rows or, on small tables, by closed-form
leave-one-out predictions.
"""

from dataclasses import replace

import numpy as np

from adakern.adaptive.members import REGISTRY

#: Range of the number of rows for which members are selected in closed form. With fewer
#: rows, this is unreliable, and fitting all members takes only a second. The upper end
#: is a hundred rows per column, clipped to the second and third value: with fewer rows
#: per column, each fold searches for its own scales.
JUDGED_IN_CLOSED_FORM = 300, 2000, 5000

#: Numbers of rows on which a screening fits members, and on which it evaluates them.
LEARNERS, JUDGES = 8000, 4000

#: Number of centres of kernel members in a screening.
MAX_SUPPORT = 2000

#: Maximum relative increase in the loss of the blend from dropping candidates.
RISE = 0.002

#: Assumed maximum exponent of the decrease of the loss of trees with the number of
#: rows. (Extra trees on Friedman's first function, 8,000 to 80,000 rows: 0.18.)
TREES_GAIN = 0.25


def choose(wanted, shape, setting, rng):
    """Return unfitted members for a table: the named ones, or all that suit it."""
    members = [replace(member, setting=setting) for member in REGISTRY.values()]
    for member in members:
        if member.draws:
            member.random_state = rng.randint(2**31 - 1)
    members = [m for m in members if setting.classify or m.regresses]
    if isinstance(wanted, str):
        return [member for member in members if member.suits(shape)]
    names = [member.name for member in members]
    if not len(wanted) or any(name not in names for name in wanted):
        raise ValueError(
            f"members must be 'auto' or some of {', '.join(names)}, got {wanted!r}"
        )
    return [members[names.index(name)] for name in dict.fromkeys(wanted)]


def candidates_kept(loss_of, droppable):
    """Mask of the members to keep, the fewest that perform nearly as well as all.

    Those in ``droppable`` are dropped one after another, each time the one with the
    smallest effect, while the loss is at most 0.2 % above that of all members.
    ``loss_of`` maps a list of member indices to the loss of their blend on the
    evaluation rows.
    """
    everyone, droppable = range(len(droppable)), set(np.flatnonzero(droppable))
    kept = list(everyone)
    least = loss_of(kept)
    while droppable and len(kept) > 1:
        without = {i: loss_of([j for j in kept if j != i]) for i in droppable}
        least_useful = min(without, key=without.get)
        if without[least_useful] > (1 + RISE) * least:
            break
        kept.remove(least_useful)
        droppable.remove(least_useful)
    return np.isin(everyone, kept)


def trees_on_trial(loss_of, trees, n_rows):
    """Mask of those ``trees`` that alone may match the present blend on ``n_rows``.

    Trees gain more from additional rows than kernels with a few thousand centres.
    """
    reach = loss_of(range(len(trees))) * (n_rows / LEARNERS) ** TREES_GAIN
    return trees & np.array([loss_of([i]) <= reach for i in range(len(trees))])
