"""Members with a margin: support vector machines on the kernels of ridge regression."""

from copy import copy
from itertools import combinations, product

import numpy as np
from scipy.sparse import csc_array
from sklearn.svm import SVC
from sklearn.utils import check_random_state

from adakern._utils.memory import require_memory
from adakern._utils.threads import map_in_threads, one_blas_thread
from adakern.adaptive.blend import Calibration, log_loss
from adakern.adaptive.choose import subsample
from adakern.adaptive.leave_one_out import tune_scales
from adakern.adaptive.members.base import ENOUGH_ROWS, BaseMember
from adakern.kernels import gram_matrix, kernel_product

#: What support vector machines are chosen among: kernels, factors of the scale that
#: ridge regression found, and costs.
MARGIN_KERNELS = ("rbf", "laplacian")
MARGIN_FACTORS = (0.6, 1.7)
MARGIN_COSTS = (0.3, 3.0, 30.0)

#: Rows up to which the machines of all pairs of classes share a Gram matrix, and on
#: which they are chosen where there are more.
MARGIN_ROWS = 4000


class MarginMember(BaseMember):
    """Support vector machines, one-vs-one, on the scales that ridge regression found.

    ``starts`` are pairs of scales and ridge by kernel; without any they are searched.
    Kernel, factor of the scales and C are ``chosen``, or those whose decision values
    for the rows left out of the folds have the least log loss, calibrated.
    """

    refit = True

    def __init__(self, starts, chosen=None, random_state=None):
        self.starts = starts
        self.chosen = chosen
        self.random_state = random_state

    def found(self):
        """Kernel, scales and C."""
        return self.chosen

    def fit_folds(self, table, run, whole=None):
        """Choose among the candidates by all folds, or of many rows by some of the
        first.
        """
        member, part = copy(self), table
        if len(table.X) > MARGIN_ROWS:
            rng = np.random.RandomState(self.random_state)
            part = subsample(table, rng, MARGIN_ROWS, MARGIN_ROWS // 2)
        with one_blas_thread(len(part.X)):
            member.chosen = self.chosen or self._choose(part.X, part, part is not table)
        return super(MarginMember, member).fit_folds(table, run)

    def _choose(self, X, table, by_odds=False):
        folds = range(table.n_folds if len(X) < ENOUGH_ROWS else 1)
        judged, codes = np.isin(table.fold, folds), table.Y.argmax(axis=1)
        least, best = np.inf, None
        starts = {k: self.starts[k] for k in MARGIN_KERNELS if k in self.starts}
        if not starts:
            Y = table.Y - np.average(table.Y, axis=0, weights=table.weights)
            rng = check_random_state(self.random_state)
            starts["rbf"], _ = tune_scales(X, Y, table.weights, "rbf", rng)
        for kernel, factor in product(starts, MARGIN_FACTORS):
            scales = factor * starts[kernel][0]
            K = gram_matrix(X * scales, kernel=kernel, gamma=1.0)
            for C in MARGIN_COSTS:
                scores = np.zeros(table.Y.shape)
                for k in folds:
                    train, rest = map(
                        np.flatnonzero, (table.fold != k, table.fold == k)
                    )
                    model = _fit_svc(
                        K[np.ix_(train, train)], codes[train], table.weights[train], C
                    )
                    given = K[np.ix_(rest, train)]
                    scores[rest] = _scores(
                        model, given, table.Y.shape[1], by_odds=by_odds
                    )
                part = scores[judged], codes[judged], table.weights[judged]
                calibrated = Calibration().fit(*part).log_probabilities(part[0])
                if (loss := log_loss(calibrated, *part[1:])) < least:
                    least, best = loss, (kernel, scales, C)
        return best

    def fit(self, X, Y, weights):
        """Learn the machines of all pairs of classes."""
        kernel, scales, C = self.chosen
        self.rows_, self.n_classes_, codes = X * scales, Y.shape[1], Y.argmax(axis=1)
        if len(X) > MARGIN_ROWS and np.ptp(codes) > 0:
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
        K = gram_matrix(Z, self.rows_, kernel=kernel, gamma=1.0)
        return _scores(self.model_, K, self.n_classes_)


class _Pairs:
    """A machine for each pair of classes, on the Gram matrix of their rows alone.

    As SVC with ``decision_function_shape="ovo"``, but asked by rows.
    """

    def __init__(self, Z, codes, weights, kernel, C):
        self.rows, self.kernel, self.classes_ = Z, kernel, np.unique(codes)

        def learn(pair):
            rows = np.flatnonzero(np.isin(codes, pair))
            require_memory(
                8 * len(rows) ** 2, "the Gram matrix of two classes", "leave out svm"
            )
            K = gram_matrix(Z[rows], kernel=kernel, gamma=1.0)
            model = _fit_svc(K, codes[rows], weights[rows], C)
            # Of two classes the second is the positive one.
            return rows[model.support_], -model.dual_coef_[0], -model.intercept_[0]

        machines = map_in_threads(learn, list(combinations(self.classes_, 2)))
        support, dual, intercept = zip(*machines, strict=True)
        self.intercept = np.array(intercept)
        self.columns = (
            np.concatenate(dual),
            np.concatenate(support),
            np.cumsum([0, *map(len, dual)]),
        )

    def decision_function(self, Z):
        """Decision values (n, number of pairs), positive for the first of
        two classes."""
        dual = csc_array(self.columns, shape=(len(self.rows), len(self.intercept)))
        return (
            kernel_product(Z, self.rows, dual, kernel=self.kernel, gamma=1.0)
            + self.intercept
        )


def _fit_svc(K, codes, weights, C):
    """Machines that end, which noise at a large C keeps from it; None for one class."""
    if np.ptp(codes) == 0:
        return None
    model = SVC(
        C=C,
        kernel="precomputed",
        decision_function_shape="ovo",
        tol=1e-2,
        max_iter=10_000 + 100 * len(K),
        cache_size=500,
        random_state=0,  # drawn from the global generator otherwise
    )
    return model.fit(K, codes, sample_weight=weights)


def _scores(model, given, n_classes, *, by_odds=False):
    """Decision values of pairs, coupled; the model is given kernels, or rows.

    Mean logarithms of a class winning against each other, or with ``by_odds`` minus the
    logarithm of one plus the sum of the odds against it (Price, Knerr, Personnaz,
    Dreyfus. Pairwise neural network classifiers with probabilistic outputs. NIPS 1994),
    in which pairs that have nothing to do with a row do not count. Both for two classes
    are differences in proportion to the decision value. A class that the model never
    saw is a little less likely than all others.
    """
    if model is None:
        return np.zeros((len(given), n_classes))
    present, decision = model.classes_, model.decision_function(given)
    if decision.ndim == 1:
        decision = -decision[:, None]  # of two classes the second is the positive one
    against = np.zeros((len(given), len(present)))
    for f, i, j in zip(decision.T, *np.triu_indices(len(present), 1), strict=True):
        for c, margin in ((i, f), (j, -f)):
            if by_odds:
                against[:, c] = np.logaddexp(against[:, c], -4 * margin)
            else:
                against[:, c] += np.logaddexp(0, -2 * margin)
    scores = -against if by_odds else -2 / len(present) * against
    every = np.tile(scores.min(axis=1, keepdims=True) - 1, n_classes)
    every[:, present] = scores
    return every
