"""Which members there are, in which order they are tried, what they cost."""

from typing import NamedTuple

import numpy as np

from adakern.adaptive.leave_one_out import EVALUATIONS, FEWEST_ROWS, Search
from adakern.adaptive.local_models import CELL_ROWS
from adakern.adaptive.members.base import ENOUGH_ROWS
from adakern.adaptive.members.kernel_ridge import FULL_FACTOR, KernelRidgeMember
from adakern.adaptive.members.linear import LinearMember
from adakern.adaptive.members.svm import MARGIN_ROWS, MarginMember
from adakern.adaptive.members.trees import FEW_ROWS as SMALL_ROWS
from adakern.adaptive.members.trees import BoostingMember, ForestMember

#: Names of all members, the most useful for their time first.
MEMBERS = (
    "linear",
    "laplacian",
    "forest",
    "laplacian-ard",
    "extra-trees",
    "rbf",
    "svm",
    "boosting",
    "l2-laplacian",
    "l2-laplacian-ard",
    "rbf-ard",
)

KERNELS = ("laplacian", "l2-laplacian", "rbf")

#: Beyond so many rows scales per feature are well determined and leave no use for one
#: scale, which has taken much of the time by then.
MANY_ROWS = 4000

#: Beyond so many columns a search for scales per feature follows noise for minutes, and
#: the distances of the L1 kernel, which are no matrix product, take most of the time.
MANY_COLUMNS = 500

#: From so many rows a column on, scales per feature leave no use for one scale in
#: regression, and those of all rows are where those of a fold start: what they know of
#: the rows left out is then little.
ROWS_PER_SCALE = 100

#: Quasi-Newton evaluations for scales per feature; and in a fold, for one scale and for
#: scales per feature, starting from scales of the same member on all rows.
EVALUATIONS_PER_FEATURE = 30
EVALUATIONS_IN_FOLD = (4, 8)

#: Rows of the search's last steps: in regression; in classification, which gains
#: nothing by more, and in a screening; in a fold.
MOST_ROWS, FEWER_ROWS, MOST_ROWS_IN_FOLD = 2000, 1000, 500

#: Where kernel ridge regressions stand on centres alone (beyond so many rows), and up
#: to so many, support vector machines stand on all rows if two classes have at most as
#: many.
PAIR_ROWS, MOST_OF_MARGIN = 9000, 25_000

#: Below so many rows boosting, which splits leaves of eight, has nothing to split.
FEW_ROWS = 100


def default_members(n, d=1, classify=False, preset="best", pair=np.inf):
    """Names of the members for a table of n rows and d columns; two classes have
    ``pair`` at most.

    The preset "fast" has those that made the most of a sixth of the time on the
    development sets: one scale is enough for classes, and not for numbers.
    """
    without = set()
    if d > MANY_COLUMNS:
        without.update(f"{kernel}-ard" for kernel in KERNELS)
        without.add("laplacian")
    many_a_column = n >= ROWS_PER_SCALE * d
    if d <= MANY_COLUMNS and (n > MANY_ROWS or (many_a_column and not classify)):
        without.update(KERNELS)
    by_pairs = pair <= PAIR_ROWS < n <= MOST_OF_MARGIN
    if not classify or (n > MARGIN_ROWS and not by_pairs):
        without.add("svm")
    if classify and not many_a_column:
        # A fifth of the time, and without it the loss on held-out rows is less.
        without.add("l2-laplacian-ard")
    if n < FEW_ROWS:
        without.add("boosting")
    if preset == "fast":
        without.update({"forest", "svm", "l2-laplacian", "l2-laplacian-ard"})
        tied = d > MANY_COLUMNS or (classify and n <= MANY_ROWS)
        without.update(("laplacian-ard", "rbf-ard") if tied else ("laplacian", "rbf"))
        without.add("boosting" if n <= MANY_ROWS else "extra-trees")
    return tuple(name for name in MEMBERS if name not in without)


def search_of(name, n, d, in_fold, most_rows=MOST_ROWS):
    """The search of a kernel member on n rows and d columns, or on those of a fold."""
    tied = name.removesuffix("-ard")
    per_feature = name != tied
    if in_fold and not (per_feature and n < ROWS_PER_SCALE * d):
        steps = 0 if n >= ENOUGH_ROWS else EVALUATIONS_IN_FOLD[per_feature]
        return Search(name, steps, MOST_ROWS_IN_FOLD)
    steps = EVALUATIONS_PER_FEATURE if per_feature else EVALUATIONS
    return Search(tied, steps, MOST_ROWS_IN_FOLD if in_fold else most_rows)


def quicker(search, n):
    """A search as the preset "fast" makes it: on a quarter of the rows, 250
    at least."""
    rows, steps = max(FEWEST_ROWS // 2, n // 4), EVALUATIONS_PER_FEATURE // 2
    return search._replace(
        max_iter=min(search.max_iter, steps),
        most_rows=min(search.most_rows, rows),
        fewest_rows=min(search.fewest_rows, rows),
    )


class Settings(NamedTuple):
    """What all members of a fit are made with; a seed for each name."""

    classify: bool
    fast: bool
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
        most_rows = FEWER_ROWS if classify else MOST_ROWS
        search = search_of(name, n, d, in_fold=False, most_rows=most_rows)
        if screening:  # without the dearest round
            search = Search(name, EVALUATIONS_PER_FEATURE, FEWER_ROWS)
        elif name in found:  # the round that the screening left out
            search = Search(name, EVALUATIONS, most_rows, fewest_rows=most_rows)
        elif settings.fast:
            search = quicker(search, n)
        fold_search = search_of(name, n, d, in_fold=True)
        return KernelRidgeMember(
            kernel,
            start=found.get(search.start),
            per_feature=name != kernel,
            search=search,
            fold_search=quicker(fold_search, n) if settings.fast else fold_search,
            max_support=settings.max_support,
            random_state=seed,
        )
    if name == "svm":
        names = {kernel: (kernel, f"{kernel}-ard") for kernel in KERNELS}
        starts = {
            k: found[n] for k, pair in names.items() for n in pair[::-1] if n in found
        }
        return MarginMember(starts, found.get("svm"), random_state=seed)
    if name == "linear":
        return LinearMember(classify)
    if name == "boosting":
        member = BoostingMember(classify, settings.is_categorical, seed)
    else:
        member = ForestMember(classify, name == "extra-trees", seed)
    member.rough = screening and not classify
    return member


def seconds(name, n, d, k, max_support, n_folds):
    """Roughly how long a member takes on one core, all folds together.

    Only ratios between members matter: what was measured corrects the rest. There are
    n rows, d columns and k targets.
    """
    if name == "linear":
        return n_folds * (0.002 + 2e-9 * n * d * min(n, d) * k)
    if name in ("forest", "extra-trees"):
        slower = 0.5 if name == "extra-trees" else 1.0
        return n_folds * (0.05 + slower * 8e-6 * n * d**0.7)
    if name == "boosting":
        least = 0.05 if n < SMALL_ROWS else 0.8  # eight hundred rounds of anything
        return n_folds * (0.05 + min(k, 15) * (least + 6e-6 * n * d**0.7))
    if name == "svm":
        return n_folds * (
            0.02 + (4e-7 * max(1, k / 2) if n <= MARGIN_ROWS else 5e-8) * n**2
        )
    m, steps = (
        min(n, MOST_ROWS),
        2 * EVALUATIONS if name.endswith("-ard") else EVALUATIONS,
    )
    tuning = steps * (5e-11 * m**3 + 6e-9 * m * m * (1 + d / 20))
    pair = 1e-9 * (5 + d)
    if n > FULL_FACTOR * max_support:
        product = 3e-11 * max_support * (n + n_folds * max_support)
        local = (n_folds + 1) * n * CELL_ROWS * (pair + 1.5e-11 * CELL_ROWS)
        return tuning + max_support * (2 * n * pair + product) + local
    solutions = (n_folds + 1) * n * n * (pair + 1.5e-11 * n)
    return 0.1 + tuning + solutions
