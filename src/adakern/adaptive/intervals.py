"""Prediction intervals and sets from what was predicted out of fold."""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit
from sklearn.ensemble import ExtraTreesRegressor

#: Fewer rows than this tell nothing of where errors are large.
FEWEST_ROWS = 40

#: Rows that the sizes of errors are learned from at most.
MOST_ROWS = 20_000


def conformal_quantile(values, weights, level):
    """The least value below which a new one lies with probability ``level``.

    The new one is thought of as one more row of average weight and of the greatest
    value: infinity where there are too few rows.
    """
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    wanted = level * (total[-1] + weights.mean())
    place = np.searchsorted(total, wanted * (1 - 1e-12))
    return float(values[order[place]]) if place < len(values) else np.inf


@dataclass
class ErrorModel:
    """Errors left out, divided by how large they are expected to be at their rows.

    Those of ``n_blocks`` of later rows, if not 0, have the share ``common`` of their
    mean square from what a block's rows have in common.
    """

    forest: object
    least: float
    errors: np.ndarray
    weights: np.ndarray
    n_blocks: int = 0
    common: float = 0.0

    def widening(self, coverage):
        """By how much bounds are wider since few blocks stand for those to come.

        If rows of a block had one error, K blocks were K values. The quantile of level
        p is then the ceil(K p)-th of them, which holds a new one with probability
        ceil(K p) / (K + 1), and Student's t, K degrees of freedom, tells by what factor
        wider bounds hold it with p. If rows of a block had nothing in common it is 1.
        Between, by the square of the share, normal errors are held with 0.88 to 0.92 of
        0.9 for one to three blocks and all shares.
        """
        if not self.n_blocks or not coverage > 0:
            return 1.0
        held = np.ceil(self.n_blocks * coverage) / (self.n_blocks + 1)
        levels = np.array([coverage, min(coverage, held)])
        wide, narrow = stdtrit(self.n_blocks, (1 + levels) / 2)
        return float(1 + self.common**2 * (wide / narrow - 1))

    def scale(self, X, predicted):
        """Expected size of errors, up to a factor."""
        if self.forest is None:
            return np.ones(len(X))
        expected = self.forest.predict(np.column_stack([X, predicted]))
        return np.maximum(expected, self.least)

    def interval(self, X, predicted, coverage):
        """Bounds (n, 2) around the predictions (n,)."""
        half = conformal_quantile(np.abs(self.errors), self.weights, coverage)
        half = half * self.widening(coverage) * self.scale(X, predicted)
        return np.column_stack([predicted - half, predicted + half])

    def quantiles(self, X, predicted, levels):
        """Quantiles (n, n_levels) of the target."""
        steps = []
        for level in levels:
            sign = 1 if level >= 0.5 else -1
            outward = max(level, 1 - level)
            step = conformal_quantile(sign * self.errors, self.weights, outward)
            wider = self.widening(2 * outward - 1)
            steps.append(sign * (step * wider if step > 0 else step / wider))
        return predicted[:, None] + np.outer(self.scale(X, predicted), steps)


def common_share(errors, weights, block):
    """The share of the mean squared error that rows of a block have in common."""
    n, n_blocks = len(errors), block.max() + 1
    total, mass = weights @ errors**2, np.bincount(block, weights)
    if not total > 0 or n <= n_blocks:
        return 0.0
    means = np.bincount(block, weights * errors) / mass
    by_chance = n_blocks / n
    share = (mass @ means**2 / total - by_chance) / (1 - by_chance)
    return float(max(share, 0.0))


def fit_error_model(X, predicted, errors, weights, block=None):
    """An :class:`ErrorModel` of errors (n,) that out-of-fold predictions make.

    ``block`` (n,) is that of each of rows in order of time. Extra trees learn absolute
    errors from the rows and predictions; each row is judged by the trees that did not
    draw it.
    """
    size = np.abs(errors)
    least = max(0.1 * np.median(size), 1e-3 * size.max())
    if len(size) < FEWEST_ROWS or not least > 0:
        return _error_model(None, 1.0, errors, weights, block)
    inputs = np.column_stack([X, predicted])
    rows = np.random.default_rng(0).permutation(len(size))[:MOST_ROWS]
    forest = ExtraTreesRegressor(
        50,
        min_samples_leaf=10,
        max_features=0.5,
        bootstrap=True,
        oob_score=True,
        random_state=0,
    )
    with warnings.catch_warnings():
        # Those that every tree drew, as the heaviest are: they have 0 here, and the
        # forest's prediction stands for it.
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
        forest.fit(inputs[rows], size[rows], weights[rows])
    expected = forest.predict(inputs)
    known = forest.oob_prediction_ > 0
    expected[rows[known]] = forest.oob_prediction_[known]
    scaled = errors / np.maximum(expected, least)
    return _error_model(forest, least, scaled, weights, block)


def _error_model(forest, least, errors, weights, block):
    if block is None:
        return ErrorModel(forest, least, errors, weights)
    common = common_share(errors, weights, block)
    return ErrorModel(forest, least, errors, weights, int(block.max()) + 1, common)
