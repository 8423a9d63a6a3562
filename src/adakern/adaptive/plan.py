"""Which members there are, in which order they are tried, what they cost."""

from functools import partial

from adakern.adaptive.kernel_members import FULL_FACTOR, KernelRidgeMember
from adakern.adaptive.leave_one_out import FEWEST_ROWS
from adakern.adaptive.other_members import BoostingMember, ForestMember, LinearMember

__all__ = ["MEMBERS", "default_members", "make_member", "seconds", "start_of_folds"]

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

#: Quasi-Newton evaluations for one scale and for scales per feature, and for those that
#: start from scales of the same member on all rows: of this many rows they are kept.
EVALUATIONS, EVALUATIONS_IN_FOLD = (10, 30), (4, 8)
ENOUGH_ROWS = 1000

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


def start_of_folds(name, n, d):
    """The member, fitted on all rows, from whose scales a member of a fold starts.

    Parameters
    ----------
    name : str
        Of the member.
    n : int
        Training rows.
    d : int
        Columns.

    Examples
    --------
    >>> from adakern.adaptive.plan import start_of_folds
    >>> start_of_folds("rbf-ard", n=1000, d=10), start_of_folds("rbf-ard", n=500, d=10)
    ('rbf-ard', 'rbf')
    """
    return name if n >= ROWS_PER_SCALE * d else name.removesuffix("-ard")


def make_member(
    name,
    *,
    classify,
    n,
    is_words,
    max_support,
    random_state,
    in_fold=False,
    start=None,
    start_name=None,
):
    """An unfitted member of that name.

    Parameters
    ----------
    name : str
        One of ``MEMBERS``.
    classify : bool
    n : int
        Rows of all folds.
    is_words : ndarray of bool, shape (d,)
    max_support : int
    random_state : int
    in_fold : bool, default=False
        Whether it is for the rows of a fold instead of all.
    start : pair of scales and ridge, default=None
        Where a kernel member starts its search.
    start_name : str, default=None
        The member that found them.
    """
    kernel = name.removesuffix("-ard")
    if kernel in KERNELS:
        per_feature = name.endswith("-ard")
        known = start is not None and start_name == name
        evaluations = EVALUATIONS_IN_FOLD if known else EVALUATIONS
        if known and n >= ENOUGH_ROWS:
            evaluations = 0, 0
        return KernelRidgeMember(
            kernel,
            start=start,
            per_feature=per_feature,
            max_iter=evaluations[per_feature],
            most_rows=MOST_ROWS_IN_FOLD if in_fold else MOST_ROWS,
            max_support=max_support,
            random_state=random_state,
        )
    others = {
        "linear": LinearMember,
        "forest": partial(ForestMember, extra=False, random_state=random_state),
        "extra-trees": partial(ForestMember, extra=True, random_state=random_state),
        "boosting": partial(
            BoostingMember, is_words=is_words, random_state=random_state
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
    per_feature = name.endswith("-ard")
    evaluations = EVALUATIONS[per_feature]
    if n < ENOUGH_ROWS:
        evaluations += n_folds * EVALUATIONS_IN_FOLD[per_feature]
    tuning, rows = 0.0, FEWEST_ROWS
    while rows <= MOST_ROWS:
        m = min(n, rows)
        tuning += evaluations * (1.2e-10 * m**3 + 6e-9 * m * m * (1 + d / 5))
        rows, evaluations = 2 * rows, 10 if n > rows else 0
    pair = 1e-9 * (5 + d)
    if n > FULL_FACTOR * max_support:
        product = 3e-11 * max_support * (n + n_folds * max_support)
        return tuning + max_support * (2 * n * pair + product)
    solves = (n_folds + 1) * n * n * (pair + 1.5e-11 * n)
    return 0.1 + tuning + solves
