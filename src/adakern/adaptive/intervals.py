"""Prediction intervals and sets from what was predicted out of fold."""

import warnings
from dataclasses import dataclass

import numpy as np
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
    """Errors left out, divided by how large they are expected to be at their rows."""

    forest: object
    least: float
    errors: np.ndarray
    weights: np.ndarray

    def scale(self, X, predicted):
        """Expected size of errors, up to a factor."""
        if self.forest is None:
            return np.ones(len(X))
        expected = self.forest.predict(np.column_stack([X, predicted]))
        return np.maximum(expected, self.least)

    def interval(self, X, predicted, coverage):
        """Bounds (n, 2) around the predictions (n,)."""
        half = conformal_quantile(np.abs(self.errors), self.weights, coverage)
        half = half * self.scale(X, predicted)
        return np.column_stack([predicted - half, predicted + half])

    def quantiles(self, X, predicted, levels):
        """Quantiles (n, n_levels) of the target."""
        steps = [
            conformal_quantile(self.errors, self.weights, level)
            if level >= 0.5
            else -conformal_quantile(-self.errors, self.weights, 1 - level)
            for level in levels
        ]
        return predicted[:, None] + np.outer(self.scale(X, predicted), steps)


def fit_error_model(X, predicted, errors, weights):
    """An :class:`ErrorModel` of errors (n,) that out-of-fold predictions make.

    Extra trees learn absolute errors from the rows and predictions; each row is judged
    by the trees that did not draw it.
    """
    size = np.abs(errors)
    least = max(0.1 * np.median(size), 1e-3 * size.max())
    if len(size) < FEWEST_ROWS or not least > 0:
        return ErrorModel(None, 1.0, errors, weights)
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
    return ErrorModel(forest, least, errors / np.maximum(expected, least), weights)
