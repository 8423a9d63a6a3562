"""What the adaptive regressor and classifier share: folds, members, their table."""

import time
from dataclasses import dataclass, field
from numbers import Integral, Real

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from adakern._utils.warn import warn_user
from adakern.adaptive.folds import assign_folds, merge_repetitions
from adakern.adaptive.other_members import ConstantMember
from adakern.adaptive.plan import MEMBERS, default_members, make_member, seconds
from adakern.adaptive.table import (
    KernelView,
    TableReader,
    TreeView,
    without_double_names,
)

__all__ = ["AdaptiveKernel", "Member", "Table"]

VIEWS = {"kernel": KernelView, "tree": TreeView}

#: Members of less weight than this are dropped.
SMALLEST_WEIGHT = 0.01

#: Rows kept to measure the importance of features on.
PROBE_ROWS = 500


@dataclass
class Member:
    """One member of a fitted model: what it is, how good it is, how much it counts.

    Attributes
    ----------
    name : str
    weight : float
    score : float
        R² or accuracy of its out-of-fold predictions.
    seconds : float
        What its folds took together.
    """

    name: str
    weight: float
    score: float
    seconds: float


class MemberTable(list):
    """A list of :class:`Member` that prints as a table."""

    def __repr__(self):
        lines = [f"{'member':18} {'weight':>7} {'score':>8} {'seconds':>8}"]
        lines += [
            f"{m.name:18} {m.weight:7.3f} {m.score:8.4f} {m.seconds:8.2f}" for m in self
        ]
        return "\n".join(lines)


@dataclass
class Table:
    """The rows that a model learns from, each different one once.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Numbers and codes of words.
    Y : ndarray of shape (n, k)
        Targets, or indicators of classes.
    weights : ndarray of shape (n,)
    fold : ndarray of shape (n,)
    """

    X: np.ndarray
    Y: np.ndarray
    weights: np.ndarray
    fold: np.ndarray

    @property
    def n_folds(self):
        """Number of folds, 1 if there are too few rows to leave any out."""
        return int(self.fold.max()) + 1


@dataclass
class Fold:
    """What was learned without the rows of one fold."""

    views: dict
    models: dict = field(default_factory=dict)

    def predict(self, name, X):
        """Values (n, k) that the member ``name`` predicts for the read rows X."""
        model = self.models[name]
        return model.predict(self.views[model.view].transform(X))


class AdaptiveKernel(BaseEstimator):
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

    def _fit(self, X, y, sample_weight, *, codes=None):
        """Learn all members from X, as validated, and numbers y of shape (n,).

        ``codes`` are y's for a classification: integers from 0.
        """
        started = time.perf_counter()
        names = self._member_names(len(y))
        rng = check_random_state(self.random_state)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if (weights < 0).any():
            raise ValueError("sample_weight holds negative weights")
        if not (weights > 0).any():
            raise ValueError("sample_weight is zero for every row")
        self.reader_ = TableReader().fit(X)
        read = self.reader_.transform(X)
        rows, total, position, group = merge_repetitions(read, y, weights)
        n_folds = min(self.n_folds, group[-1] + 1)
        stratum = None if codes is None else codes[rows]
        fold = assign_folds(group, n_folds, rng, stratum)
        table = Table(
            read[rows], self._targets(y[rows]), total * len(total) / total.sum(), fold
        )
        self._oof = {}
        self.fold_models_ = [self._unfitted_fold() for _ in range(table.n_folds)]
        self.refit_ = self._unfitted_fold()
        self._seconds = {}
        self._learn(names, table, rng, started)
        self._weigh(table, y[rows])
        self._keep(table, y[rows], position, rng)
        return self

    def _unfitted_fold(self):
        is_words = self.reader_.is_words
        return Fold({name: view(is_words) for name, view in VIEWS.items()})

    def _learn(self, names, table, rng, started):
        """Fit the members one after another, as long as time allows."""
        informative = table.n_folds > 1 and _varies(table.X) and _varies(table.Y)
        names = names if informative else []
        if informative:
            for k, fold in enumerate(self.fold_models_):
                for view in fold.views.values():
                    view.fit(table.X[table.fold != k])
            for view in self.refit_.views.values():
                view.fit(table.X)
        skipped, speed = [], 1.0
        seeds = {name: rng.randint(2**31 - 1) for name in MEMBERS}
        with Parallel(n_jobs=self.n_jobs) as parallel:
            for name in names:
                estimate = self._estimate(name, table) * speed
                spent = time.perf_counter() - started
                if self.time_limit is not None and spent + estimate > self.time_limit:
                    skipped.append(name)
                    continue
                self._fit_member(name, table, seeds[name], parallel)
                took = time.perf_counter() - started - spent
                self._seconds[name] = took
                speed = max(took / self._estimate(name, table), 0.2)
                if self.verbose:
                    print(f"[{type(self).__name__}] {name}: {took:.1f} s")
        if skipped:
            warn_user(
                f"time_limit={self.time_limit} s was too short for the members "
                f"{', '.join(skipped)}; used: {', '.join(self._oof) or 'the mean'}",
            )

    def _estimate(self, name, table):
        n = int(len(table.X) * (1 - 1 / table.n_folds))
        cost = seconds(name, n, table.X.shape[1], table.Y.shape[1], self.max_support)
        return (table.n_folds + 1) * cost

    def _fit_member(self, name, table, seed, parallel):
        member = {
            "classify": self._classifies,
            "is_words": self.reader_.is_words,
            "max_support": self.max_support,
            "random_state": seed,
        }
        tasks = [
            (make_member(name, fitted=fold.models, **member), fold, table.fold == k)
            for k, fold in enumerate(self.fold_models_)
        ]
        whole = make_member(name, fitted=self.refit_.models, **member)
        if whole.refit and not self._classifies:
            tasks.append((whole, self.refit_, np.zeros(len(table.X), dtype=bool)))
        fits = parallel(
            delayed(_fit_fold)(unfitted, fold.views, table, left_out)
            for unfitted, fold, left_out in tasks
        )
        oof = np.empty(table.Y.shape)
        for (_, fold, left_out), (model, predicted) in zip(tasks, fits, strict=True):
            fold.models[name] = model
            oof[left_out] = predicted
        self._oof[name] = oof

    def _keep(self, table, y, position, rng):
        """Drop what predictions do not need; keep a few rows for importances."""
        used = {member.name for member in self.members_ if member.weight > 0}
        for fold in [*self.fold_models_, self.refit_]:
            fold.models = {n: m for n, m in fold.models.items() if n in used}
        probe = np.sort(rng.permutation(len(y))[:PROBE_ROWS])
        self._probe = (table.X[probe], y[probe], table.fold[probe])
        self._position = position
        del self._oof, self._seconds

    def _set_members(self, weights, scores):
        """Fill the table of members; those of little weight get none."""
        weights = np.where(weights < SMALLEST_WEIGHT, 0.0, weights)
        weights = weights / weights.sum() if len(weights) else weights
        self.members_ = MemberTable(
            Member(name, float(weight), float(score), self._seconds[name])
            for name, weight, score in zip(self._oof, weights, scores, strict=True)
        )
        self.members_.sort(key=lambda member: -member.weight)
        self.weights_ = {member.name: member.weight for member in self.members_}
        return weights

    def _read(self, X):
        """New rows X, checked, as numbers and codes of words."""
        check_is_fitted(self)
        X = validate_data(
            self,
            without_double_names(X),
            dtype=None,
            ensure_all_finite="allow-nan",
            reset=False,
        )
        return self.reader_.transform(X)

    def _scores(self, name, X):
        """Values (n, k) of a member: refitted on all rows, or the mean over folds."""
        if name in self.refit_.models:
            return self.refit_.predict(name, X)
        return np.mean([fold.predict(name, X) for fold in self.fold_models_], axis=0)

    @property
    def _used(self):
        """Names of the members that count."""
        return list(self.fold_models_[0].models)

    @property
    def feature_importances_(self):
        """Share of each feature: how much worse its permutation makes predictions.

        Each feature in turn is permuted among up to 500 rows, which are predicted by
        the models that did not learn from them; the rise of the loss (squared error or
        log loss), not below zero, is divided by the sum over the features.
        """
        check_is_fitted(self)
        X, y, fold = self._probe
        rng = np.random.default_rng(0)
        rises = np.zeros(X.shape[1])
        for k, model in enumerate(self.fold_models_):
            rows = X[fold == k]
            if not len(rows):
                continue
            copies = np.repeat(rows[None], X.shape[1] + 1, axis=0)
            for j in range(X.shape[1]):
                copies[j, :, j] = rng.permutation(rows[:, j])
            predicted = self._fold_prediction(model, copies.reshape(-1, X.shape[1]))
            losses = self._losses(predicted, np.tile(y[fold == k], len(copies)))
            losses = losses.reshape(len(copies), -1).sum(axis=1)
            rises += losses[:-1] - losses[-1]
        rises = np.maximum(rises, 0)
        return rises / rises.sum() if rises.sum() > 0 else rises


def _varies(A):
    """Whether any column of A holds two different values; a gap is one."""
    first = A[:1]
    same = (first == A) | (np.isnan(first) & np.isnan(A))
    return not same.all()


def _fit_fold(member, views, table, left_out):
    """The member learned without the rows left out, and what it predicts for them."""
    view, train = views[member.view], ~left_out
    X, Y = view.transform(table.X[train]), table.Y[train]
    if not (_varies(X) and _varies(Y)):
        member = ConstantMember(member)
    member.fit(X, Y, table.weights[train])
    if not left_out.any():
        return member, np.empty((0, Y.shape[1]))
    return member, member.predict(view.transform(table.X[left_out]))
