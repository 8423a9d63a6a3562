"""Base class of the adaptive estimators: parameters, and the steps of a fit."""

from abc import ABC, abstractmethod
from functools import partial
from numbers import Integral, Real
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _num_samples, check_is_fitted

from adakern._utils.arrays import device_context
from adakern._utils.base import parameters
from adakern._utils.resources import one_blas_thread, one_thread
from adakern._utils.warn import warn_user
from adakern.adaptive.blend import fit_blend, predict_left_out
from adakern.adaptive.choose import choose
from adakern.adaptive.explain import (
    Explanation,
    contributions,
    influential_rows,
)
from adakern.adaptive.fit_all import Limits, fit_all
from adakern.adaptive.given import (
    read_rows,
    refuse_several_folds,
    target_names,
    validated,
)
from adakern.adaptive.many_rows import in_memory
from adakern.adaptive.model import learned_rows, make_model, members_table, seen_in
from adakern.adaptive.prepare import prepare
from adakern.adaptive.shift import check_rows, shift_warning
from adakern.adaptive.summary import Summarised
from adakern.tables.account import AccountTable

#: Increased whenever a change of the defaults changes the fitted models.
DEFAULTS_VERSION = {"regressor": "12", "classifier": "13"}


@parameters
class AdaptiveKernel(Summarised, BaseEstimator, ABC):
    """Parameters, fitting and prediction shared by both estimators."""

    n_folds: int = 5
    max_support: int = 3000
    max_rows: int = 200_000
    members: Any = "auto"
    preset: str = "best"
    categorical_features: Any = None
    time_limit: float | None = None
    n_jobs: int | None = None
    verbose: int = 0
    random_state: Any = None

    _parameter_constraints = {
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "max_support": [Interval(Integral, 1, None, closed="left")],
        "max_rows": [Interval(Integral, 1, None, closed="left")],
        "members": [StrOptions({"auto"}), "array-like"],
        "preset": [StrOptions({"best", "fast"})],
        "categorical_features": ["array-like", None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    @abstractmethod
    def _unfitted_blend(self, y):
        """Return an unfitted blend, which defines encoding and loss of the targets."""

    @abstractmethod
    def _set_out_of_fold(self, problem, blend, predicted, from_folds):
        """Set the out-of-fold score, and the attributes for intervals or sets.

        ``predicted`` and ``from_folds`` are the two results of
        :func:`adakern.adaptive.blend.predict_left_out`. Return the predictions in units
        of the targets, and whether the interval or set of coverage 0.9 contains each
        target.
        """

    def _row_weights(self, y, counts):
        """Weights of the rows, by default their sample weights."""
        return counts

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def __sklearn_is_fitted__(self):
        return hasattr(self, "ensemble_")

    def fit(
        self,
        X,
        y,
        sample_weight=None,
        groups=None,
        X_val=None,
        y_val=None,
        time=None,
    ):
        """Fit the blend.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Training data: numbers, categories, dates, texts and missing values (None,
            NaN). For PyTorch tensors, kernel members are computed in PyTorch on the
            device of X, everything else in NumPy; predictions are of the type of the
            rows predicted. Memory maps and Dask arrays or data frames may be larger
            than memory.
        y : array-like of shape (n,) or (n, n_targets)
            Targets, or labels of two to some hundred classes. With several targets,
            which must be numeric, values may be missing (NaN).
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights of the rows; only ratios matter.
        groups : array-like of shape (n,), default=None
            Group labels, such as patients; rows of a group are kept in one fold. Use
            them when predictions are for unseen groups.
        X_val, y_val : array-like, default=None
            Validation rows. If given, they replace cross-validation: no member is
            fitted to them, the weights of the members are found on them, and
            ``oof_prediction_`` refers to them.
        time : array-like of shape (n,), default=None
            Times of observation of the rows, as numbers or dates. Use them when
            predictions are for later rows. The last three fifths of the rows are
            predicted, block by block, by models fitted to all earlier rows, which gives
            the weights and intervals (``oof_prediction_`` is NaN for the first two
            fifths); then all members are refitted on all rows. Intervals are calibrated
            for horizons of up to about the length of a block, and cover less beyond it.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        started = perf_counter()
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)  # do not mix attributes of two fits if interrupted
        self._validate_params()
        refuse_several_folds(groups=groups, time=time, X_val=X_val)
        rng = check_random_state(self.random_state)
        seconds = np.inf if self.time_limit is None else self.time_limit
        print_message = partial(print, f"[{type(self).__name__}]", flush=True)
        tell = print_message if self.verbose else str
        given = sample_weight, groups, X_val, y_val, time
        problem = prepare(self, X, y, *given, rng=rng, deadline=started + seconds)
        if not is_classifier(self):
            self.targets_ = target_names(y)
        members = choose(self.members, problem.shape, problem.setting, rng)
        may_drop = isinstance(self.members, str)
        limits = Limits(started, seconds, self.n_jobs, may_drop, tell)
        with device_context(X), one_blas_thread(len(problem.table.X)):
            fitted, dropped = fit_all(problem, members, limits, rng)
        blend = fit_blend(problem, fitted)
        model = make_model(problem, fitted, blend, rng)
        model.rows = learned_rows(problem, X)
        model.seen = seen_in(problem)
        left_out = predict_left_out(problem, fitted, blend)
        results = self._set_out_of_fold(problem, blend, *left_out)
        used = problem.position >= 0
        for name, values in zip(("prediction", "covered"), results, strict=True):
            of_rows = np.full((len(used), *values.shape[1:]), np.nan)
            of_rows[used] = values[problem.position[used]]
            setattr(self, f"oof_{name}_", of_rows)
        self.members_ = members_table(fitted, blend, dropped)
        self.weights_ = {member.name: member.weight for member in self.members_}
        kind = "classifier" if is_classifier(self) else "regressor"
        self.record_ = {"defaults_version": DEFAULTS_VERSION[kind]}
        self.reader_ = problem.reader
        self.equal_rows_ = model.equal_rows
        self.ensemble_ = model
        if self.verbose:
            tell(f"out-of-fold score {self.oof_score_:.4f}\n{self.members_}")
        return self

    def _predicted(self, X):
        """Return rows X as numbers and category codes, and the blend's predictions."""
        check_is_fitted(self)
        read = read_rows(self, self.reader_, X)
        if message := shift_warning(self.ensemble_.seen, self.reader_, read):
            warn_user(message)
        with device_context(X):
            return read, self.ensemble_.predict(read)

    def explain(self, X, *, n_background=100, n_rows=5):
        """Explain predictions by columns (Shapley values) and by training rows.

        The Shapley value of a column is the mean change in the prediction when the
        column takes its value from the explained row instead of a background row, over
        orders of the columns. With up to six columns, all orders are used; with more,
        each background row has a fixed random order and its reverse. Explaining a row
        then takes ``2 * n_background`` predictions per column. For classifiers,
        probabilities are explained.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        n_background : int, default=100
            Number of background rows, drawn from the up to 500 training rows stored in
            the model; contributions are relative to their mean prediction.
        n_rows : int, default=5
            Number of most influential training rows to return for each row. To find
            them, each kernel member solves a linear system of the size of the training
            data.

        Returns
        -------
        Explanation
            ``values`` of shape (n, d), (n, d, n_classes) or (n, d, n_targets) and
            ``base`` sum to ``predicted``; ``rows`` and ``row_weights`` are the
            influential training rows. ``plot()`` shows all rows, ``plot(0)`` the first.
        """
        check_is_fitted(self)
        X = in_memory(X)
        if _num_samples(X) == 0:
            raise ValueError("X has no rows to explain")
        for name, value, least in (
            ("n_background", n_background, 1),
            ("n_rows", n_rows, 0),
        ):
            if not isinstance(value, Integral) or value < least:
                raise ValueError(f"{name} must be an integer >= {least}, got {value!r}")
        data = validated(self, X)
        read = self.reader_.transform(data)
        reader = self.reader_
        model = self.ensemble_
        with one_thread("blas"):  # steps are many and small
            values, base = contributions(model, read, reader.source_, n_background)
        predicted = model.predict(read)
        classes = getattr(self, "classes_", None)
        if not model.blend.classify:
            unit = model.blend.unit
            values, base = unit * values, unit * base
            if len(base) == 1:
                values, base = values[:, :, 0], float(base[0])
            predicted = model.blend.decode(predicted)
        names = [column.name for column in reader.columns_]
        influential = influential_rows(model, read, n_rows)
        targets = getattr(self, "targets_", ())
        targets = targets if len(targets) > 1 else None
        return Explanation(
            values, base, predicted, data, names, classes, *influential, targets
        )

    def check(self, X):
        """Check new rows for distribution shift, column by column.

        Each column is tested for more out-of-range values, missing values and new
        categories than expected by chance, and by a two-sample test against up to 500
        training rows (Kolmogorov-Smirnov for numbers and dates, chi-squared for
        categories). P-values are corrected for multiple testing by Holm's method.
        Prediction methods warn of missing values and new categories, and of
        out-of-range values except in dates and texts, if p < 0.01.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)

        Returns
        -------
        ShiftReport
            Prints as a table; ``shifted`` lists the columns that differ.
        """
        check_is_fitted(self)
        read = read_rows(self, self.reader_, in_memory(X))
        return check_rows(self.ensemble_.seen, self.reader_, read)

    @property
    def columns_(self):
        """Type and treatment of each column of the training data; prints as a table."""
        check_is_fitted(self)
        return AccountTable(column.account() for column in self.reader_.columns_)

    @property
    def feature_importances_(self):
        """Permutation importances on left-out rows, normalised to sum to one.

        Each feature is permuted among up to 500 rows, which are predicted by models not
        fitted to them. The importance is the increase in loss (squared error or log
        loss), clipped at zero.
        """
        check_is_fitted(self)
        return self.ensemble_.importances(self.reader_.source_)


def check_levels(name, value):
    """Raise ValueError unless all levels are between 0 and 1."""
    levels = np.asarray(value, dtype=object)
    between = all(isinstance(level, Real) and 0 < level < 1 for level in levels.flat)
    if levels.ndim > (name == "quantiles") or not between:
        expected = "numbers" if name == "quantiles" else "a number"
        raise ValueError(f"{name} must be {expected} between 0 and 1, got {value!r}")
