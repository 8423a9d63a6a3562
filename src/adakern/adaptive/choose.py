"""Which members are fitted, and which of them are worth fitting in every fold.

To fit all of them takes most of the time and is of no use for those that the blend then
leaves out. A part of the rows tells which these are, or of few rows the closed form of
what is predicted for each without it.
"""

from dataclasses import replace

import numpy as np

from adakern.adaptive.members import REGISTRY

#: From so many to so many rows the closed form judges: on fewer it is misled, and all
#: members take a second. The end is a hundred rows a column, below which folds search
#: for scales of their own, if that lies between the second and the third.
JUDGED_IN_CLOSED_FORM = 300, 2000, 5000

#: Rows that members learn from in a screening, and rows that they are judged on.
LEARNERS, JUDGES = 8000, 4000

#: Centres of kernel members in a screening.
MAX_SUPPORT = 2000

#: The blend of the candidates kept may have a loss this much above that of all, as a
#: part of it.
RISE = 0.002

#: A tree's loss falls at most with this power of the number of rows. (Friedman's first
#: function, 8,000 to 80,000 rows: the 0.18th, extra trees.)
TREES_GAIN = 0.25


def choose(wanted, shape, setting, rng):
    """Unfitted members for a table: those of these names, or all that suit it."""
    members = [
        replace(member, setting=setting, random_state=rng.randint(2**31 - 1))
        for member in REGISTRY.values()
    ]
    members = [m for m in members if setting.classify or m.regresses]
    if isinstance(wanted, str):
        return [member for member in members if member.suits(shape)]
    names = [member.name for member in members]
    if not len(wanted) or any(name not in names for name in wanted):
        raise ValueError(
            f"members={wanted!r}: use 'auto' or some of {', '.join(names)}"
        )
    return [members[names.index(name)] for name in dict.fromkeys(wanted)]


def candidates_kept(loss_of, may_go):
    """Which members are kept, boolean: as few as do nearly as well as all.

    Those that ``may_go`` are dropped one after another, always the one that is missed
    least, while the loss is at most 0.2 % above that of all. ``loss_of`` a list of
    members' numbers is the loss of their blend on the rows that judge.
    """
    everyone, may_go = range(len(may_go)), set(np.flatnonzero(may_go))
    kept = list(everyone)
    least = loss_of(kept)
    while may_go and len(kept) > 1:
        without = {i: loss_of([j for j in kept if j != i]) for i in may_go}
        missed_least = min(without, key=without.get)
        if without[missed_least] > (1 + RISE) * least:
            break
        kept.remove(missed_least)
        may_go.remove(missed_least)
    return np.isin(everyone, kept)


def trees_on_trial(loss_of, trees, n_rows):
    """Which of the ``trees`` may reach alone, with ``n_rows``, where the blend is now.

    Trees gain more from rows than kernels that stand on a few thousand centres.
    """
    reach = loss_of(range(len(trees))) * (n_rows / LEARNERS) ** TREES_GAIN
    return trees & np.array([loss_of([i]) <= reach for i in range(len(trees))])
