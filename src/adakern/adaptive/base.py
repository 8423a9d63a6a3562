"""What the adaptive regressor and classifier share: parameters and the way of a fit."""

import time
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from adakern._utils.arrays import computing_where, from_foreign
from adakern._utils.base import Estimator
from adakern._utils.threads import one_blas_thread
from adakern.adaptive.ensemble import Learned
from adakern.adaptive.fitting import Schedule, fit_members
from adakern.adaptive.folds import make_table
from adakern.adaptive.plan import MEMBERS, Settings, default_members
from adakern.adaptive.table import TableReader, without_double_names

__all__ = ["AdaptiveKernel"]

#: Rows kept to measure the importance of features on.
PROBE_ROWS = 500


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

    #: Whether targets are numbers and not labels.
    _y_numeric = False

    def _row_weights(self, y, counts):
        """Weights of the rows as they are learned from."""
        return counts

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

    def _validated(self, X, *y):
        """Rows X (n, d), and y (n,) when fitting, checked; tensors as NumPy arrays."""
        return validate_data(
            self,
            without_double_names(from_foreign(X)),
            *map(from_foreign, y),
            dtype=None,
            ensure_all_finite="allow-nan",
            reset=bool(y),
            **({"y_numeric": self._y_numeric} if y else {}),
        )

    def fit(self, X, y, sample_weight=None):
        """Learn from a table.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Numbers, categories and missing values (None, NaN). On PyTorch tensors the
            kernel members compute in PyTorch, on their device; all else is NumPy's.
            Answers are of the kind of the rows that are asked about.
        y : array-like of shape (n,)
            Targets, or labels of two to some hundred classes.
        sample_weight : array-like of shape (n,), default=None
            A weight of 2 is a repeated row, a weight of 0 none.

        Returns
        -------
        self
        """
        learned = self.learn(X, y, sample_weight)
        blend = learned.weigh(learned.members)
        ensemble = learned.ensemble(learned.members, blend)
        self._set_out_of_fold(learned, blend)
        self.reader_, self.ensemble_ = learned.reader, ensemble
        self.equal_rows_ = ensemble.equal_rows
        self.members_ = learned.members_table(blend)
        self.weights_ = {member.name: member.weight for member in self.members_}
        return self

    def learn(self, X, y, sample_weight=None):
        """Fit all members, and return what was made as a value; ``fit`` starts here.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        Learned
        """
        started = time.perf_counter()
        self._validate_params()
        rows, y = self._validated(X, y)
        names = self._member_names(len(y))
        rng = check_random_state(self.random_state)
        counts = _check_sample_weight(from_foreign(sample_weight), rows, dtype=float)
        blend = self._unfitted_blend(y)
        weights = self._row_weights(y, counts)
        if (weights < 0).any():
            raise ValueError("sample_weight holds negative weights")
        if not (weights > 0).any():
            raise ValueError("sample_weight is zero for every row")
        reader = TableReader().fit(rows)
        table, position = make_table(
            reader.transform(rows), blend.encode(y), weights, counts, self.n_folds, rng
        )
        seeds = {name: rng.randint(2**31 - 1) for name in MEMBERS}
        settings = Settings(
            blend.classify, reader.is_categorical, self.max_support, seeds
        )
        limit = np.inf if self.time_limit is None else self.time_limit
        may_screen = isinstance(self.members, str)
        schedule = Schedule(names, may_screen, started, limit, self.n_jobs, self._tell)
        with computing_where(X), one_blas_thread(len(table.X)):
            members, dropped = fit_members(table, settings, schedule, blend, rng)
        probe = np.sort(rng.permutation(len(table.X))[:PROBE_ROWS])
        return Learned(
            reader, table, position, members, dropped, blend, table.take(probe)
        )

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
