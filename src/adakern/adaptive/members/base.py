"""Base class of the members of the blend, and their information about a table."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from adakern.adaptive.table import same_as_next
from adakern.adaptive.tree_predictions import FEW_ROWS_PREDICTED
from adakern.adaptive.views import KernelView
from adakern.kernels import prepare_centres

#: Number of rows from which on four fifths of the rows predict nearly as well as all,
#: so that members are weighted by their predictions for whole folds.
ENOUGH_ROWS = 1000

#: Above this number of rows, scales per feature are well determined, so that members
#: with a single scale are not worth their time, and boosting is worth its time.
MANY_ROWS = 4000

#: Number of rows per column from which on the search for scales per feature in a fold
#: starts from those of all rows, which then contain little information about single
#: rows.
ROWS_PER_SCALE = 100

#: Below this number of rows, scales per feature maximise the evidence instead of
#: minimising the leave-one-out error, and neither boosting nor support vector machines
#: are used.
FEW_ROWS = 300

#: Up to this multiple of ``max_support``, all rows are centres of the kernel members,
#: which takes no longer.
FULL_FACTOR = 3

#: Centres of fitted members, and cached terms of their Gram matrices. They are not
#: stored as attributes, which would be written to model files.
_PREPARED = WeakKeyDictionary()


class Shape(NamedTuple):
    """Numbers of rows, columns, targets (or classes) and folds of a table.

    ``pair`` is the number of rows of the two largest classes together.
    """

    n: int
    d: int = 1
    k: int = 1
    n_folds: int = 5
    pair: float = np.inf


class Setting(NamedTuple):
    """Settings of a fit; ``screening`` reduces the effort, to compare members.

    ``is_categorical`` (d,) marks the columns with category codes.
    """

    classify: bool = False
    fast: bool = False
    max_support: int = 3000
    is_categorical: np.ndarray | None = None
    screening: bool = False


DEFAULTS = Setting()


@dataclass(kw_only=True, eq=False)
class Member:
    """Base class of members: which tables they suit, their cost, and how to fit them.

    Each member is an object in ``MEMBERS`` of its module, copies of which are fitted. A
    member must define

    - ``suits(shape)``: whether to fit it to tables of that :class:`Shape` by default,
    - ``seconds(shape)``: its approximate time on one core for all folds, of which only
      the ratio to other members matters,
    - ``fit(X, Y, weights)``: fit to rows (n, d), targets or class indicators (n, k) and
      positive weights (n,), and return self,
    - ``predict(X)``: predicted values (n, k), which for classes are scores or log
      probabilities.

    Optional attributes and methods are listed below.

    Attributes
    ----------
    name : str
    rank : float
        Members are fitted in this order, the most useful for their time first.
    setting : Setting
    random_state : int
    """

    name: str = ""
    rank: float = np.inf
    setting: Setting = DEFAULTS
    random_state: int | None = None

    #: View of the rows to which it is fitted: scaled and without missing values, or
    #: :class:`TreeView`, with categories as ranks.
    view: ClassVar[type] = KernelView

    #: Whether it supports regression, in addition to classification.
    regresses = True

    #: Whether a random state is drawn for it. Drawing none for a new member keeps those
    #: of the others, and hence their models, as they are.
    draws = True

    #: Whether it is refitted to all rows, instead of predicting by the mean over folds.
    refit = False

    #: Prior slope of its calibration; 1 for log probabilities.
    slope = 1.0

    #: Pairs of keys and results of its search, from which other members may start.
    searches: ClassVar[Any] = ()

    #: Whether a screening fits it after the others, to start from their results.
    waits = False

    #: Method that takes a table, transformed by the member's view, and the results of
    #: other members' searches by key, and returns the member to be fitted. None if
    #: there is nothing to set up.
    set_up: ClassVar[Callable | None] = None

    #: Method that takes the member fitted to all rows (None if it is not), and returns
    #: the member to be fitted without each fold. None if the latter does not depend on
    #: the former.
    in_fold: ClassVar[Callable | None] = None

    #: Method that takes rows, targets and weights, and returns leave-one-out
    #: predictions (n, k). None if these have no closed form.
    predict_left_out: ClassVar[Callable | None] = None

    #: Method that takes a table, and returns the members fitted without each fold,
    #: followed by that fitted to all rows. None if they are fitted separately.
    fit_folds: ClassVar[Callable | None] = None

    #: Method that takes the normal equations, summed over rows, and returns the member
    #: with their solution as coefficients. None if it is not determined by such sums.
    with_sums: ClassVar[Callable | None] = None

    def predict_each(self, models, X):
        """Predict the rows X by each of several fitted copies."""
        return [model.predict(X) for model in models]


class MeanOfCopies(Member):
    """Mean of several copies of a member with different random states."""

    refit = True

    def __init__(self, like, n_copies):
        super().__init__(name=like.name, rank=like.rank, setting=like.setting)
        self.slope = like.slope
        seeds = range(like.random_state, like.random_state + n_copies)
        self.copies_ = [replace(like, random_state=seed) for seed in seeds]

    @property
    def view(self):
        """View of the copies; a property, since model files cannot contain classes."""
        return self.copies_[0].view

    def fit(self, X, Y, weights):
        self.copies_ = [copy(member).fit(X, Y, weights) for member in self.copies_]
        return self

    def predict(self, X):
        return np.mean([member.predict(X) for member in self.copies_], axis=0)


def prepared_centres(member, X, centres, kernel):
    """Return the terms of Gram matrices that depend on a member's centres only, cached.

    Return None for many rows, for which these terms take a small part of the time, and
    for the Laplacian kernel, which has none.
    """
    if kernel == "laplacian" or len(X) > FEW_ROWS_PREDICTED:
        return None
    known, prepared = _PREPARED.get(member, (None, None))
    if known is not centres:
        prepared = prepare_centres(centres, kernel, 1.0)
        _PREPARED[member] = centres, prepared
    return prepared


class ConstantMember(Member):
    """Prediction by the mean target, used if there is nothing to learn from."""

    def fit(self, X, Y, weights):
        self.mean_ = np.average(Y, axis=0, weights=weights)
        return self

    def predict(self, X):
        return np.tile(self.mean_, (len(X), 1))


def copy_or_constant(member, X, Y):
    """Copy the member, or return a constant one if there is nothing to learn from."""
    constant = same_as_next(X).all() or same_as_next(Y).all()
    return ConstantMember() if constant else copy(member)


def log_proba(probabilities, models, n_classes, n_votes=None):
    """Log probabilities (m, n, k) of all classes by each model, at least log(1e-6).

    A model may not have seen all classes. Probabilities that are shares of ``n_votes``
    votes, a number for each model, are shrunk slightly to 1/2.
    """
    every = np.zeros((len(models), len(probabilities[0]), n_classes))
    for values, model, proba in zip(every, models, probabilities, strict=True):
        values[:, model.classes_] = proba
    if n_votes:
        n_votes = np.reshape(n_votes, (-1, 1, 1))
        every = (every * n_votes + 0.5) / (n_votes + 1)
    return np.log(np.maximum(every, 1e-6))
