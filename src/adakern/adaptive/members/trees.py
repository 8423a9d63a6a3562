"""Tree members, from scikit-learn: forests and boosting."""

from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from sklearn import clone, ensemble
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.utils import check_random_state

from adakern._utils.resources import blas_threads, one_thread
from adakern.adaptive.members.base import FEW_ROWS, MANY_ROWS, Member, log_proba
from adakern.adaptive.tree_predictions import (
    FEW_ROWS_PREDICTED,
    ROWS_FOR_THREADS,
    joined_tree,
    mean_of_trees,
    probabilities,
    require_columns,
    sums_of_iterations,
)
from adakern.adaptive.views import TreeView

#: Number of trees of a forest in each fold, so that five folds have 300; and below
#: SMALL_ROWS and above ROWS_PER_TREE rows.
N_TREES, FEW_TREES = 60, 20

#: Maximum number of categories of a categorical column in HistGradientBoosting.
MAX_CATEGORIES = 255

#: Above this number of rows, forests have fewer trees. Each tree of a random forest,
#: which takes longer than extremely randomised ones, then draws so many rows.
ROWS_PER_TREE = 20_000

#: Number of rows from which on boosting is fitted in several threads. With fewer rows,
#: a second thread gains little, since threads wait for each other at the end of every
#: short loop. If another process occupies a core, they wait for that as well, and a fit
#: to 8,000 rows takes twice as long.
ROWS_FOR_BOOSTING_THREADS = 50_000

#: Maximum number of trees of boosting, summed over the classes if there are many.
MAX_BOOSTED_TREES = 1500

#: Maximum number of columns considered by a split.
MOST_FEATURES = 300

#: Below this number of rows, boosting is small and forests have fewer trees: more took
#: a quarter of the time of a fit without improving the blend. With more rows, boosting
#: of classes stops when the score of a held-out tenth of the rows no longer improves.
SMALL_ROWS = 2000

#: Options of boosting on few rows.
BOOSTING_OF_FEW = {
    "max_iter": 80,
    "learning_rate": 0.1,
    "max_leaf_nodes": 8,
    "min_samples_leaf": 8,
    "l2_regularization": 5.0,
    "max_features": 0.4,
}

#: Options of boosting on many rows.
BOOSTING_OF_MANY = {
    "max_iter": 800,
    "learning_rate": 0.05,
    "max_leaf_nodes": 31,
    "min_samples_leaf": 10,
    "l2_regularization": 3.0,
    "max_features": 0.7,
}

#: Options of boosting on many rows in a screening.
BOOSTING_IN_SCREENING = {"max_iter": 250, "learning_rate": 0.15}

#: Maximum number of targets for boosting, which fits a model for each: with more, it
#: would take longer than everything else.
MOST_TARGETS = 4

#: Above this number of classes, the size of forests is limited; and maximum size, in
#: numbers (one per class and node), about a tenth of a gigabyte per fold.
MANY_CLASSES = 50
MOST_NODE_VALUES = 2**24

#: Random forests and extremely randomised trees, for regression and classification.
FORESTS = (
    (ensemble.RandomForestRegressor, ensemble.RandomForestClassifier),
    (ensemble.ExtraTreesRegressor, ensemble.ExtraTreesClassifier),
)


@dataclass(kw_only=True, eq=False)
class Forest(Member):
    """Random forest or, if ``extra``, extremely randomised trees grown on all rows.

    Above 20,000 rows, each tree of a random forest draws 20,000 of them. Trees store a
    number per class in each node: with hundreds of classes, the number of trees is
    limited by memory. If a single tree may be too large, forests are fitted only if the
    user names them.
    """

    extra: bool = False

    view = TreeView

    def suits(self, shape):
        rows = shape.n if self.extra else min(shape.n, ROWS_PER_TREE)
        if shape.k > MANY_CLASSES and 2 * rows * shape.k > MOST_NODE_VALUES:
            return False
        if self.setting.fast:
            return self.extra and shape.n <= MANY_ROWS
        return self.extra or self.setting.classify

    def seconds(self, shape):
        slower = 0.5 if self.extra else 1.0
        return shape.n_folds * (0.05 + slower * 8e-6 * shape.n * shape.d**0.7)

    def fit(self, X, Y, weights):
        X = _without_empty_columns(X)
        n = len(X)
        classify = self.setting.classify
        rough = self.setting.screening and not classify
        few_trees = rough or n < SMALL_ROWS or n > ROWS_PER_TREE
        options = {}
        if n > ROWS_PER_TREE and not self.extra:
            options = {"bootstrap": True, "max_samples": ROWS_PER_TREE}
        if n < SMALL_ROWS and not classify:
            options["max_features"] = _share(0.5 if self.extra else 1 / 3, X)
        n_trees = FEW_TREES if few_trees else N_TREES
        self.model_ = FORESTS[self.extra][classify](
            n_trees,
            min_samples_leaf=1 if classify else 2,
            random_state=self.random_state,
            n_jobs=blas_threads() if n >= ROWS_FOR_THREADS else None,
            **options,
        )
        self.n_classes_ = Y.shape[1]
        target = Y if Y.shape[1] > 1 else Y[:, 0]
        target = Y.argmax(axis=1) if classify else target
        if Y.shape[1] > MANY_CLASSES:
            # Grow the first tree, to find out how large the trees are.
            self.model_.set_params(n_estimators=1, warm_start=True)
            self.model_.fit(X, target, sample_weight=weights)
            room = MOST_NODE_VALUES // self.model_[0].tree_.value.size
            self.model_.set_params(n_estimators=min(n_trees, max(2, room)))
        self.model_.fit(X, target, sample_weight=weights)
        self.model_.warm_start = False
        # If threads added up the trees, rounding would depend on their order.
        self.model_.n_jobs = None
        return self

    def predict(self, X):
        return self.predict_each([self], X)[0]

    def predict_each(self, models, X):
        """Predict by each model; for few rows, by all trees together if possible."""
        forests = [member.model_ for member in models]
        for forest in forests:
            require_columns(forest, X)
        rows = X.astype(np.float32)
        classes = {tuple(getattr(forest, "classes_", ())) for forest in forests}
        if len(X) <= FEW_ROWS_PREDICTED and len(classes) == 1:
            leaves = joined_tree(forests).leaves(rows)
            means = [values.cumsum(axis=0)[-1] / len(values) for values in leaves]
        else:
            means = [mean_of_trees(forest, rows) for forest in forests]
        if not self.setting.classify:
            return means
        return log_proba(means, forests, self.n_classes_, [*map(len, forests)])


class Boosting(Member):
    """Gradient boosting on binned features, with native support of categories.

    A model is fitted for each target.
    """

    view = TreeView

    def suits(self, shape):
        if not self.setting.classify and shape.k > MOST_TARGETS:
            return False
        return shape.n >= (MANY_ROWS + 1 if self.setting.fast else FEW_ROWS)

    def seconds(self, shape):
        # Hundreds of iterations take some time even on small tables.
        least = 0.05 if shape.n < SMALL_ROWS else 0.8
        trees = min(shape.k, 15) * (least + 6e-6 * shape.n * shape.d**0.7)
        return shape.n_folds * (0.05 + trees)

    def fit(self, X, Y, weights):
        X = _without_empty_columns(X)
        targets = Y.T
        small = len(X) < SMALL_ROWS
        early_stopping = False
        options = dict(BOOSTING_OF_FEW if small else BOOSTING_OF_MANY)
        options["max_features"] = _share(options["max_features"], X)
        has_few_codes = [len(np.unique(column)) < MAX_CATEGORIES for column in X.T]
        make = HistGradientBoostingRegressor
        if self.setting.classify:
            make = HistGradientBoostingClassifier
            targets = [Y.argmax(axis=1)]
            self.n_classes_ = Y.shape[1]
            # Each iteration grows a tree per class.
            most = max(15, MAX_BOOSTED_TREES // max(Y.shape[1], 2))
            faster = max(1.0, options["max_iter"] / most)
            options["max_iter"] = min(options["max_iter"], most)
            options["learning_rate"] = min(0.3, faster * options["learning_rate"])
            # The held-out tenth is stratified, so classes with a single row are left
            # out.
            several = np.bincount(targets[0]) > 1
            early_stopping = not small and 1 < several.sum() <= len(X) / 20
            if early_stopping:
                used = several[targets[0]]
                X, targets, weights = X[used], [targets[0][used]], weights[used]
        elif self.setting.screening and not small:
            options |= BOOSTING_IN_SCREENING
        leaf = min(options["min_samples_leaf"], max(1, len(X) // 10))
        rng = check_random_state(self.random_state)
        model = make(
            **options | {"min_samples_leaf": leaf},
            early_stopping=early_stopping,
            n_iter_no_change=15,
            categorical_features=self.setting.is_categorical & has_few_codes,
            random_state=rng.randint(2**31 - 1),
        )
        # With weights, even equal ones, scikit-learn sorts for every edge of every bin.
        uneven = weights if np.ptp(weights) > 0 else None
        few_rows = len(X) < ROWS_FOR_BOOSTING_THREADS or blas_threads() == 1
        with one_thread("openmp") if few_rows else nullcontext():
            self.models_ = [
                clone(model).fit(X, target, sample_weight=uneven) for target in targets
            ]
        return self

    def predict(self, X):
        return self.predict_each([self], X)[0]

    def predict_each(self, models, X):
        """Predict by each model; for few rows, by the trees of all models together."""
        models_by_target = zip(*(member.models_ for member in models), strict=True)
        by_target = [sums_of_iterations(each, X) for each in models_by_target]
        if not self.setting.classify:
            return [np.hstack(sums) for sums in zip(*by_target, strict=True)]
        fitted = [model for member in models for model in member.models_]
        return log_proba(probabilities(fitted, *by_target), fitted, self.n_classes_)


def _without_empty_columns(X):
    """Replace columns without any value by zeros: no tree splits a constant column."""
    return np.where(np.isnan(X).all(axis=0), 0.0, X)


def _share(share, X):
    """Fraction of columns per split: at least 2, and at most 300 columns."""
    d = X.shape[1]
    return min(max(round(share * d), 2), MOST_FEATURES, d) / d


MEMBERS = [
    Forest(name="forest", rank=3),
    Forest(name="extra-trees", rank=5, extra=True),
    Boosting(name="boosting", rank=8),
]
