"""What a member of the blend is, and what it is told about a table."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from adakern.adaptive.views import KernelView

#: From so many rows on four fifths of the rows predict nearly as well as all, and
#: members are weighed by what they predict without a whole fold.
ENOUGH_ROWS = 1000

#: Beyond so many rows scales per feature are well determined and leave no use for one
#: scale, which has taken much of the time by then; and boosting is worth its time.
MANY_ROWS = 4000

#: From so many rows a column on, scales per feature of all rows are where those of a
#: fold start: what they know of the rows left out is then little.
ROWS_PER_SCALE = 100

#: Below so many rows scales per feature have the greatest evidence, not the least
#: leave-one-out error, and boosting is of no use.
FEW_ROWS = 300

#: Up to so many times ``max_support`` all rows are centres of the kernel members: it
#: takes no longer.
FULL_FACTOR = 3


class Shape(NamedTuple):
    """Rows, columns and targets (or classes) of a table, and its folds.

    ``pair`` is the number of rows of the two largest classes.
    """

    n: int
    d: int = 1
    k: int = 1
    n_folds: int = 5
    pair: float = np.inf


class Setting(NamedTuple):
    """What a fit is to be like; ``screening`` asks for less of it, to compare members.

    ``is_categorical`` (d,) are the columns of a table that hold codes of categories.
    """

    classify: bool = False
    fast: bool = False
    max_support: int = 3000
    is_categorical: np.ndarray | None = None
    screening: bool = False


DEFAULTS = Setting()


@dataclass(kw_only=True, eq=False)
class Member:
    """A member: when it is fitted, what it costs and how it learns.

    Each is described by an object in ``MEMBERS`` of its module; copies of it are
    fitted. A member has to have ``suits(shape)``, whether it is fitted to tables of
    that :class:`Shape` unless the user names others; ``seconds(shape)``, about how long
    it takes on one core, all folds together, of which only the ratio to other members
    matters; ``fit(X, Y, weights)``, which learns from rows (n, d), targets or
    indicators of classes (n, k) and positive weights (n,), and returns itself; and
    ``predict(X)``, values (n, k): of classes, scores or logarithms of probabilities.
    What else a member may have is listed here.

    Attributes
    ----------
    name : str
    rank : float
        Members are tried in this order, the most useful for their time first.
    setting : Setting
    random_state : int
    """

    name: str = ""
    rank: float = np.inf
    setting: Setting = DEFAULTS
    random_state: int | None = None

    #: The view of the rows that it learns from: scaled and without missing values, or
    #: :class:`TreeView`, with categories as ranks.
    view: ClassVar[type] = KernelView

    #: Whether it can predict numbers, not classes alone.
    regresses = True

    #: Whether it predicts refitted to all rows instead of by the mean over folds.
    refit = False

    #: Where the slope of its calibration starts; 1 for logarithms of probabilities.
    slope = 1.0

    #: Pairs of a key and of what its search found, from where others may start.
    found: ClassVar[Any] = ()

    #: Whether a screening fits it after the others, to start at what they found.
    waits = False

    #: Method of a table, as the member sees it, and what others found, by key; returns
    #: the member to be fitted. None where nothing is to be decided.
    set_up: ClassVar[Callable | None] = None

    #: Method of itself fitted to all rows (None if it is not); returns the member to be
    #: fitted without each fold. None where that learns nothing from the other.
    in_fold: ClassVar[Callable | None] = None

    #: Method of rows, targets and weights; returns values (n, k) as if all rows but
    #: each were known. None where these have no closed form.
    predict_left_out: ClassVar[Callable | None] = None

    #: Method of a table; returns the members without each fold, then that of all rows.
    #: None where each is fitted alone.
    fit_folds: ClassVar[Callable | None] = None

    #: Method of the sums of normal equations over rows; returns itself with the
    #: coefficients of these. None where sums do not suffice.
    with_sums: ClassVar[Callable | None] = None

    def predict_each(self, models, X):
        """What each of several fitted copies of it predicts for the rows X."""
        return [model.predict(X) for model in models]


class MeanOfCopies(Member):
    """The mean of several copies of a member that draw other random numbers."""

    refit = True

    def __init__(self, like, n_copies):
        super().__init__(name=like.name, rank=like.rank, setting=like.setting)
        self.slope = like.slope
        seeds = range(like.random_state, like.random_state + n_copies)
        self.copies_ = [replace(like, random_state=seed) for seed in seeds]

    @property
    def view(self):
        """That of the copies; a class is nothing that a model file may hold."""
        return self.copies_[0].view

    def fit(self, X, Y, weights):
        self.copies_ = [copy(member).fit(X, Y, weights) for member in self.copies_]
        return self

    def predict(self, X):
        return np.mean([member.predict(X) for member in self.copies_], axis=0)


class ConstantMember(Member):
    """The mean target, where there is nothing to learn from."""

    def fit(self, X, Y, weights):
        self.mean_ = np.average(Y, axis=0, weights=weights)
        return self

    def predict(self, X):
        return np.tile(self.mean_, (len(X), 1))


def log_proba(proba, classes, n_classes, n_votes=None):
    """Logarithms of probabilities of some classes, of those never seen the least.

    Those of ``n_votes`` votes are drawn a little to one half.
    """
    every = np.zeros((len(proba), n_classes))
    every[:, classes] = proba
    if n_votes:
        every = (every * n_votes + 0.5) / (n_votes + 1)
    return np.log(np.maximum(every, 1e-6))
