"""Which members there are, in which order they are tried, what they cost."""

from functools import partial
from typing import NamedTuple

import numpy as np

from adakern.adaptive.kernel_members import FULL_FACTOR, KernelRidgeMember
from adakern.adaptive.leave_one_out import (
    EVALUATIONS,
    FEWEST_ROWS,
    rows_of_search,
)
from adakern.adaptive.other_members import BoostingMember, ForestMember, LinearMember
from adakern.adaptive.parts import ENOUGH_ROWS

__all__ = [
    "MEMBERS",
    "Search",
    "Settings",
    "default_members",
    "make_member",
    "search_of",
    "seconds",
]

#: Names of all members, the most useful for their time first.
MEMBERS = (
    "linear",
    "laplacian",
    "forest",
    "laplacian-ard",
    "extra-trees",
    "rbf",
    "boosting",
    "l2-laplacian-ard",
    "l2-laplacian",
    "rbf-ard",
)

KERNELS = ("laplacian", "l2-laplacian", "rbf")

#: Beyond so many rows scales per feature are well determined and leave no use for one
#: scale, which has taken much of the time by then.
MANY_ROWS = 4000

#: From so many rows a column on, scales per feature of all rows are where those of a
#: fold start: what they know of the rows left out is then little.
ROWS_PER_SCALE = 100

#: Quasi-Newton evaluations for scales per feature; and in a fold, for one scale and for
#: scales per feature, starting from scales of the same member on all rows.
EVALUATIONS_PER_FEATURE = 30
EVALUATIONS_IN_FOLD = (4, 8)

#: Rows of the search's last steps, on all rows and in a fold.
MOST_ROWS, MOST_ROWS_IN_FOLD = 2000, 1000

#: Below so many rows boosting, which splits leaves of eight, has nothing to split.
FEW_ROWS = 100


def default_members(n):
    """Names of the members for a table of n rows.

    Parameters
    ----------
    n : int
        Training rows.

    Examples
    --------
    >>> from adakern.adaptive.plan import default_members
    >>> "boosting" in default_members(50)
    False
    """
    without = KERNELS if n > MANY_ROWS else ("boosting",) if n < FEW_ROWS else ()
    return tuple(name for name in MEMBERS if name not in without)


class Search(NamedTuple):
    """How a kernel member looks for its scales.

    Attributes
    ----------
    start : str
        The member whose scales on all rows it starts from, if there are any.
    max_iter : int
        Quasi-Newton evaluations on the first rows; 0 takes the start as it is.
    most_rows : int
        Rows of the last steps.
    fewest_rows : int
        Rows of the first steps.
    """

    start: str
    max_iter: int
    most_rows: int
    fewest_rows: int = FEWEST_ROWS


def search_of(name, n, d, in_fold):
    """The search of a kernel member.

    Parameters
    ----------
    name : str
        Of the member.
    n, d : int
        Rows of all folds and columns.
    in_fold : bool
        Whether it is for the rows of a fold instead of all.

    Examples
    --------
    >>> from adakern.adaptive.plan import search_of
    >>> search_of("rbf-ard", n=1000, d=10, in_fold=False)
    Search(start='rbf', max_iter=30, most_rows=2000, fewest_rows=500)
    >>> search_of("rbf-ard", n=1000, d=10, in_fold=True)
    Search(start='rbf-ard', max_iter=0, most_rows=1000, fewest_rows=500)
    """
    tied = name.removesuffix("-ard")
    per_feature = name != tied
    if in_fold and not (per_feature and n < ROWS_PER_SCALE * d):
        steps = 0 if n >= ENOUGH_ROWS else EVALUATIONS_IN_FOLD[per_feature]
        return Search(name, steps, MOST_ROWS_IN_FOLD)
    steps = EVALUATIONS_PER_FEATURE if per_feature else EVALUATIONS
    return Search(tied, steps, MOST_ROWS_IN_FOLD if in_fold else MOST_ROWS)


def screening_search(name):
    """The search of a kernel member in a screening, without the dearest round."""
    return Search(name, EVALUATIONS_PER_FEATURE, MOST_ROWS_IN_FOLD)


def search_after_screening(name):
    """The round that a screening left out."""
    return Search(name, EVALUATIONS, MOST_ROWS, fewest_rows=MOST_ROWS)


class Settings(NamedTuple):
    """What all members of a fit are made with; a seed for each name."""

    classify: bool
    is_categorical: np.ndarray
    max_support: int
    seeds: dict


def make_member(name, settings, n, d, found, *, screening=False):
    """An unfitted member for n rows and d columns.

    ``found`` holds, by name, what searches of other members on all rows found, or one
    of its own in a screening.
    """
    classify, seed = settings.classify, settings.seeds[name]
    kernel = name.removesuffix("-ard")
    if kernel in KERNELS:
        search = search_of(name, n, d, in_fold=False)
        if screening:
            search = screening_search(name)
        elif name in found:
            search = search_after_screening(name)
        return KernelRidgeMember(
            kernel,
            start=found.get(search.start),
            per_feature=name != kernel,
            max_iter=search.max_iter,
            most_rows=search.most_rows,
            fewest_rows=search.fewest_rows,
            fold_search=search_of(name, n, d, in_fold=True),
            max_support=settings.max_support,
            random_state=seed,
        )
    others = {
        "linear": LinearMember,
        "forest": partial(ForestMember, extra=False, random_state=seed),
        "extra-trees": partial(ForestMember, extra=True, random_state=seed),
        "boosting": partial(
            BoostingMember, is_categorical=settings.is_categorical, random_state=seed
        ),
    }
    return others[name](classify)


def seconds(name, n, d, k, max_support, n_folds):
    """Roughly how long a member takes on one core, all folds together.

    Only ratios between members matter: what was measured corrects the rest.

    Parameters
    ----------
    name : str
    n, d, k : int
        Rows, columns and targets.
    max_support, n_folds : int
    """
    if name == "linear":
        return n_folds * (0.002 + 2e-9 * n * d * min(n, d) * k)
    if name in ("forest", "extra-trees"):
        slower = 0.5 if name == "extra-trees" else 1.0
        return n_folds * (0.1 + slower * 1.5e-5 * n * d**0.7)
    if name == "boosting":
        return n_folds * (0.1 + min(k, 15) * (0.1 + 3e-6 * n * d**0.7))
    tuning = _seconds_of_search(name, n, d, in_fold=False)
    tuning += n_folds * _seconds_of_search(name, n, d, in_fold=True)
    pair = 1e-9 * (5 + d)
    if n > FULL_FACTOR * max_support:
        product = 3e-11 * max_support * (n + n_folds * max_support)
        return tuning + max_support * (2 * n * pair + product)
    solves = (n_folds + 1) * n * n * (pair + 1.5e-11 * n)
    return 0.1 + tuning + solves


def _seconds_of_search(name, n, d, in_fold):
    search, per_feature = search_of(name, n, d, in_fold), name.endswith("-ard")
    if not search.max_iter:
        return 0.0
    total, steps = 0.0, search.max_iter
    for m in rows_of_search(n, d, per_feature, search.most_rows):
        total += steps * (1.2e-10 * m**3 + 6e-9 * m * m * (1 + d / 5))
        steps = EVALUATIONS
    return total
