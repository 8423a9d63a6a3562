"""Prediction intervals and sets from what was predicted out of fold."""

import warnings
from dataclasses import dataclass, replace

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
    """Errors (n, t) left out, divided by how large they are expected to be there.

    ``unit`` (t,) is what the forest measures them in.
    """

    forest: object
    least: np.ndarray
    errors: np.ndarray
    weights: np.ndarray
    unit: object = 1.0

    def scale(self, X, predicted):
        """Expected sizes (n, t) of errors, up to a factor."""
        if self.forest is None:
            return np.ones(predicted.shape)
        expected = self.forest.predict(np.column_stack([X, predicted]))
        expected = self.unit * expected.reshape(predicted.shape)
        return np.maximum(expected, self.least)

    def interval(self, X, predicted, coverage):
        """Bounds (n, t, 2) around the predictions (n, t)."""
        half = np.array([self._quantile(np.abs(e), coverage) for e in self._by_target])
        half = half * self.scale(X, predicted)
        return np.stack([predicted - half, predicted + half], axis=-1)

    def quantiles(self, X, predicted, levels):
        """Quantiles (n, t, n_levels) of the targets."""
        steps = [
            [
                self._quantile(errors, level)
                if level >= 0.5
                else -self._quantile(-errors, 1 - level)
                for level in levels
            ]
            for errors in self._by_target
        ]
        return predicted[:, :, None] + self.scale(X, predicted)[:, :, None] * steps

    @property
    def _by_target(self):
        """Errors of each target; a file of before there were several has (n,)."""
        return self.errors.reshape(len(self.errors), -1).T

    def _quantile(self, values, level):
        """The conformal quantile of values (n,), of rows that have the target."""
        known = ~np.isnan(values)
        return conformal_quantile(values[known], self.weights[known], level)


def fit_error_model(X, predicted, errors, weights):
    """An :class:`ErrorModel` of errors (n, t) that out-of-fold predictions make.

    Extra trees learn absolute errors from the rows and predictions; each row is judged
    by the trees that did not draw it. Where a target is missing errors are taken for
    average.
    """
    size = np.abs(errors)
    least = np.maximum(0.1 * np.nanmedian(size, axis=0), 1e-3 * np.nanmax(size, axis=0))
    if len(size) < FEWEST_ROWS or not least.any():
        return ErrorModel(None, 1.0, errors, weights)
    least, mean = np.where(least > 0, least, 1.0), np.nanmean(size, axis=0)
    # One target is not compared with another.
    unit = np.where(mean > 0, mean, 1.0) if len(mean) > 1 else 1.0
    size = np.where(np.isnan(size), mean, size) / unit
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
        forest.fit(inputs[rows], np.squeeze(size[rows]), weights[rows])
    model = ErrorModel(forest, least, errors, weights, unit)
    expected = forest.predict(inputs).reshape(size.shape)
    left_out = forest.oob_prediction_.reshape(-1, size.shape[1])
    expected[rows] = np.where(left_out > 0, left_out, expected[rows])
    return replace(model, errors=errors / np.maximum(unit * expected, least))
