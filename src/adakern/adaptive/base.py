"""What the adaptive regressor and classifier share: parameters and the way of a fit."""

import time
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from adakern._utils.arrays import from_foreign
from adakern._utils.base import Estimator
from adakern._utils.threads import one_blas_thread
from adakern.adaptive.ensemble import Ensemble
from adakern.adaptive.equal_rows import EqualRows
from adakern.adaptive.fitting import Schedule, fit_members
from adakern.adaptive.folds import assign_folds, merge_repetitions
from adakern.adaptive.parts import Member, MemberTable, Table
from adakern.adaptive.plan import MEMBERS, Settings, default_members
from adakern.adaptive.table import TableReader, without_double_names

__all__ = ["AdaptiveKernel"]


class AdaptiveKernel(Estimator):
    """Parameters, fitting and prediction that both estimators share."""

    _parameter_constraints = {
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "max_support": [Interval(Integral, 1, None, closed="left")],
        "members": [StrOptions({"auto"}), "array-like"],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_folds=5,
        max_support=3000,
        members="auto",
        time_limit=None,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.n_folds = n_folds
        self.max_support = max_support
        self.members = members
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _member_names(self, n):
        if isinstance(self.members, str):
            return list(default_members(n))
        unknown = [name for name in self.members if name not in MEMBERS]
        if unknown or not len(self.members):
            raise ValueError(
                f"members={self.members!r}: use 'auto' or some of {', '.join(MEMBERS)}"
            )
        return list(dict.fromkeys(self.members))

    def _validated(self, X, *y, **options):
        """Rows X (n, d), and y (n,) when fitting, checked; tensors as NumPy arrays."""
        return validate_data(
            self,
            without_double_names(from_foreign(X)),
            *map(from_foreign, y),
            dtype=None,
            ensure_all_finite="allow-nan",
            reset=bool(y),
            **options,
        )

    def _fit(self, X, y, Y, counts, blend, *, stratum=None, class_weights=1.0):
        """Learn all members from rows X, as validated, and weigh them by ``blend``.

        Y (n, k) are the targets y (n,), or indicators of their classes. Returns the
        table, the place of each row in it, and for its rows what the blend predicts
        out of fold: as it was weighed, and by the models of the folds.
        """
        started = time.perf_counter()
        names = self._member_names(len(y))
        rng = check_random_state(self.random_state)
        weights = counts * class_weights
        if (weights < 0).any():
            raise ValueError("sample_weight holds negative weights")
        if not (weights > 0).any():
            raise ValueError("sample_weight is zero for every row")
        reader = TableReader().fit(X)
        read = reader.transform(X)
        rows, total, position, group = merge_repetitions(read, y, weights)
        n_folds = min(self.n_folds, group[-1] + 1)
        stratum = None if stratum is None else stratum[rows]
        fold = assign_folds(group, n_folds, rng, stratum)
        table = Table(read[rows], Y[rows], total * len(total) / total.sum(), fold)
        seeds = {name: rng.randint(2**31 - 1) for name in MEMBERS}
        settings = Settings(
            blend.classify, reader.is_categorical, self.max_support, seeds
        )
        limit = np.inf if self.time_limit is None else self.time_limit
        schedule = Schedule(
            names,
            isinstance(self.members, str),
            started,
            limit,
            self.n_jobs,
            self._tell,
        )
        with one_blas_thread(len(rows)):
            fitted, dropped = fit_members(table, settings, schedule, blend, rng)
        blend = blend.fit(fitted, table)
        left_out = blend.combine([m.fits.left_out for m in fitted], table.X)
        of_folds = blend.combine([m.fits.predicted for m in fitted], table.X)
        used = position >= 0
        self.equal_rows_ = EqualRows().fit(
            table.X,
            table.Y,
            np.bincount(position[used], counts[used]),
            group,
            left_out,
        )
        self.reader_ = reader
        self.ensemble_ = Ensemble.of(fitted, blend, self.equal_rows_, table, rng)
        self.members_ = _member_table(fitted, blend, dropped)
        self.weights_ = {member.name: member.weight for member in self.members_}
        return table, position, left_out, of_folds

    def _tell(self, message):
        if self.verbose:
            print(f"[{type(self).__name__}] {message}")

    def _read(self, X):
        """New rows X, checked, as numbers and codes of categories."""
        check_is_fitted(self)
        return self.reader_.transform(self._validated(X))

    @property
    def feature_importances_(self):
        """Share of each feature: how much worse its permutation makes predictions.

        Each feature in turn is permuted among up to 500 rows, which are predicted by
        the models that did not learn from them; the rise of the loss (squared error or
        log loss), not below zero, is divided by the sum over the features.
        """
        check_is_fitted(self)
        return self.ensemble_.importances()


def _member_table(fitted, blend, dropped):
    """The table of members: those that count most first, those dropped last."""
    members = MemberTable(
        Member(m.name, float(weight), float(score), m.seconds)
        for m, weight, score in zip(fitted, blend.weights, blend.scores, strict=True)
    )
    members.sort(key=lambda member: -member.weight)
    members.extend(dropped)
    return members
