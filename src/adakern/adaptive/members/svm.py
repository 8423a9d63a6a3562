"""Support vector machines with the kernels found by kernel ridge regression."""

from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product

import numpy as np
from scipy.sparse import csc_array
from sklearn.svm import SVC, _libsvm
from sklearn.utils import check_random_state

from adakern._utils.resources import (
    by_row_blocks,
    map_in_threads,
    one_blas_thread,
    require_memory,
)
from adakern.adaptive.blend import Calibration, log_loss, log_probabilities
from adakern.adaptive.leave_one_out import tune_scales
from adakern.adaptive.members.base import (
    ENOUGH_ROWS,
    FEW_ROWS,
    Member,
    prepared_centres,
)
from adakern.kernels import gram_matrix, kernel_product

#: Candidates: kernels, factors of the scales found by ridge regression, and values of
#: C.
SVM_KERNELS = ("rbf", "laplacian")
SCALE_FACTORS = (0.6, 1.7)
COSTS = (0.3, 3.0, 30.0)

#: Maximum number of rows for which the models of all pairs of classes share a Gram
#: matrix, and on which parameters are chosen if there are more.
SHARED_GRAM_ROWS = 4000

#: Range of the number of rows for which kernel ridge regressions use some rows as
#: centres, but support vector machines use all rows, provided that no two classes
#: together have more rows than the first value.
PAIR_ROWS, MOST_ROWS = 9000, 25_000


@dataclass(kw_only=True, eq=False)
class SupportVectorMachine(Member):
    """One-vs-one support vector machines with the scales found by ridge regression.

    The ``chosen`` kernel, scales and C minimise the log loss of the calibrated
    out-of-fold decision values.
    """

    chosen: tuple | None = None

    regresses = False
    refit = True
    waits = True

    def suits(self, shape):
        if self.setting.fast or not self.setting.classify:
            return False
        by_pairs = shape.pair <= PAIR_ROWS < shape.n <= MOST_ROWS
        return FEW_ROWS <= shape.n <= SHARED_GRAM_ROWS or by_pairs

    def seconds(self, shape):
        n, _, k, n_folds, _ = shape
        by_square = 4e-7 * max(1, k / 2) if n <= SHARED_GRAM_ROWS else 5e-8
        return n_folds * (0.02 + by_square * n**2)

    @property
    def searches(self):
        """The chosen parameters, reused by the same member on more rows."""
        return [("margin", self.chosen)]

    def set_up(self, table, searches):
        """Return the member with the best parameters, on a subsample of many rows."""
        chosen = searches.get("margin")
        part = table
        many = len(table.X) > SHARED_GRAM_ROWS
        if chosen is None:
            starts = {}
            for kernel, per_feature in product(SVM_KERNELS, (True, False)):
                if (kernel, per_feature) in searches:
                    starts[kernel] = searches[kernel, per_feature]
            if many:
                rng = np.random.RandomState(self.random_state)
                part = table.subsample(rng, SHARED_GRAM_ROWS, SHARED_GRAM_ROWS // 2)
            with one_blas_thread(len(part.X)):
                chosen = choose_parameters(
                    part, starts, self.random_state, by_odds=many
                )
        return replace(self, chosen=chosen)

    def fit(self, X, Y, weights):
        kernel, scales, C = self.chosen
        self.rows_ = X * scales
        self.n_classes_ = Y.shape[1]
        codes = Y.argmax(axis=1)
        if len(X) > SHARED_GRAM_ROWS and np.ptp(codes) > 0:
            self.model_ = _Pairs(self.rows_, codes, weights, kernel, C)
        else:
            K = gram_matrix(self.rows_, kernel=kernel, gamma=1.0)
            self.model_ = _fit_svc(K, codes, weights, C)
        return self

    def predict(self, X):
        kernel, scales, _ = self.chosen
        Z = X * scales
        if isinstance(self.model_, _Pairs):
            return _scores(self.model_, Z, self.n_classes_, by_odds=True)
        prepared = prepared_centres(self, Z, self.rows_, kernel)
        K = gram_matrix(Z, self.rows_, kernel=kernel, gamma=1.0, prepared=prepared)
        return _scores(self.model_, K, self.n_classes_)


def choose_parameters(table, starts, random_state=None, *, by_odds=False):
    """Choose kernel, scales and C by the log loss on left-out rows.

    If there are many rows, only the first fold is left out. ``starts`` maps kernels to
    pairs of scales and ridge; if it is empty, a search finds those of "rbf".
    """
    n, k = table.Y.shape
    folds = range(table.n_folds if n < ENOUGH_ROWS else 1)
    judged = np.isin(table.fold, folds)
    codes = table.Y.argmax(axis=1)
    if not starts:
        Y = table.Y - np.average(table.Y, axis=0, weights=table.weights)
        rng = check_random_state(random_state)
        starts = {"rbf": tune_scales(table.X, Y, table.weights, "rbf", rng)[0]}
    least = np.inf
    best = None
    for kernel, factor in product(starts, SCALE_FACTORS):
        scales = factor * starts[kernel][0]
        K = gram_matrix(table.X * scales, kernel=kernel, gamma=1.0)
        by_cost = np.zeros((len(COSTS), n, k))
        for fold in folds:
            rest = np.flatnonzero(table.known(fold))
            rows = np.flatnonzero(table.fold == fold)
            K_rest = K[np.ix_(rest, rest)]
            K_rows = K[np.ix_(rows, rest)]
            for C, scores in zip(COSTS, by_cost, strict=True):
                model = _fit_svc(K_rest, codes[rest], table.weights[rest], C)
                scores[rows] = _scores(model, K_rows, k, by_odds=by_odds)
        for C, scores in zip(COSTS, by_cost, strict=True):
            part = scores[judged], codes[judged], table.weights[judged]
            calibration = Calibration().fit(*part)
            (log_proba,) = log_probabilities([calibration], part[:1])
            loss = log_loss(log_proba, *part[1:])
            if loss < least:
                least = loss
                best = (kernel, scales, C)
    return best


class _Pairs:
    """Binary SVMs for each pair of classes, each on the Gram matrix of its rows.

    Like SVC with ``decision_function_shape="ovo"``, but takes rows instead of kernels.
    """

    def __init__(self, Z, codes, weights, kernel, C):
        self.rows = Z
        self.kernel = kernel
        self.classes_ = np.unique(codes)

        def learn(pair):
            rows = np.flatnonzero(np.isin(codes, pair))
            require_memory(
                8 * len(rows) ** 2, "the Gram matrix of two classes", "leave out svm"
            )
            K = gram_matrix(Z[rows], kernel=kernel, gamma=1.0)
            model = _fit_svc(K, codes[rows], weights[rows], C)
            # With two classes, SVC's positive class is the second one.
            return rows[model.support_], -model.dual_coef_[0], -model.intercept_[0]

        models = map_in_threads(learn, list(combinations(self.classes_, 2)))
        support, dual, intercept = zip(*models, strict=True)
        self.intercept = np.array(intercept)
        self.columns = (
            np.concatenate(dual),
            np.concatenate(support),
            np.cumsum([0, *map(len, dual)]),
        )

    def decision_function(self, Z):
        """Decision values (n, n_pairs), positive for the first class of a pair."""
        dual = csc_array(self.columns, shape=(len(self.rows), len(self.intercept)))
        return (
            kernel_product(Z, self.rows, dual, kernel=self.kernel, gamma=1.0)
            + self.intercept
        )


def _fit_svc(K, codes, weights, C):
    """Fit an SVC with a limit on iterations; return None if there is only one class.

    Without the limit, noisy data with a large C would take too long.
    """
    if np.ptp(codes) == 0:
        return None
    model = SVC(
        C=C,
        kernel="precomputed",
        decision_function_shape="ovo",
        tol=1e-2,
        max_iter=10_000 + 100 * len(K),
        cache_size=500,
        random_state=0,  # otherwise drawn from the global generator
    )
    return model.fit(K, codes, sample_weight=weights)


def _scores(model, given, n_classes, *, by_odds=False):
    """Class scores from one-vs-one decision values.

    ``given`` are kernel values for an SVC, and rows for :class:`_Pairs`. The score of a
    class is its mean log probability against each other class. With ``by_odds``, it is
    minus the logarithm of one plus the sum of the odds against it, so that pairs
    irrelevant for a row have no influence. For two classes, the difference of the
    scores is proportional to the decision value in both cases. Unseen classes score
    slightly below all others.

    Price, Knerr, Personnaz, Dreyfus. Pairwise neural network classifiers with
    probabilistic outputs. NIPS 1994.
    """
    if model is None:
        return np.zeros((len(given), n_classes))
    # With hundreds of classes, there are tens of thousands of pairs.
    bytes_per_row = 32 * len(model.classes_) ** 2
    of_block = partial(_scores_of_block, model, n_classes, by_odds)
    return by_row_blocks(of_block, given, bytes_per_row)


def _scores_of_block(model, n_classes, by_odds, given):
    """Class scores of a block of rows for which all decision values fit into memory."""
    present = model.classes_
    if not isinstance(model, SVC):
        decision = model.decision_function(given)
    # scikit-learn's checks would take most of the time for a single row.
    elif len(present) == 2:
        # The positive class is the second one in SVC, but the first one here.
        kernel = given[:, model.support_]
        decision = -(kernel @ model.dual_coef_.T + model.intercept_)
    else:
        decision = _libsvm.decision_function(
            np.ascontiguousarray(given),
            model.support_,
            model.support_vectors_,
            model._n_support,
            model._dual_coef_,
            model._intercept_,
            model._probA,
            model._probB,
            kernel="precomputed",
        )
    first, second = np.triu_indices(len(present), 1)
    against = np.zeros((len(given), len(present), len(present)))
    if by_odds:
        against[:, first, second] = -4 * decision
        against[:, second, first] = 4 * decision
        scores = -np.logaddexp.reduce(against, axis=2)
    else:
        # log(1 + exp(z)) is the larger of z and 0, plus the same for z and -z.
        z = 2 * decision
        least = np.logaddexp(0, -np.abs(z))
        against[:, first, second] = least + np.maximum(-z, 0)
        against[:, second, first] = least + np.maximum(z, 0)
        scores = -2 / len(present) * against.sum(axis=2)
    every = np.tile(scores.min(axis=1, keepdims=True) - 1, n_classes)
    every[:, present] = scores
    return every


MEMBERS = [SupportVectorMachine(name="svm", rank=7)]
