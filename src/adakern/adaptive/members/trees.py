"""Members of trees, from scikit-learn: forests and boosting."""

from contextlib import nullcontext

import numpy as np
from sklearn import ensemble
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.utils import check_random_state

from adakern._utils.blocks import row_blocks
from adakern._utils.threads import blas_threads, map_in_threads, one_thread
from adakern.adaptive.members.base import BaseMember, all_classes, log_proba

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

#: Columns that a split of small trees looks at, at most.
MOST_FEATURES = 300

#: Below so many rows boosting is small and forests have a third of their trees: the
#: rest took a quarter of the time of a fit, and the blend was none the better for it.
#: With more, classification ends when a tenth of the rows, held out, gains no more.
FEW_ROWS = 2000

#: Options of boosting on few rows, and on many.
BOOSTING = {
    "max_iter": (80, 800),
    "learning_rate": (0.1, 0.05),
    "max_leaf_nodes": (8, 31),
    "min_samples_leaf": (8, 10),
    "l2_regularization": (5.0, 3.0),
    "max_features": (0.4, 0.7),
}

#: And of many rows where it only is screened.
ROUGH = {"max_iter": 250, "learning_rate": 0.15}


class TreeMember(BaseMember):
    """Trees take missing values, but no columns that hold nothing else where they
    learn.
    """

    view = "tree"

    #: Whether it is only screened, for which fewer trees do.
    rough = False

    def fit(self, X, Y, weights):
        self.empty_ = np.isnan(X).all(axis=0)
        return self._grow(self._filled(X), Y, weights)

    def _filled(self, X):
        return np.where(self.empty_, 0.0, X)


class ForestMember(TreeMember):
    """Random forest or, if ``extra``, extremely randomised trees grown on all rows.

    Sixty trees in each fold, so that five folds have 300; a third on tables of less
    than 2,000 rows, and of more than 20,000, of which each tree of a random forest then
    draws so many.
    """

    def __init__(self, classify, extra, random_state=None):
        self.classify = classify
        self.extra = extra
        self.random_state = random_state

    def _grow(self, X, Y, weights):
        forests = {
            (False, False): ensemble.RandomForestRegressor,
            (False, True): ensemble.ExtraTreesRegressor,
            (True, False): ensemble.RandomForestClassifier,
            (True, True): ensemble.ExtraTreesClassifier,
        }
        make, n = forests[self.classify, self.extra], len(X)
        n_trees = 20 if self.rough or n < FEW_ROWS or n > ROWS_PER_TREE else 60
        drawn = {"bootstrap": True, "max_samples": ROWS_PER_TREE}
        options = {} if self.extra or n <= ROWS_PER_TREE else drawn
        if n < FEW_ROWS and not self.classify:
            options["max_features"] = _share(0.5 if self.extra else 1 / 3, X)
        self.model_ = make(
            n_trees,
            min_samples_leaf=1 if self.classify else 2,
            random_state=self.random_state,
            n_jobs=blas_threads() if n >= ROWS_FOR_THREADS else None,
            **options,
        )
        self.n_classes_ = Y.shape[1]
        target = Y.argmax(axis=1) if self.classify else Y[:, 0]
        self.model_.fit(X, target, sample_weight=weights)
        # Trees that answer in threads are summed up in any order, with any rounding.
        self.model_.n_jobs = None
        return self

    def predict(self, X):
        X, blocks = self._filled(X), row_blocks(len(X), 1, ROWS_FOR_THREADS)
        parts = map_in_threads(self._predict_block, [X[rows] for rows in blocks])
        return np.concatenate(parts)

    def _predict_block(self, X):
        if not self.classify:
            return self.model_.predict(X)[:, None]
        probabilities = all_classes(self.model_, X, self.n_classes_)
        n_trees = len(self.model_)
        return log_proba((probabilities * n_trees + 0.5) / (n_trees + 1))


class BoostingMember(TreeMember):
    """Gradient boosting on binned features, categories by splits of their own.

    ``is_categorical`` (d,) are the columns that hold codes of categories.
    """

    def __init__(self, classify, is_categorical, random_state=None):
        self.classify = classify
        self.is_categorical = is_categorical
        self.random_state = random_state

    def _grow(self, X, Y, weights):
        few_codes = np.array(
            [len(np.unique(column)) < MAX_CATEGORIES for column in X.T]
        )
        small, early_stopping, target = len(X) < FEW_ROWS, False, Y[:, 0]
        options = {
            name: few if small else many for name, (few, many) in BOOSTING.items()
        }
        options["max_features"] = _share(options["max_features"], X)
        if self.rough and not small:
            options |= ROUGH
        if self.classify:
            target = Y.argmax(axis=1)
            self.n_classes_ = Y.shape[1]
            # Each round grows a tree for each class.
            most = max(15, MAX_BOOSTED_TREES // max(Y.shape[1], 2))
            faster = max(1.0, options["max_iter"] / most)
            options["max_iter"] = min(options["max_iter"], most)
            options["learning_rate"] = min(0.3, faster * options["learning_rate"])
            # A tenth is held out with rows of each class: a class of one row is left
            # out.
            several = np.bincount(target) > 1
            early_stopping = not small and 1 < several.sum() <= len(X) / 20
            if early_stopping:
                X, target, weights = (
                    part[several[target]] for part in (X, target, weights)
                )
        options["min_samples_leaf"] = min(
            options["min_samples_leaf"], max(1, len(X) // 10)
        )
        make = (
            HistGradientBoostingClassifier
            if self.classify
            else HistGradientBoostingRegressor
        )
        rng = check_random_state(self.random_state)
        self.model_ = make(
            **options,
            early_stopping=early_stopping,
            n_iter_no_change=15,
            categorical_features=self.is_categorical & few_codes,
            random_state=rng.randint(2**31 - 1),
        )
        # Weights cost scikit-learn a sort for every edge of every bin, equal ones too.
        uneven = weights if np.ptp(weights) > 0 else None
        few_rows = len(X) < ROWS_FOR_BOOSTING_THREADS or blas_threads() == 1
        with one_thread("openmp") if few_rows else nullcontext():
            self.model_.fit(X, target, sample_weight=uneven)
        return self

    def predict(self, X):
        X, few_rows = self._filled(X), len(X) < ROWS_FOR_THREADS
        with one_thread("openmp") if few_rows else nullcontext():
            if not self.classify:
                return self.model_.predict(X)[:, None]
            return log_proba(all_classes(self.model_, X, self.n_classes_))


def _share(share, X):
    """Part of the columns that a split looks at: two or more, at most some hundreds."""
    d = X.shape[1]
    return min(max(round(share * d), 2), MOST_FEATURES, d) / d
