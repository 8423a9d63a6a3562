"""What the adaptive regressor and classifier share: parameters and the way of a fit."""

import time
from abc import ABC, abstractmethod
from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import (
    check_array,
    check_consistent_length,
    check_random_state,
    validation,
)
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_samples,
    check_is_fitted,
    check_X_y,
)

from adakern._utils.arrays import device_context, from_foreign
from adakern._utils.threads import one_blas_thread
from adakern._utils.warn import warn_user
from adakern.adaptive.columns import (
    TableReader,
    as_columns,
    declared_categorical,
    in_order_of,
)
from adakern.adaptive.fit_all import Schedule, fit_members
from adakern.adaptive.many_rows import AllRows, in_memory, is_dask
from adakern.adaptive.members.plan import MEMBERS, Settings, default_members
from adakern.adaptive.model import Learned
from adakern.adaptive.prepare import make_table

#: Rises whenever the defaults lead to other models.
DEFAULTS_VERSION = {"regressor": "6", "classifier": "7"}

#: Rows kept to measure the importance of features on; fewer of more columns.
PROBE_ROWS, PROBE_CELLS = 500, 50_000


class AdaptiveKernel(BaseEstimator, ABC):
    """Parameters, fitting and prediction that both estimators share."""

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

    def __init__(
        self,
        n_folds=5,
        max_support=3000,
        max_rows=200_000,
        members="auto",
        preset="best",
        categorical_features=None,
        time_limit=None,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.n_folds = n_folds
        self.max_support = max_support
        self.max_rows = max_rows
        self.members = members
        self.preset = preset
        self.categorical_features = categorical_features
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @abstractmethod
    def _unfitted_blend(self, y):
        """The blend for these targets; it encodes them, and knows their loss."""

    @abstractmethod
    def _set_out_of_fold(self, learned, blend, predicted, of_folds):
        """Set the score of predictions out of fold, and what intervals or sets need."""

    def _row_weights(self, y, counts):
        """Weights of the rows as they are learned from."""
        return counts

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _member_names(self, d, Y):
        classify, n = is_classifier(self), len(Y)
        if isinstance(self.members, str):
            pair = np.sort(Y.sum(axis=0))[-2:].sum() if classify else n
            return list(default_members(n, d, classify, self.preset, pair))
        known = [name for name in MEMBERS if classify or name != "svm"]
        if not len(self.members) or any(name not in known for name in self.members):
            raise ValueError(
                f"members={self.members!r}: use 'auto' or some of {', '.join(known)}"
            )
        return list(dict.fromkeys(self.members))

    def __sklearn_is_fitted__(self):
        return hasattr(self, "ensemble_")

    def _validated(self, X, *y):
        """Rows X (n, d), checked; when fitting y (n,) and X's columns of a categorical
        type too.
        """
        X, y = from_foreign(X), [from_foreign(v) for v in y]
        if hasattr(X, "to_pandas") and not hasattr(X, "dtypes"):
            X = X.to_pandas()  # Arrow's columns have no names
        is_frame = hasattr(X, "columns") and hasattr(X, "dtypes")
        if not y and is_frame and hasattr(self, "feature_names_in_"):
            X = in_order_of(self.feature_names_in_, X)
        rows, categorical = as_columns(X)
        options = {"dtype": None, "ensure_all_finite": "allow-nan"}
        if y:
            options["y_numeric"] = not is_classifier(self)
            _refuse_missing_labels(y[0])
        try:
            if categorical is None:
                checked = validation.validate_data(
                    self, X, *y, reset=bool(y), **options
                )
            else:
                validation.validate_data(self, X, reset=bool(y), skip_check_array=True)
                check = check_X_y if y else check_array
                checked = check(rows, *y, estimator=self, **options)
        except OverflowError:
            raise ValueError("y holds a number beyond 1.8e308; rescale it") from None
        return (*checked, categorical) if y else checked

    def fit(self, X, y, sample_weight=None, groups=None, X_val=None, y_val=None):
        """Learn from a table.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Numbers, categories, dates and missing values (None, NaN). On PyTorch
            tensors the kernel members compute in PyTorch, on their device; all else is
            NumPy's. Answers are of the kind of the rows that are asked about. A memory
            map, or an array or data frame of Dask, may be larger than memory.
        y : array-like of shape (n,)
            Targets, or labels of two to some hundred classes.
        sample_weight : array-like of shape (n,), default=None
            How much each row counts, 0 for not at all. A common factor changes nothing.
        groups : array-like of shape (n,), default=None
            Rows of one group lie in one fold: for tables with several rows of a patient
            or a day, where new rows will be of new ones.
        X_val, y_val : array-like, default=None
            Rows that no member learns from, on which the members are weighed instead of
            in folds. ``oof_prediction_`` is of these rows then.

        Returns
        -------
        self
        """
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)  # a fit that is interrupted leaves no other's half
        learned = self.learn(X, y, sample_weight, groups, X_val, y_val)
        blend = learned.weigh(learned.members)
        ensemble = learned.ensemble(learned.members, blend)
        predicted, of_folds = learned.nested(learned.members, blend)
        used = learned.position >= 0
        found = blend.decode(predicted)
        self.oof_prediction_ = np.full((len(used), *found.shape[1:]), np.nan)
        self.oof_prediction_[used] = found[learned.position[used]]
        self._set_out_of_fold(learned, blend, predicted, of_folds)
        self.reader_, self.ensemble_ = learned.reader, ensemble
        self.equal_rows_ = ensemble.equal_rows
        self.members_ = learned.members_table(blend)
        self.weights_ = {member.name: member.weight for member in self.members_}
        kind = "classifier" if is_classifier(self) else "regressor"
        self.record_ = {"defaults_version": DEFAULTS_VERSION[kind]}
        self._tell(f"out-of-fold score {self.oof_score_:.4f}\n{self.members_}")
        return self

    def learn(self, X, y, sample_weight=None, groups=None, X_val=None, y_val=None):
        """Fit all members, and return what was made as a value; ``fit`` starts here.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        y : array-like of shape (n,)
        sample_weight, groups : array-like of shape (n,), default=None
        X_val, y_val : array-like, default=None

        Returns
        -------
        Learned
        """
        started = time.perf_counter()
        self._validate_params()
        rng, all_rows = check_random_state(self.random_state), None
        if is_dask(X) or _num_samples(X) > self.max_rows:
            _refuse_missing_labels(y := in_memory(y))
            all_rows = AllRows(X, y, sample_weight, self._row_weights)
            X, y, sample_weight, groups = all_rows.draw(
                self.max_rows, rng, groups, stratify=is_classifier(self)
            )
        rows, y, categorical = self._validated(X, y)
        weights = _check_sample_weight(from_foreign(sample_weight), rows, dtype=float)
        blend = self._unfitted_blend(y)
        weights = self._row_weights(y, weights)
        if not np.isfinite(weights).all():
            raise ValueError(
                "class_weight makes infinite weights, or holds NaN; use smaller numbers"
            )
        if (weights < 0).any():
            raise ValueError("sample_weight holds negative weights")
        if not (weights > 0).any():
            raise ValueError("sample_weight is zero for every row")
        feature_names = getattr(self, "feature_names_in_", None)
        declared = declared_categorical(
            self.categorical_features, rows.shape[1], feature_names
        )
        if categorical is not None:
            declared |= categorical
        reader = TableReader(feature_names, declared).fit(rows)
        rows, Y, held_out = reader.transform(rows), blend.encode(y), None
        if X_val is not None or y_val is not None:
            new, Y_val = self._validation_rows(X_val, y_val, groups, reader, blend)
            held_out = np.repeat([False, True], [len(rows), len(new)])
            rows, Y = np.vstack([rows, new]), np.vstack([Y, Y_val])
            weights = np.append(weights, np.full(len(new), weights.max()))
        elif groups is not None:
            groups = validation.column_or_1d(groups)
            check_consistent_length(rows, groups)
            try:
                validation.assert_all_finite(groups, input_name="groups")
                groups = np.unique(groups, return_inverse=True)[1]
            except TypeError:
                raise ValueError(
                    "groups holds None or values of several types"
                ) from None
            if np.ptp(groups[weights > 0]) == 0:
                warn_user(
                    "groups has one value only: folds are drawn as without groups"
                )
                groups = None
        table, position = make_table(
            rows, Y, weights, self.n_folds, rng, groups=groups, validation=held_out
        )
        names = self._member_names(
            rows.shape[1], Y if held_out is None else Y[~held_out]
        )
        seeds = {name: rng.randint(2**31 - 1) for name in MEMBERS}
        fast = self.preset == "fast"
        settings = Settings(
            blend.classify, fast, reader.is_categorical, self.max_support, seeds
        )
        limit = np.inf if self.time_limit is None else self.time_limit
        may_screen = isinstance(self.members, str)
        schedule = Schedule(names, may_screen, started, limit, self.n_jobs, self._tell)
        with device_context(X), one_blas_thread(len(table.X)):
            members, dropped = fit_members(table, settings, schedule, blend, rng)
        judged = table.left_out
        n_probe = max(50, min(PROBE_ROWS, PROBE_CELLS // rows.shape[1]))
        probe = judged.take(np.sort(rng.permutation(len(judged.X))[:n_probe]))
        position = np.where(position < 0, -1, np.cumsum(table.fold >= 0)[position] - 1)
        if held_out is not None:
            position = position[held_out]
        elif all_rows is not None:
            position = all_rows.places(position)
        refit = list
        if all_rows is not None:
            refit = partial(
                all_rows.refit,
                read=lambda X: reader.transform(self._validated(X)),
                encode=blend.encode,
                deadline=started + limit,
            )
        ungrouped = groups is None and held_out is None
        return Learned(
            reader, table, position, members, dropped, blend, probe, ungrouped, refit
        )

    def _validation_rows(self, X_val, y_val, groups, reader, blend):
        """X_val as read and y_val as encoded."""
        if X_val is None or y_val is None:
            raise ValueError("X_val and y_val go together: pass both")
        if groups is not None:
            raise ValueError("pass groups or X_val, not both: rows of X_val are a fold")
        new = reader.transform(self._validated(in_memory(X_val)))
        _refuse_missing_labels(y_val := from_foreign(in_memory(y_val)))
        options = {
            "y_numeric": not is_classifier(self),
            "ensure_all_finite": "allow-nan",
        }
        y_val = check_X_y(new, y_val, estimator=self, **options)[1]
        self._unfitted_blend(y_val)  # refuses what is no target
        return new, blend.encode(y_val)

    def _tell(self, message):
        if self.verbose:
            print(f"[{type(self).__name__}] {message}")

    def _predicted(self, X):
        """New rows X as numbers and codes of categories, and what the blend
        predicts."""
        check_is_fitted(self)
        read = self.reader_.transform(self._validated(X))
        with device_context(X):
            return read, self.ensemble_.predict(read)

    @property
    def feature_importances_(self):
        """Share of each feature: how much worse its permutation makes predictions.

        Each feature in turn is permuted among up to 500 rows, which are predicted by
        the models that did not learn from them; the rise of the loss (squared error or
        log loss), not below zero, is divided by the sum over the features.
        """
        check_is_fitted(self)
        return self.ensemble_.importances(self.reader_.source_)


def check_levels(name, value):
    """Refuse a level, or one of several quantiles, that is not between 0 and 1."""
    levels = np.asarray(value, dtype=object)
    between = all(isinstance(level, Real) and 0 < level < 1 for level in levels.flat)
    if levels.ndim > (name == "quantiles") or not between:
        said = "numbers" if name == "quantiles" else "a number"
        raise ValueError(f"{name}={value!r}: use {said} between 0 and 1")


def _refuse_missing_labels(y):
    y = np.asarray(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    if y.dtype == object and y.ndim == 1:
        # Pandas' NA is neither equal to itself nor unequal, and pandas may not be
        # there.
        names = ("NoneType", "NAType")
        missing = [type(value).__name__ in names or value != value for value in y]
        if any(missing):
            row = missing.index(True)
            raise ValueError(
                f"y[{row}] is {y[row]}: Input contains NaN or None; drop those rows"
            )
