"""Prediction intervals and sets from out-of-fold predictions."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtrit
from sklearn.ensemble import ExtraTreesRegressor

#: Nominal coverage of the intervals and sets in ``oof_covered_``.
COVERAGE = 0.9

#: Minimum number of rows to model the sizes of errors.
FEWEST_ROWS = 40

#: Maximum number of rows to which the model of error sizes is fitted.
MOST_ROWS = 20_000


def conformal_quantile(values, weights, level):
    """Smallest value that bounds a new value with probability ``level``.

    The new value is treated as an additional row with average weight and the largest
    value, so the result is infinite if there are too few rows. Missing values (NaN) are
    ignored.
    """
    known = ~np.isnan(values)
    values = values[known]
    weights = weights[known]
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    wanted = level * (total[-1] + weights.mean())
    place = np.searchsorted(total, wanted * (1 - 1e-12))
    return float(values[order[place]]) if place < len(values) else np.inf


def covered(surprise, weights):
    """Whether intervals or sets of coverage 0.9 contain the targets of left-out rows.

    ``surprise`` (n,) or (n, t) is the quantity that they bound, such as the absolute
    error. The result is NaN for missing targets.
    """
    if surprise.ndim > 1:
        return np.column_stack([covered(column, weights) for column in surprise.T])
    most = conformal_quantile(surprise, weights, COVERAGE)
    return np.where(np.isnan(surprise), np.nan, surprise <= most)


@dataclass
class ErrorModel:
    """Out-of-fold errors (n, t), divided by their expected sizes.

    ``forest`` predicts the sizes, in units of ``unit`` (t,); they are at least
    ``least`` (t,). If ``n_blocks`` is not 0, the errors are those of so many blocks of
    later rows, and ``common`` (t,) is the share of the mean squared error that the rows
    of a block have in common.
    """

    forest: object
    least: np.ndarray
    errors: np.ndarray
    weights: np.ndarray
    unit: object = 1.0
    n_blocks: int = 0
    common: object = 0.0

    def _widening(self, coverage):
        """Factors (t,), or 1, by which bounds are widened because blocks are few.

        If all rows of a block had the same error, K blocks would be K values. The
        quantile of level p is then the ceil(K p)-th value, which bounds a new one with
        probability ceil(K p) / (K + 1). Student's t distribution with K degrees of
        freedom gives the factor that raises this probability to p. If rows of a block
        had nothing in common, the factor would be 1. In between, the square of the
        common share interpolates. For normal errors and a nominal coverage of 0.9, the
        coverage is then 0.88 to 0.92, for one to three blocks and all shares.
        """
        if not self.n_blocks or not coverage > 0:
            return 1.0
        held = np.ceil(self.n_blocks * coverage) / (self.n_blocks + 1)
        levels = np.array([coverage, min(coverage, held)])
        wide, narrow = stdtrit(self.n_blocks, (1 + levels) / 2)
        return 1 + self.common**2 * (wide / narrow - 1)

    def scale(self, X, predicted):
        """Expected sizes of errors up to a factor, shape (n, t)."""
        if self.forest is None:
            return np.ones(predicted.shape)
        expected = self.forest.predict(np.column_stack([X, predicted]))
        expected = self.unit * expected.reshape(predicted.shape)
        return np.maximum(expected, self.least)

    def interval(self, X, predicted, coverage):
        """Bounds (n, t, 2) around the predictions (n, t)."""
        half = self._quantiles(np.abs(self.errors), coverage)
        half = half * self._widening(coverage) * self.scale(X, predicted)
        return np.stack([predicted - half, predicted + half], axis=-1)

    def quantiles(self, X, predicted, levels):
        """Quantiles (n, t, n_levels) of the targets."""
        steps = np.transpose([self._steps(level) for level in levels])
        return predicted[:, :, None] + self.scale(X, predicted)[:, :, None] * steps

    def _steps(self, level):
        """Quantiles (t,) of the errors, moved away from the median by the widening."""
        sign = 1 if level >= 0.5 else -1
        outward = max(level, 1 - level)
        quantiles = self._quantiles(sign * self.errors, outward)
        wider = self._widening(2 * outward - 1)
        return sign * np.where(quantiles > 0, quantiles * wider, quantiles / wider)

    def _quantiles(self, values, level):
        """Conformal quantiles (t,); in early model files, values have shape (n,)."""
        by_target = values.reshape(len(values), -1).T
        return np.array([conformal_quantile(v, self.weights, level) for v in by_target])


def common_share(errors, weights, block):
    """Share of the mean squared error that rows of a block have in common."""
    known = ~np.isnan(errors)
    errors, weights, block = errors[known], weights[known], block[known]
    total = weights @ errors**2
    mass = np.bincount(block, weights)
    mass = np.where(mass > 0, mass, 1.0)
    by_chance = len(mass) / max(len(errors), 1)
    if not total > 0 or by_chance >= 1:
        return 0.0
    means = np.bincount(block, weights * errors) / mass
    share = (mass @ means**2 / total - by_chance) / (1 - by_chance)
    return float(max(share, 0.0))


def with_blocks(model, block):
    """Return the model for rows in time order, which lie in ``block`` (n,)."""
    common = [common_share(e, model.weights, block) for e in model.errors.T]
    return replace(model, n_blocks=int(block.max()) + 1, common=np.array(common))


def fit_error_model(X, predicted, errors, weights):
    """Fit an :class:`ErrorModel` to the errors (n, t) of out-of-fold predictions.

    Extra trees predict absolute errors from the rows and predictions; each row is
    predicted by the trees that did not draw it. Errors of missing targets are assumed
    to be average.
    """
    size = np.abs(errors)
    least = np.maximum(0.1 * np.nanmedian(size, axis=0), 1e-3 * np.nanmax(size, axis=0))
    if len(size) < FEWEST_ROWS or not least.any():
        return ErrorModel(None, 1.0, errors, weights)
    least = np.where(least > 0, least, 1.0)
    mean = np.nanmean(size, axis=0)
    # A single target needs no unit, as it is not compared with others.
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
        # If every tree draws a row, its out-of-bag prediction is 0, and is replaced by
        # the forest's prediction below.
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
        forest.fit(inputs[rows], np.squeeze(size[rows]), weights[rows])
    model = ErrorModel(forest, least, errors, weights, unit)
    expected = forest.predict(inputs).reshape(size.shape)
    left_out = forest.oob_prediction_.reshape(-1, size.shape[1])
    expected[rows] = np.where(left_out > 0, left_out, expected[rows])
    return replace(model, errors=errors / np.maximum(unit * expected, least))
