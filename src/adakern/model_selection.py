"""Hyper-parameter search for kernel machines that computes nothing twice."""

import time
from collections import defaultdict
from functools import partial, update_wrapper
from itertools import chain
from numbers import Real
from operator import itemgetter
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.model_selection._validation import _warn_or_raise_about_fit_failures
from sklearn.svm import SVC, SVR
from sklearn.utils import gen_batches, get_tags
from sklearn.utils.validation import check_array, check_X_y

from adakern._utils.memory import require_memory
from adakern.kernels import DECAYING_KERNELS, exponential_decay, kernel_distances, resolve_gamma
from adakern.linalg import add_to_diagonal, factorised, principal_submatrix
from adakern.svm.c_path import is_constant_above, saturated_classes, scaled_to
from adakern.svm.libsvm import predict_from_gram

#: Estimators of scikit-learn that are fitted on the shared Gram matrices. Those of this
#: library say it themselves, by the class attribute ``_takes_shared_gram_matrix``: the
#: search then depends on no estimator's code, and a change in one repeats no other's.
SHARING = (SVC, SVR, KernelRidge)

#: An eigendecomposition costs about as much as this many Cholesky factorisations.
EIGH_IN_CHOLESKYS = 12


class KernelSearchCV(GridSearchCV):
    """Grid search with shared Gram matrices, for kernel machines.

    A drop-in for scikit-learn's :class:`~sklearn.model_selection.GridSearchCV`, with
    its parameters and fitted attributes and the same scores, to the solver's
    tolerance. Where the estimator is a support vector machine (``SVC``, ``SVR``,
    :class:`~adakern.baselines.KernelSVC`, :class:`~adakern.baselines.KernelSVR`) or
    ``KernelRidge`` with a kernel ``exp(-gamma D)``, it computes

    - one matrix of distances D for all folds and all gamma,
    - one Gram matrix for each gamma, for all folds and values of everything else,
    - predictions by products of matrices,
    - one model for all C above its largest dual variable (no bound is active there,
      so that the solution stays), and one for all C so small that in each pair of
      classes all rows of one class are at their bound (there it is proportional to C),
    - for a dozen and more ridges one eigendecomposition of each Gram matrix.

    Everywhere else (another estimator or kernel, several metrics, parameters of
    ``fit``, more rows than the memory takes) it is ``GridSearchCV``.

    Parameters
    ----------
    estimator : estimator
    param_grid : dict or list of dict
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As of ``GridSearchCV``; ``n_jobs`` counts threads.

    Attributes
    ----------
    shared_ : bool
        Whether Gram matrices were shared.
    cv_results_, best_index_, best_params_, best_score_, best_estimator_, ... :
        As of ``GridSearchCV``. The time of a Gram matrix counts for the first point
        that needs it; a point that shares a model has the fit time 0.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from adakern.model_selection import KernelSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> grid = {"C": [0.1, 1, 10], "gamma": [0.01, 0.1]}
    >>> search = KernelSearchCV(SVC(), grid).fit(X, y)
    >>> search.best_params_, search.shared_
    ({'C': 1, 'gamma': 0.1}, True)
    """

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, **params: Any) -> Self:
        """Score every point of the grid and fit the best one on all rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        **params
            As of ``GridSearchCV.fit``; with any of them no Gram matrix is shared.
        """
        candidates = list(ParameterGrid(self.param_grid))
        self.shared_ = not params and self._can_share(X, candidates)
        if not self.shared_:
            if issparse(X):  # kernels of sparse rows take 32-bit indices alone
                check_array(X, accept_sparse=True, accept_large_sparse=False)
            return super().fit(X, y, **params)
        scorer = check_scoring(self.estimator, self.scoring)
        X_fit, y_fit = check_X_y(X, y, dtype=np.float64, multi_output=True)
        cv = check_cv(self.cv, y_fit, classifier=is_classifier(self.estimator))
        splits = list(enumerate(cv.split(X_fit, y_fit)))
        groups = _by_gram_matrix(self.estimator, candidates)
        kernels = {kernel for kernel, _ in groups}
        distances = {kernel: kernel_distances(X_fit, kernel=kernel) for kernel in kernels}
        # Where threads outnumber the values of gamma, folds are shared out too.
        n_parts = -(-effective_n_jobs(self.n_jobs) // len(groups))
        outcomes = Parallel(self.n_jobs, prefer="threads")(
            delayed(self._score_group)(
                X_fit, y_fit, distances[kernel], gamma, members, part, scorer
            )
            for (kernel, gamma), members in groups.items()
            for part in _parts(splits, n_parts)
        )
        results = np.empty((len(candidates), len(splits)), dtype=object)
        for index, fold, result in chain.from_iterable(outcomes):
            results[index, fold] = result
        out = results.ravel().tolist()
        _warn_or_raise_about_fit_failures(out, self.error_score)
        self.cv_results_ = self._format_results(candidates, len(splits), out)
        self.best_index_ = int(self.cv_results_["rank_test_score"].argmin())
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = self.cv_results_["mean_test_score"][self.best_index_]
        self.n_splits_, self.scorer_, self.multimetric_ = len(splits), scorer, False
        if self.refit:
            start = time.perf_counter()
            best = clone(self.estimator).set_params(**self.best_params_)
            self.best_estimator_ = best.fit(X, y)
            self.refit_time_ = time.perf_counter() - start
            if hasattr(best, "feature_names_in_"):
                self.feature_names_in_ = best.feature_names_in_
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        target = get_tags(self.estimator).target_tags
        tags.target_tags.multi_output = target.multi_output
        return tags

    def _can_share(self, X, candidates):
        kind, shape = type(self.estimator), () if issparse(X) else np.asarray(X).shape
        if not (
            isinstance(self.refit, bool)
            and not self.return_train_score
            and (self.scoring is None or isinstance(self.scoring, str))
            and len(shape) == 2
            and shape[0]
            and (kind in SHARING or getattr(kind, "_takes_shared_gram_matrix", False))
            and all(_is_understood(self.estimator.get_params() | c, kind) for c in candidates)
        ):
            return False
        try:
            n_matrices = 1 + 3 * effective_n_jobs(self.n_jobs)
            require_memory(8 * n_matrices * shape[0] ** 2, "the shared Gram matrices", "")
        except MemoryError:
            return False
        return True

    def _score_group(self, X, y, distances, gamma, members, splits, scorer):
        """(candidate, fold, result) of one kernel and gamma."""
        start, whole, outcomes = time.perf_counter(), None, []
        if isinstance(gamma, Real):
            whole = exponential_decay(distances.copy(), gamma)
        for fold, split in splits:
            # Row numbers, where the splitter gives masks too.
            train, test = (np.arange(len(y))[part] for part in split)
            if whole is None:  # SVC has two rules, KernelRidge takes 1 / d for None
                of_fold = resolve_gamma(gamma or "auto", X[train])
                K = exponential_decay(principal_submatrix(distances, train), of_fold)
                K_test = exponential_decay(distances[np.ix_(test, train)], of_fold)
            else:
                K = principal_submatrix(whole, train)
                K_test = whole[np.ix_(test, train)]
            results = self._score_fold(K, K_test, y[train], y[test], members, scorer, start)
            outcomes += [(index, fold, result) for index, result in results]
            start = time.perf_counter()
        return outcomes

    def _score_fold(self, K, K_test, y, y_test, members, scorer, start):
        """(candidate, result) as GridSearchCV has them."""
        ridge = isinstance(self.estimator, KernelRidge)
        models = (_ridge_models if ridge else _support_vector_machines)(
            self.estimator, members, K, y
        )
        last = (None, None)
        with config_context(assume_finite=True):
            for index, model in models:
                fitted, error = time.perf_counter(), None
                if isinstance(model, Exception):
                    if self.error_score == "raise":
                        raise model
                    score, error = self.error_score, repr(model)
                elif model is last[0]:
                    score = last[1]
                else:
                    score = scorer(model, K_test, y_test)
                last, done = (model, score), time.perf_counter()
                times = {"fit_time": fitted - start, "score_time": done - fitted}
                yield index, {**times, "test_scores": score, "fit_error": error}
                start = done


def _is_understood(point, kind):
    """Whether its kernel decays and its numbers are of a known kind."""
    gamma = point["gamma"]
    if isinstance(gamma, Real):
        known = 0 < gamma < np.inf
    else:
        known = gamma is None if kind is KernelRidge else gamma in ("scale", "auto")
    numbers = isinstance(point.get("C", 1.0), Real) and np.ndim(point.get("alpha", 1.0)) == 0
    return known and numbers and point["kernel"] in DECAYING_KERNELS


def _by_gram_matrix(estimator, candidates):
    """Candidates (index, remaining parameters) under their (kernel, gamma)."""
    defaults, groups = estimator.get_params(), defaultdict(list)
    for index, point in enumerate(candidates):
        values = defaults | point
        rest = {k: v for k, v in point.items() if k not in ("kernel", "gamma")}
        groups[values["kernel"], values["gamma"]].append((index, rest))
    return groups


def _parts(splits, n_parts):
    """The splits in that many lists, none of them empty, in their order."""
    size = -(-len(splits) // n_parts)
    return [splits[part] for part in gen_batches(len(splits), size)]


def _support_vector_machines(estimator, members, K, y):
    """(candidate, model on K), those of the same parameters but C together."""
    paths = defaultdict(list)
    for index, rest in members:
        C = rest.get("C", estimator.C)
        others = tuple(sorted((k, repr(v)) for k, v in rest.items() if k != "C"))
        paths[others].append((C, index, rest))
    n_rows = np.unique(y, return_counts=True)[1] if is_classifier(estimator) else None

    def fitted(parameters):
        model = clone(estimator).set_params(kernel="precomputed", **parameters)
        try:
            model.fit(K, y)
        except Exception as error:
            return error
        return model

    for path in paths.values():
        rising = sorted(path, key=itemgetter(0, 1))
        for index, model in _along_C(fitted, rising, n_rows):
            if not isinstance(model, Exception):
                _predict_by_products(model)
            yield index, model


def _along_C(fitted, path, n_rows):
    """(candidate, model), by halves: one fit may do for all smaller or greater C."""
    if not path:
        return
    middle = len(path) // 2
    below, above = path[:middle], path[middle + 1 :]
    _, index, parameters = path[middle]
    model = fitted(parameters)
    yield index, model
    if _has_one_bound(model):
        if is_constant_above(model):
            yield from ((index, model) for _, index, _ in above)
            above = []
        elif type(model) is SVC:
            saturated = saturated_classes(model, n_rows)
            if not np.isnan(saturated).any():
                for C, index, _ in below:
                    yield index, scaled_to(model, C, saturated)
                below = []
    yield from _along_C(fitted, below, n_rows)
    yield from _along_C(fitted, above, n_rows)


def _has_one_bound(model):
    """Whether it is fitted, and C bounds its dual variables and does no more."""
    if isinstance(model, Exception) or getattr(model, "probability", None) is True:
        return False
    return getattr(model, "class_weight", None) is None


def _predict_by_products(model):
    """Scorers of classes and values ask ``predict``, which LIBSVM answers slowly."""
    if isinstance(model, SVC | SVR) and not getattr(model, "break_ties", False):
        predict = partial(predict_from_gram, model)
        # Scorers ask a bound method for its name.
        model.predict = update_wrapper(predict, model.predict)


def _ridge_models(estimator, members, K, y):
    """(candidate, KernelRidge on K) for every ridge."""
    solve = _ridge_solver(K, y, len(members))
    for index, rest in members:
        model = clone(estimator).set_params(kernel="precomputed", **rest)
        try:
            model._validate_params()
            model.dual_coef_ = solve(model.alpha)
            model.X_fit_ = K
            model.n_features_in_ = len(K)
        except ValueError as error:
            model = error
        yield index, model


def _ridge_solver(K, y, n_ridges):
    """alpha -> (K + alpha I)^{-1} y, the cheaper way for so many of them."""
    if n_ridges < EIGH_IN_CHOLESKYS:
        ones = np.ones(len(K))
        return lambda alpha: factorised(add_to_diagonal(K.copy(), alpha * ones))(y)
    values, vectors = eigh(K, check_finite=False)
    rotated = vectors.T @ y
    spectrum = values.reshape(-1, *[1] * (y.ndim - 1))
    return lambda alpha: vectors @ (rotated / (spectrum + alpha))
