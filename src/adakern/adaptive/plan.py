"""Which members there are, in which order they are tried, what they cost."""

from functools import partial

from adakern.adaptive.kernel_members import FULL_FACTOR, KernelRidgeMember
from adakern.adaptive.other_members import BoostingMember, ForestMember, LinearMember

__all__ = ["MEMBERS", "default_members", "make_member", "seconds"]

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


#: Below so many rows boosting, which splits leaves of eight, has nothing to split.
FEW_ROWS = 100


def default_members(n):
    """Names of the members for a table of n rows.

    Examples
    --------
    >>> from adakern.adaptive.plan import default_members
    >>> "boosting" in default_members(50)
    False
    """
    without = KERNELS if n > MANY_ROWS else ("boosting",) if n < FEW_ROWS else ()
    return tuple(name for name in MEMBERS if name not in without)


def make_member(name, *, classify, is_words, max_support, random_state, fitted=()):
    """An unfitted member of that name.

    Parameters
    ----------
    name : str
        One of ``MEMBERS``.
    classify : bool
    is_words : ndarray of bool, shape (d,)
    max_support : int
    random_state : int
    fitted : mapping from str to member, default=()
        What was fitted on the same rows before: a member with scales per feature
        starts from that with one scale for all.
    """
    kernel = name.removesuffix("-ard")
    if kernel in KERNELS:
        before = dict(fitted).get(kernel)
        start = None
        if isinstance(before, KernelRidgeMember):
            start = before.scales_, before.alpha_
        return KernelRidgeMember(
            kernel,
            start=start,
            per_feature=name.endswith("-ard"),
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


def seconds(name, n, d, k, max_support):
    """Roughly how long one fold of a member takes on one core.

    Only ratios between members matter: what was measured corrects the rest.

    Parameters
    ----------
    name : str
    n, d, k : int
        Rows, columns and targets.
    max_support : int
    """
    if name == "linear":
        return 0.002 + 2e-9 * n * d * min(n, d) * k
    if name in ("forest", "extra-trees"):
        slower = 0.5 if name == "extra-trees" else 1.0
        return 0.1 + slower * 1.5e-5 * n * d**0.7
    if name == "boosting":
        return 0.1 + min(k, 15) * (0.1 + 3e-6 * n * d**0.7)
    m = n if n <= FULL_FACTOR * max_support else max_support
    tuned = min(n, min(max(500, n // 4), 1000))
    steps = 30 if name.endswith("-ard") else 10
    tuning = 0.15 + steps * (2.5e-10 * tuned**3 + 2e-9 * tuned**2 * d)
    pairs = 1e-8 * n * m * (1 + d / 10)
    return tuning + pairs + 1e-10 * m * m * n + 1e-10 * m**3 / 3
