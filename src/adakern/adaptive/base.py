"""What the adaptive regressor and classifier share: folds, members, their table."""

import time
from numbers import Integral, Real

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from adakern._utils.arrays import from_foreign, placed
from adakern._utils.base import Estimator
from adakern._utils.threads import one_blas_thread
from adakern._utils.warn import warn_user
from adakern.adaptive.equal_rows import EqualRows
from adakern.adaptive.fitting import fit_fold, fitted, in_time, varies
from adakern.adaptive.folds import assign_folds, merge_repetitions
from adakern.adaptive.kernel_members import FULL_FACTOR, KernelRidgeMember
from adakern.adaptive.parts import Fold, Member, MemberTable, Table
from adakern.adaptive.plan import (
    MEMBERS,
    default_members,
    make_member,
    race_search,
    search_after_race,
    search_of,
    seconds,
)
from adakern.adaptive.race import LEARNERS, MAX_SUPPORT, finalists, race_table
from adakern.adaptive.table import (
    KernelView,
    TableReader,
    TreeView,
    without_double_names,
)

__all__ = ["AdaptiveKernel"]

VIEWS = {"kernel": KernelView, "tree": TreeView}

#: Members of less weight than this are dropped.
SMALLEST_WEIGHT = 0.01

#: How far predictions go beyond the range of the training targets, as a part of it:
#: away from the rows a kernel of small ridge, or a line, would go anywhere.
MARGIN = 0.5

#: The estimated time of a race is at most this part of a time limit.
RACE_SHARE = 0.2

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

    def _fit(self, X, y, sample_weight, *, codes=None, class_weights=None):
        """Learn all members from X, as validated, and numbers y of shape (n,).

        ``codes`` are y's for a classification: integers from 0; ``class_weights``, of
        each row, multiply its weight.
        """
        started = time.perf_counter()
        names = self._member_names(len(y))
        rng = check_random_state(self.random_state)
        counts = _check_sample_weight(sample_weight, X, dtype=np.float64)
        weights = counts if class_weights is None else counts * class_weights
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
        # What members predict for rows left out: of a whole fold, and of the row alone.
        self._of_folds, self._oof = {}, {}
        self.fold_models_ = [self._unfitted_fold(table) for _ in range(table.n_folds)]
        self.refit_ = self._unfitted_fold(table)
        self._seconds = {}
        # What a race found out: who is left behind, and scales of those who are not.
        self._left_behind, self._starts = [], {}
        with one_blas_thread(len(rows)):
            self._learn(names, table, rng, started)
        self._weigh(table, y[rows])
        used = position >= 0
        self.equal_rows_ = EqualRows().fit(
            table.X,
            table.Y,
            np.bincount(position[used], counts[used]),
            group,
            self._merged_oof.reshape(table.Y.shape),
        )
        self._keep(table, y[rows], position, rng)
        return self

    def _unfitted_fold(self, table):
        bounds = -np.inf, np.inf
        if not self._classifies:
            margin = MARGIN * np.ptp(table.Y)
            bounds = table.Y.min() - margin, table.Y.max() + margin
        is_words = self.reader_.is_words
        return Fold({name: view(is_words) for name, view in VIEWS.items()}, bounds)

    def _learn(self, names, table, rng, started):
        """Fit the members one after another, as long as time allows."""
        seeds = {name: rng.randint(2**31 - 1) for name in MEMBERS}
        limit = np.inf if self.time_limit is None else self.time_limit
        if not (table.n_folds > 1 and varies(table.X) and varies(table.Y)):
            return
        for view in self.refit_.views.values():
            view.fit(table.X)
        skipped, estimated = [], 0.0
        with Parallel(n_jobs=self.n_jobs) as parallel:
            if self._race_pays(names, table, limit):
                names = self._race(names, table, seeds, parallel, rng)
            self._fit_views(table, names)
            for name in names:
                spent = time.perf_counter() - started
                speed = sum(self._seconds.values()) / estimated if estimated else 1.0
                estimate = self._estimate(name, table)
                done = False
                if spent + speed * estimate <= limit:
                    done = self._fit_member(
                        name, table, seeds[name], parallel, started + limit
                    )
                if not done:
                    skipped.append(name)
                    continue
                self._seconds[name] = time.perf_counter() - started - spent
                estimated += estimate
                self._tell(f"{name}: {self._seconds[name]:.1f} s")
        if skipped:
            warn_user(
                f"time_limit={self.time_limit} s was too short for the members "
                f"{', '.join(skipped)}; used: {', '.join(self._oof) or 'the mean'}",
            )

    def _tell(self, message):
        if self.verbose:
            print(f"[{type(self).__name__}] {message}")

    def _is_large(self, table):
        """Whether kernel members stand on some of the rows only."""
        return len(table.X) > FULL_FACTOR * self.max_support

    def _fit_views(self, table, names):
        """How each fold sees rows: as it must without those left out."""
        large = self._is_large(table)
        for k, fold in enumerate(self.fold_models_):
            if large:  # kernel members then share scales and centres anyway
                fold.views = self.refit_.views
                continue
            for view in fold.views.values():
                view.fit(table.X[table.fold != k])
        if large:
            warn_user(
                f"{len(table.X)} different rows: kernel members stand on "
                f"max_support={self.max_support} of them (Nyström) instead of all; "
                f"members: {', '.join(names)}"
            )

    def _race_pays(self, names, table, limit):
        """Whether there are rows enough for a race, and time for what comes after."""
        n, d = table.X.shape
        if (
            not isinstance(self.members, str)
            or not self._is_large(table)
            or n <= LEARNERS
        ):
            return False
        estimates = [
            seconds(name, LEARNERS, d, table.Y.shape[1], MAX_SUPPORT, n_folds=1)
            for name in names
        ]
        return sum(estimates) <= RACE_SHARE * limit

    def _race(self, names, table, seeds, parallel, rng):
        """Members that count on some thousands of rows; the others are left behind."""
        started = time.perf_counter()
        part = race_table(table, rng)
        judges = part.fold == 0
        support = min(MAX_SUPPORT, self.max_support)
        tasks = [
            delayed(fit_fold)(
                self._member(name, seeds[name], race_search(name), None, support),
                self.refit_.views,
                part,
                judges,
                placed(np.empty(0)),
            )
            for name in names
        ]
        models, predicted, _ = zip(*parallel(tasks), strict=True)
        values = np.clip(predicted, *self.refit_.bounds)
        loss_of, scores = self._judged(
            models, values, part.Y[judges], part.weights[judges]
        )
        trees = np.array([model.view == "tree" for model in models])
        goes_on = finalists(loss_of, trees, len(table.X))
        took = time.perf_counter() - started
        for name, model, score, stays in zip(
            names, models, scores, goes_on, strict=True
        ):
            if not stays:
                share = took / len(names)
                self._left_behind.append(Member(name, 0.0, float(score), share))
            elif isinstance(model, KernelRidgeMember):
                self._starts[name] = model.scales_, model.alpha_
        names = [name for name, stays in zip(names, goes_on, strict=True) if stays]
        self._tell(f"race: {took:.1f} s; {', '.join(names)} go on")
        return names

    def _estimate(self, name, table):
        n, d = table.X.shape
        return seconds(
            name, n, d, table.Y.shape[1], self.max_support, n_folds=table.n_folds
        )

    def _fit_member(self, name, table, seed, parallel, deadline):
        """Fit a member on all rows if it is to be refitted, and in every fold.

        Returns False, and forgets the member, where the first fold shows that the
        others would end after the deadline.
        """
        n = len(table.X)
        whole = self._unfitted(name, n, seed, self.refit_)
        if isinstance(whole, KernelRidgeMember) and whole.is_nystrom(n):
            fits = self._fit_in_one_pass(name, whole, table)
        else:
            if whole.refit:
                X = self.refit_.views[whole.view].transform(table.X)
                self.refit_.models[name] = fitted(whole, X, table.Y, table.weights)
            tasks = [
                delayed(fit_fold)(
                    self._unfitted(name, n, seed, fold),
                    fold.views,
                    table,
                    table.fold == k,
                    placed(np.empty(0)),
                )
                for k, fold in enumerate(self.fold_models_)
            ]
            fits = in_time(tasks, parallel, deadline)
        if not fits:
            self.refit_.models.pop(name, None)
            return False
        oof = np.empty((2, *table.Y.shape))
        for k, (model, *predicted) in enumerate(fits):
            self.fold_models_[k].models[name] = model
            oof[:, table.fold == k] = predicted
        self._of_folds[name], self._oof[name] = np.clip(oof, *self.refit_.bounds)
        return True

    def _fit_in_one_pass(self, name, member, table):
        """Each fold's kernel member and what it predicts for the rows left out."""
        X = self.refit_.views[member.view].transform(table.X)
        *models, whole = member.fit_folds(X, table.Y, table.weights, table.fold)
        self.refit_.models[name] = whole
        values = [m.predict(X[table.fold == k]) for k, m in enumerate(models)]
        return list(zip(models, values, values, strict=True))

    def _unfitted(self, name, n, seed, fold):
        """A member for a fold; its search may start where one on all rows ended."""
        in_fold = fold is not self.refit_
        if not in_fold and name in self._starts:
            return self._member(name, seed, search_after_race(name), self._starts[name])
        columns = self.refit_.views["kernel"].columns_
        search = search_of(name, n, len(columns), in_fold)
        found, start = self.refit_.models.get(search.start), None
        if isinstance(found, KernelRidgeMember):
            views = self.refit_.views["kernel"], fold.views["kernel"]
            start = views[0].carry(found.scales_, views[1]), found.alpha_
        return self._member(name, seed, search, start)

    def _member(self, name, seed, search, start=None, max_support=None):
        return make_member(
            name,
            classify=self._classifies,
            is_words=self.reader_.is_words,
            max_support=max_support or self.max_support,
            random_state=seed,
            search=search,
            start=start,
        )

    def _keep(self, table, y, position, rng):
        """Drop what predictions do not need; keep a few rows for importances."""
        used = {member.name for member in self.members_ if member.weight > 0}
        for fold in [*self.fold_models_, self.refit_]:
            fold.models = {n: m for n, m in fold.models.items() if n in used}
        probe = np.sort(rng.permutation(len(y))[:PROBE_ROWS])
        self._probe = (table.X[probe], y[probe], table.fold[probe])
        self._position = position
        del self._oof, self._of_folds, self._seconds, self._left_behind, self._starts

    def _set_members(self, weights, scores):
        """Fill the table of members; those of little weight get none."""
        weights = np.where(weights < SMALLEST_WEIGHT, 0.0, weights)
        weights = weights / weights.sum() if len(weights) else weights
        self.members_ = MemberTable(
            Member(name, float(weight), float(score), self._seconds[name])
            for name, weight, score in zip(self._oof, weights, scores, strict=True)
        )
        self.members_.sort(key=lambda member: -member.weight)
        self.members_.extend(self._left_behind)
        self.weights_ = {member.name: member.weight for member in self.members_}
        return weights

    def _read(self, X):
        """New rows X, checked, as numbers and codes of words."""
        check_is_fitted(self)
        return self.reader_.transform(self._validated(X))

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
