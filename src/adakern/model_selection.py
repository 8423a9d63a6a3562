"""Hyper-parameter search for kernel methods with shared Gram matrices."""

import itertools
import time
from collections import defaultdict
from functools import partial, update_wrapper
from numbers import Real
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.model_selection._validation import (
    _score,
    _warn_or_raise_about_fit_failures,
)
from sklearn.svm import SVC, SVR
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array, check_X_y

from adakern._utils.resources import require_memory
from adakern.kernels import (
    DECAYING_KERNELS,
    exponential_decay,
    resolve_gamma,
)
from adakern.linalg import principal_submatrix
from adakern.svm.libsvm import predict_from_gram

#: scikit-learn's estimators that are fitted on shared Gram matrices, with the kernels
#: they support. Estimators of this library support all decaying kernels, and set the
#: class attribute ``_takes_shared_gram_matrix``. Thus, the search does not depend on
#: their code, and changing one does not cause the searches of others to be rerun.
SHARING = {SVC: ("rbf",), SVR: ("rbf",), KernelRidge: ("rbf", "laplacian")}


class KernelSearchCV(GridSearchCV):
    """Grid search with shared Gram matrices, for kernel methods.

    A drop-in for scikit-learn's :class:`~sklearn.model_selection.GridSearchCV`, with
    the same scores up to the solver's tolerance. If the estimator is a support vector
    machine (``SVC``, ``SVR``, :class:`~adakern.baselines.KernelSVC`,
    :class:`~adakern.baselines.KernelSVR`) or ``KernelRidge`` with a kernel ``exp(-gamma
    D)``, it computes

    - one matrix of distances D for all folds and all gamma,
    - one Gram matrix for each fold and gamma, for all values of other parameters,
    - predictions by matrix products.

    In all other cases (another estimator or kernel, several metrics, parameters of
    ``fit``, too many rows for the memory) it is ``GridSearchCV``.

    Parameters
    ----------
    estimator : estimator object
    param_grid : dict or list of dict
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As in ``GridSearchCV``; ``n_jobs`` is a number of threads. If Gram matrices are
        shared, ``verbose`` and ``pre_dispatch`` are ignored.

    Attributes
    ----------
    shared_ : bool
        Whether Gram matrices were shared.
    cv_results_, best_index_, best_params_, best_score_, best_estimator_, ... :
        As in ``GridSearchCV``. The time of a Gram matrix is attributed to the first
        candidate that needs it.

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
        """Evaluate all candidates and refit the best one to all rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        **params
            As in ``GridSearchCV.fit``; with any of them, Gram matrices are not shared.
        """
        candidates = list(ParameterGrid(self.param_grid))
        self.shared_ = not params and self._can_share(X, candidates)
        if not self.shared_:
            if issparse(X):  # kernels of sparse rows support only 32-bit indices
                check_array(X, accept_sparse=True, accept_large_sparse=False)
            return super().fit(X, y, **params)
        scorer = check_scoring(self.estimator, self.scoring)
        X_fit, y_fit = check_X_y(X, y, dtype=np.float64, multi_output=True)
        cv = check_cv(self.cv, y_fit, classifier=is_classifier(self.estimator))
        splits = list(cv.split(X_fit, y_fit))
        groups = _by_gram_matrix(self.estimator, candidates)
        kernels = {kernel for kernel, _ in groups}
        distances = {kernel: DECAYING_KERNELS[kernel](X_fit) for kernel in kernels}
        outcomes = Parallel(self.n_jobs, prefer="threads")(
            delayed(self._score_group)(
                X_fit, y_fit, distances[kernel], gamma, group, split, scorer
            )
            for (kernel, gamma), group in groups.items()
            for split in splits
        )
        results = np.empty((len(candidates), len(splits)), dtype=object)
        tasks = itertools.product(groups.values(), range(len(splits)))
        for (points, fold), outcome in zip(tasks, outcomes, strict=True):
            results[list(points), fold] = outcome
        out = results.ravel().tolist()
        _warn_or_raise_about_fit_failures(out, self.error_score)
        self.cv_results_ = self._format_results(candidates, len(splits), out)
        self.best_index_ = int(self.cv_results_["rank_test_score"].argmin())
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = self.cv_results_["mean_test_score"][self.best_index_]
        self.n_splits_ = len(splits)
        self.scorer_ = scorer
        self.multimetric_ = False
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
        tags.target_tags.multi_output = get_tags(
            self.estimator
        ).target_tags.multi_output
        return tags

    def _can_share(self, X, candidates):
        kind = type(self.estimator)
        shape = () if issparse(X) else np.asarray(X).shape
        if not (
            isinstance(self.refit, bool)
            and not self.return_train_score
            and (self.scoring is None or isinstance(self.scoring, str))
            and len(shape) == 2
            and shape[0]
            and (kind in SHARING or getattr(kind, "_takes_shared_gram_matrix", False))
            and all(
                _is_understood(self.estimator.get_params() | c, kind)
                for c in candidates
            )
        ):
            return False
        try:
            n_matrices = 1 + 3 * effective_n_jobs(self.n_jobs)
            require_memory(
                8 * n_matrices * shape[0] ** 2, "the shared Gram matrices", ""
            )
        except MemoryError:
            return False
        return True

    def _score_group(self, X, y, distances, gamma, points, split, scorer):
        """Results of all candidates of one kernel and gamma on one fold.

        In the format of GridSearchCV.
        """
        start = time.perf_counter()
        results = []
        # Row indices: splitters may return masks.
        train, test = (np.arange(len(y))[part] for part in split)
        if not isinstance(gamma, Real):
            # SVC has two rules; None is 1 / d in KernelRidge.
            gamma = resolve_gamma(gamma or "auto", X[train])
        K = exponential_decay(principal_submatrix(distances, train), gamma)
        K_test = exponential_decay(distances[np.ix_(test, train)], gamma)
        for parameters in points.values():
            model = clone(self.estimator).set_params(kernel="precomputed", **parameters)
            score = self.error_score
            error = None
            with config_context(assume_finite=True):
                try:
                    model.fit(K, y[train])
                except Exception as failure:
                    if self.error_score == "raise":
                        raise
                    error = repr(failure)
                fitted = time.perf_counter()
                if error is None:
                    _predict_by_products(model)
                    score = _score(
                        model, K_test, y[test], scorer, None, self.error_score
                    )
            scored = time.perf_counter()
            results.append(
                {
                    "fit_time": fitted - start,
                    "score_time": scored - fitted,
                    "test_scores": score,
                    "fit_error": error,
                }
            )
            start = scored
        return results


def _is_understood(point, kind):
    """Whether the kernel decays and the parameters are supported."""
    gamma = point["gamma"]
    if isinstance(gamma, Real):
        known = 0 < gamma < np.inf
    else:
        known = gamma is None if kind is KernelRidge else gamma in ("scale", "auto")
    numbers = (
        isinstance(point.get("C", 1.0), Real) and np.ndim(point.get("alpha", 1.0)) == 0
    )
    return known and numbers and point["kernel"] in SHARING.get(kind, DECAYING_KERNELS)


def _by_gram_matrix(estimator, candidates):
    """Group candidates by (kernel, gamma): index and remaining parameters."""
    defaults = estimator.get_params()
    groups = defaultdict(dict)
    for index, point in enumerate(candidates):
        values = defaults | point
        rest = {k: v for k, v in point.items() if k not in ("kernel", "gamma")}
        groups[values["kernel"], values["gamma"]][index] = rest
    return groups


def _predict_by_products(model):
    """Replace ``predict``, which is slow in LIBSVM, with a matrix product."""
    if isinstance(model, SVC | SVR) and not getattr(model, "break_ties", False):
        predict = partial(predict_from_gram, model)
        # Scorers need the name of the bound method.
        model.predict = update_wrapper(predict, model.predict)
