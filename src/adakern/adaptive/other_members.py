"""Members from scikit-learn: a linear floor, forests, boosting."""

from contextlib import nullcontext

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state

from adakern._utils.blocks import row_blocks
from adakern._utils.threads import blas_threads, map_in_threads, one_thread
from adakern.adaptive.parts import BaseMember

__all__ = ["BoostingMember", "ForestMember", "LinearMember"]

#: HistGradientBoosting treats a column as categorical up to so many categories.
MAX_CATEGORIES = 255

#: Where there are more rows a third of the trees do, and each of a random forest, which
#: takes longer to grow than an extremely randomised one, draws so many.
ROWS_PER_TREE = 20_000

#: Rows from which on trees are grown, and rows predicted, in several threads.
ROWS_FOR_THREADS = 2000

#: Rows from which on boosting has several threads. With fewer a second one gains little
#: or nothing: threads wait for each other at the end of every short loop. Where another
#: process has a core they wait for that, and a fit to 8,000 rows takes twice as long.
ROWS_FOR_BOOSTING_THREADS = 50_000

#: Most trees of a boosting with many classes, over all of them.
MAX_BOOSTED_TREES = 1500


class LinearMember(BaseMember):
    """Ridge regression with closed-form leave-one-out, or logistic regression.

    Parameters
    ----------
    classify : bool
        Whether the targets are indicators of classes.
    """

    refit = True

    def __init__(self, classify):
        self.classify = classify

    def fit(self, X, Y, weights):
        """Learn from X (n, d), Y (n, k) and positive weights (n,).

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        Y : ndarray of shape (n, k)
            Targets, or indicators of the classes.
        weights : ndarray of shape (n,)
            Of the rows, positive.
        """
        if self.classify:
            self.model_ = LogisticRegression(max_iter=300)
            self.n_classes_ = Y.shape[1]
            self.model_.fit(X, Y.argmax(axis=1), sample_weight=weights)
            return self
        self.intercept_ = np.average(Y, axis=0, weights=weights)
        self.centre_ = np.average(X, axis=0, weights=weights)
        root = np.sqrt(weights)[:, None]
        A, B = root * (X - self.centre_), root * (Y - self.intercept_)
        U, s, Vt = np.linalg.svd(A, full_matrices=False)
        target, leverage = U.T @ B, U**2
        best = np.inf
        for alpha in np.logspace(-4, 4, 17) * len(X) / 100:
            shrink = (s**2 / (s**2 + alpha))[:, None]
            left_out = (B - U @ (shrink * target)) / (1 - leverage @ shrink)
            if np.sum(left_out**2) < best:
                best = np.sum(left_out**2)
                self.coef_ = Vt.T @ ((s / (s**2 + alpha))[:, None] * target)
        return self

    def predict(self, X):
        """Values of shape (n, k): predictions, or the logarithms of probabilities.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        """
        if self.classify:
            return _log(_all_classes(self.model_, X, self.n_classes_))
        return (X - self.centre_) @ self.coef_ + self.intercept_


class ForestMember(BaseMember):
    """Random forest or extra trees.

    Parameters
    ----------
    classify : bool
    extra : bool
        Extremely randomised trees, grown on all rows, instead of bagged ones.
    n_trees : int, default=60
        In each fold, so that five folds have 300; a third of them on tables of fewer
        than 60 rows, whose trees have few splits to average over, and on tables of more
        than 20,000, of which each tree of a random forest then draws so many.
    random_state : int, RandomState instance or None, default=None
    """

    view = "tree"

    def __init__(self, classify, extra, n_trees=60, random_state=None):
        self.classify = classify
        self.extra = extra
        self.n_trees = n_trees
        self.random_state = random_state

    def fit(self, X, Y, weights):
        """Learn from X (n, d), Y (n, k) and positive weights (n,).

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        Y : ndarray of shape (n, k)
            Targets, or indicators of the classes.
        weights : ndarray of shape (n,)
            Of the rows, positive.
        """
        forests = {
            (False, False): RandomForestRegressor,
            (False, True): ExtraTreesRegressor,
            (True, False): RandomForestClassifier,
            (True, True): ExtraTreesClassifier,
        }
        make = forests[self.classify, self.extra]
        usual = 60 <= len(X) <= ROWS_PER_TREE
        self.n_trees_ = self.n_trees if usual else (self.n_trees + 2) // 3
        drawn = {"bootstrap": True, "max_samples": ROWS_PER_TREE}
        self.model_ = make(
            self.n_trees_,
            min_samples_leaf=1 if self.classify else 2,
            random_state=self.random_state,
            n_jobs=blas_threads() if len(X) >= ROWS_FOR_THREADS else None,
            **({} if self.extra or len(X) <= ROWS_PER_TREE else drawn),
        )
        self.n_classes_ = Y.shape[1]
        target = Y.argmax(axis=1) if self.classify else Y[:, 0]
        self.model_.fit(X, target, sample_weight=weights)
        # Trees that answer in threads are summed up in any order, with any rounding.
        self.model_.n_jobs = None
        return self

    def predict(self, X):
        """Values of shape (n, k): predictions, or the logarithms of probabilities.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        """
        blocks = row_blocks(len(X), 1, ROWS_FOR_THREADS)
        parts = map_in_threads(self._predict_block, [X[rows] for rows in blocks])
        return np.concatenate(parts)

    def _predict_block(self, X):
        if not self.classify:
            return self.model_.predict(X)[:, None]
        probabilities = _all_classes(self.model_, X, self.n_classes_)
        return _log((probabilities * self.n_trees_ + 0.5) / (self.n_trees_ + 1))


class BoostingMember(BaseMember):
    """Gradient boosting on binned features, categories by splits of their own.

    Parameters
    ----------
    classify : bool
    is_categorical : ndarray of bool, shape (d,)
        Columns that hold codes of categories.
    random_state : int, RandomState instance or None, default=None
    """

    view = "tree"

    def __init__(self, classify, is_categorical, random_state=None):
        self.classify = classify
        self.is_categorical = is_categorical
        self.random_state = random_state

    def fit(self, X, Y, weights):
        """Learn from X (n, d), Y (n, k) and positive weights (n,).

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        Y : ndarray of shape (n, k)
            Targets, or indicators of the classes.
        weights : ndarray of shape (n,)
            Of the rows, positive.
        """
        few = np.array([len(np.unique(column)) < MAX_CATEGORIES for column in X.T])
        n_rounds = 150 if len(X) < 2000 else 300
        target = Y[:, 0]
        if self.classify:
            target = Y.argmax(axis=1)
            self.n_classes_ = Y.shape[1]
            per_round = Y.shape[1] if Y.shape[1] > 2 else 1
            n_rounds = max(15, min(n_rounds, MAX_BOOSTED_TREES // per_round))
        make = (
            HistGradientBoostingClassifier
            if self.classify
            else HistGradientBoostingRegressor
        )
        rng = check_random_state(self.random_state)
        self.model_ = make(
            max_iter=n_rounds,
            learning_rate=min(0.3, 12 / n_rounds),
            max_leaf_nodes=15 if len(X) < 2000 else 31,
            min_samples_leaf=min(8 if len(X) < 2000 else 20, max(1, len(X) // 10)),
            l2_regularization=1.0,
            early_stopping=False,
            categorical_features=self.is_categorical & few,
            random_state=rng.randint(2**31 - 1),
        )
        # Weights cost scikit-learn a sort for every edge of every bin, equal ones too.
        uneven = weights if np.ptp(weights) > 0 else None
        few_rows = len(X) < ROWS_FOR_BOOSTING_THREADS
        with one_thread("openmp") if few_rows else nullcontext():
            self.model_.fit(X, target, sample_weight=uneven)
        return self

    def predict(self, X):
        """Values of shape (n, k): predictions, or the logarithms of probabilities.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        """
        few_rows = len(X) < ROWS_FOR_THREADS
        with one_thread("openmp") if few_rows else nullcontext():
            if not self.classify:
                return self.model_.predict(X)[:, None]
            return _log(_all_classes(self.model_, X, self.n_classes_))


def _all_classes(model, X, n_classes):
    """Probabilities with a column of zeros for each class the model never saw."""
    probabilities = np.zeros((len(X), n_classes))
    probabilities[:, model.classes_] = model.predict_proba(X)
    return probabilities


def _log(probabilities):
    return np.log(np.maximum(probabilities, 1e-6))
