"""Scores of a prediction, by task."""

from functools import partial

import numpy as np
from sklearn.metrics import f1_score, recall_score, roc_auc_score

from adakern._utils.printable import shortened
from adakern.evaluation.quantities import METRICS

__all__ = [
    "area_under_curve",
    "interval_scores",
    "probability_scores",
    "quantile_crps",
    "score",
]

#: Lower bound of probabilities in the log loss.
SMALLEST_PROBABILITY = 1e-15

#: Largest distance of a row of probabilities from the sum 1, in single precision.
SUM_TOL = 1e-3

#: Number of bins of the calibration error, and of bootstrap samples.
N_BINS, N_DRAWS = 15, 200


def score(task, y_true, y_pred, labels=None):
    """Compute all metrics of one task.

    Parameters
    ----------
    task : {"classification", "regression"}
    y_true, y_pred : array-like of shape (n,) or (n, n_targets)
        Targets and predictions, n >= 1. For several targets, each metric is the mean
        over the targets, in units of each target's standard deviation; missing targets
        (NaN) are ignored.
    labels : array-like, default=None
        All classes of the data set, some of which may be missing in `y_true`. They
        determine which F1 is computed.

    Returns
    -------
    dict of str to float
        Classification: `accuracy`, `balanced_accuracy` (mean recall of the classes in
        `y_true`) and `f1` (binary: of the positive class, the greater label; else the
        macro average), all in [0, 1]. Regression: `rmse` (root mean squared error) and
        `mae`, in the units of y; `relative_mse` = sum (f - y)^2 / sum (y - mean y)^2,
        which the DANK paper calls RMSE; `r2` = 1 - `relative_mse`. For a
        constant `y_true`, `relative_mse` is 0 if every prediction is exact, otherwise 1
        (scikit-learn's convention for R2).

    References
    ----------
    F. Liu et al., "Learning data-adaptive non-parametric kernels", JMLR 21, 2020,
    section 6.3.

    Examples
    --------
    >>> from adakern.evaluation import score
    >>> scores = score("regression", [1.0, 2.0, 3.0], [1.0, 2.0, 4.0])
    >>> {name: round(value, 3) for name, value in scores.items()}
    {'rmse': 0.577, 'relative_mse': 0.5, 'r2': 0.5, 'mae': 0.333}
    >>> score("classification", ["a", "b", "b"], ["a", "b", "a"])["accuracy"]
    0.6666666666666666
    """
    if task not in METRICS:
        raise ValueError(f"task={task!r} is unknown; use one of {sorted(METRICS)}.")
    y_true, y_pred = np.asarray(y_true), np.asarray(y_pred)
    several = y_true.ndim == 2 and y_true.shape[1] > 1
    if task == "regression" and several and y_true.shape == y_pred.shape:
        return _mean(_score_each_target(_regression_scores, y_true, y_pred))
    if y_true.ndim != 1 or y_true.shape != y_pred.shape or not y_true.size:
        raise ValueError(
            "y_true and y_pred must be one-dimensional, non-empty and of equal "
            f"length; got shapes {y_true.shape} and {y_pred.shape}."
        )
    if task == "classification":
        return _classification_scores(y_true, y_pred, labels)
    return _regression_scores(y_true, y_pred)


def _classification_scores(y_true, y_pred, labels):
    classes = np.unique(np.concatenate([y_true, y_pred]) if labels is None else labels)
    if unknown := set(y_pred.tolist()) - set(classes.tolist()):
        raise ValueError(
            f"y_pred contains {shortened(unknown)}, which are not among the classes "
            f"{shortened(classes.tolist())}."
        )
    y_pred = y_pred.astype(classes.dtype)  # it may be of type object
    binary = {"average": "binary", "pos_label": classes[-1]}
    f1 = binary if len(classes) <= 2 else {"average": "macro"}
    recall = recall_score(
        y_true, y_pred, labels=np.unique(y_true), average="macro", zero_division=0
    )
    return {
        "accuracy": float(np.mean(y_true == y_pred)),
        "balanced_accuracy": float(recall),
        "f1": float(f1_score(y_true, y_pred, zero_division=0, **f1)),
    }


def _score_each_target(scores, y_true, *predicted):
    """Compute `scores` of each target, in units of its spread."""
    found = []
    for number, y in enumerate(y_true.T):
        known = ~np.isnan(y)
        if known.any():
            unit = np.std(y[known]) or 1.0
            values = (values[known, number] / unit for values in (y_true, *predicted))
            found.append(scores(*values))
    if not found:
        raise ValueError("y_true must have at least one value that is not NaN.")
    return found


def _mean(scores):
    """Mean of each metric; None if it is None for one of the targets."""
    each = {name: [found[name] for found in scores] for name in scores[0]}
    return {
        name: None if None in values else float(np.mean(values))
        for name, values in each.items()
    }


def _regression_scores(y_true, y_pred):
    y_true, y_pred = y_true.astype(float), y_pred.astype(float)
    for name, values in (("y_true", y_true), ("y_pred", y_pred)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} must not contain NaN or infinity.")
    squared_error = np.sum((y_pred - y_true) ** 2)
    # Compare the values: the spread of a constant is not exactly zero.
    if np.all(y_true == y_true[0]):
        relative_mse = float(squared_error > 0)
    else:
        relative_mse = float(squared_error / np.sum((y_true - y_true.mean()) ** 2))
    return {
        "rmse": float(np.sqrt(squared_error / len(y_true))),
        "relative_mse": relative_mse,
        "r2": 1.0 - relative_mse,
        "mae": float(np.mean(np.abs(y_pred - y_true))),
    }


def area_under_curve(y_true, values, classes):
    """Area under the ROC curve of probabilities or of a decision function.

    Parameters
    ----------
    y_true : array-like of shape (n,)
    values : array-like of shape (n, n_classes), or (n,) for two classes
        Scores that increase with the probability of a class (with one column, of the
        second class).
    classes : array-like of shape (n_classes,)
        Labels of the columns, sorted.

    Returns
    -------
    float or None
        One-vs-rest, averaged over the classes; None for fewer than two classes.

    Examples
    --------
    >>> from adakern.evaluation import area_under_curve
    >>> area_under_curve([0, 0, 1], [-1.0, 0.5, 0.2], [0, 1])
    0.5
    """
    values = np.asarray(values, float)
    if values.ndim == 1:
        values = np.column_stack([-values, values])
    truth = np.asarray(y_true)[:, None] == np.asarray(classes)
    both = truth.any(axis=0) & ~truth.all(axis=0)  # a class against the rest
    return float(roc_auc_score(truth[:, both], values[:, both])) if both.any() else None


def probability_scores(y_true, probabilities, classes):
    """Compute metrics of predicted probabilities.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels; a label that is not in `classes` has probability 0.
    probabilities : array-like of shape (n, n_classes)
        Rows sum to 1.
    classes : array-like of shape (n_classes,)
        Labels of the columns, sorted.

    Returns
    -------
    dict of str to float or None
        `log_loss`, the mean of -log p(true class) with p clipped at 1e-15; `auc`, see
        :func:`area_under_curve`; `brier`, Brier's original score, between 0 and 2
        (twice scikit-learn's for two classes); `calibration_error`, the mean of
        ``|accuracy - mean confidence|`` over 15 bins of the confidence, weighted by
        their numbers of rows, with `calibration_error_low` and
        `calibration_error_high`, a 95 % interval from a bootstrap over the rows. It is
        too narrow on few rows: of perfectly calibrated probabilities, 88 % of the
        intervals contain 0 with 30 rows, 92 % with 100 and 94 % with 1,000.

    References
    ----------
    C. Guo et al., On calibration of modern neural networks, ICML 2017. G. W. Brier,
    Verification of forecasts expressed in terms of probability, Monthly Weather Review
    78, 1950.

    Examples
    --------
    >>> from adakern.evaluation import probability_scores
    >>> scores = probability_scores([0, 1], [[0.9, 0.1], [0.4, 0.6]], [0, 1])
    >>> {name: round(scores[name], 3) for name in ("log_loss", "auc", "brier")}
    {'log_loss': 0.308, 'auc': 1.0, 'brier': 0.17}
    """
    y_true, classes = np.asarray(y_true), np.asarray(classes)
    p = np.asarray(probabilities, float)
    truth = y_true[:, None] == classes
    sums = p.sum(axis=-1)
    # NaN compares false with everything.
    are_valid = (p >= 0).all() and (np.abs(sums - 1) <= SUM_TOL).all()
    if p.shape != truth.shape or not are_valid:
        raise ValueError(
            f"Probabilities must have the shape {truth.shape}, a column for each "
            "class, and be non-negative with rows that sum to 1; got the shape "
            f"{p.shape}, sums from {sums.min():.3g} to {sums.max():.3g} and a least "
            f"value of {p.min():.3g}."
        )
    chosen = np.where(truth, p, 0.0).sum(axis=1)
    unknown = 1.0 - truth.sum(axis=1)
    confidence = p.max(axis=1)
    right = truth[np.arange(len(p)), p.argmax(axis=1)]
    bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    excess = right - confidence

    def gaps(rows):
        return np.bincount(bins[rows], excess[rows], minlength=N_BINS) / len(p)

    # Bootstrap the signed errors of the bins: calibration errors of bootstrap samples
    # would be biased upwards, since noise only increases them.
    rng = np.random.default_rng(0)
    found = gaps(slice(None))
    drawn = [gaps(rng.integers(len(p), size=len(p))) - found for _ in range(N_DRAWS)]
    error = np.abs(found).sum()
    reach = np.percentile(np.abs(drawn).sum(axis=1), 95)
    return {
        "log_loss": float(-np.log(np.maximum(chosen, SMALLEST_PROBABILITY)).mean()),
        "auc": area_under_curve(y_true, p, classes),
        "brier": float((((p - truth) ** 2).sum(axis=1) + unknown).mean()),
        "calibration_error": float(error),
        "calibration_error_low": float(max(0.0, error - reach)),
        "calibration_error_high": float(min(1.0, error + reach)),
    }


def interval_scores(y_true, low, high, coverage=0.9):
    """Compute coverage, width and interval score of prediction intervals.

    Parameters
    ----------
    y_true, low, high : array-like of shape (n,) or (n, n_targets)
        For several targets, each metric is the mean, as in :func:`score`.
    coverage : float, default=0.9
        Nominal coverage of the intervals, in [0, 1).

    Returns
    -------
    dict of str to float or None
        `interval_coverage` in [0, 1]; `interval_width` and `interval_score` in units of
        the target, the latter Winkler's: the width plus, for targets outside, ``2 / (1
        - coverage)`` times the distance; `coverage_easy`, `coverage_middle` and
        `coverage_hard`, the coverage in the thirds of the rows with the narrowest,
        middle and widest intervals (None if all widths are equal).

    References
    ----------
    T. Gneiting and A. E. Raftery, Strictly proper scoring rules, prediction, and
    estimation, Journal of the American Statistical Association 102, 2007.

    Examples
    --------
    >>> from adakern.evaluation import interval_scores
    >>> scores = interval_scores([1.0, 2.0, 4.0], [0.0, 3.0, 0.0], [2.0, 5.0, 5.0])
    >>> {name: round(value, 3) for name, value in list(scores.items())[:3]}
    {'interval_coverage': 0.667, 'interval_width': 3.0, 'interval_score': 9.667}
    """
    if not 0 <= coverage < 1:
        raise ValueError(f"coverage={coverage} must be at least 0 and less than 1")
    y_true, low, high = (np.asarray(values, float) for values in (y_true, low, high))
    if not (y_true.shape == low.shape == high.shape and y_true.size):
        raise ValueError(
            "y_true, low and high must be non-empty and of equal shape; got "
            f"{y_true.shape}, {low.shape} and {high.shape}."
        )
    if y_true.ndim == 2:
        of_one = partial(interval_scores, coverage=coverage)
        return _mean(_score_each_target(of_one, y_true, low, high))
    if np.isnan([y_true, low, high]).any():
        raise ValueError("y_true, low and high must not contain NaN.")
    held = (low <= y_true) & (y_true <= high)
    width = high - low
    outside = np.maximum(low - y_true, 0) + np.maximum(y_true - high, 0)
    names = ("coverage_easy", "coverage_middle", "coverage_hard")
    thirds = np.array_split(np.argsort(width, kind="stable"), 3)
    by_difficulty = len(width) > 2 and not np.allclose(width, width[0], atol=0)
    return {
        "interval_coverage": float(held.mean()),
        "interval_width": float(width.mean()),
        "interval_score": float((width + 2 / (1 - coverage) * outside).mean()),
    } | {
        name: float(held[rows].mean()) if by_difficulty else None
        for name, rows in zip(names, thirds, strict=True)
    }


def quantile_crps(y_true, quantiles, levels):
    """Continuous ranked probability score of predicted quantiles.

    Twice the integral of the pinball loss over the levels, approximated by the nearest
    of the given levels. With 19 levels from 0.05 to 0.95 and the true quantiles it is
    1.4 % (normal) to 1.6 % (Laplace) too high, with 99 levels less than 0.1 %: compare
    scores of the same levels alone.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        Of several targets the score is the mean, as for :func:`score`.
    quantiles : array-like of shape (n, n_levels) or (n, n_targets, n_levels)
    levels : array-like of shape (n_levels,)
        Increasing, in (0, 1).

    Returns
    -------
    float
        In units of the target; smaller is better.

    References
    ----------
    T. Gneiting and A. E. Raftery, as for :func:`interval_scores`.

    Examples
    --------
    >>> from adakern.evaluation import quantile_crps
    >>> quantile_crps([1.0], [[0.0, 2.0]], [0.25, 0.75])
    0.5
    """
    levels = np.asarray(levels, float)
    y_true, quantiles = np.asarray(y_true, float), np.asarray(quantiles, float)
    if levels.ndim != 1 or not (np.diff([0.0, *levels, 1.0]) > 0).all():
        raise ValueError(f"levels must increase between 0 and 1; got {levels}.")
    if quantiles.shape != (*y_true.shape, len(levels)) or not y_true.size:
        raise ValueError(
            "quantiles must have a value for each target and level, of the shape "
            f"{(*y_true.shape, len(levels))}; got {quantiles.shape}."
        )
    if y_true.ndim == 2:
        of_one = partial(quantile_crps, levels=levels)
        return float(np.mean(_score_each_target(of_one, y_true, quantiles)))
    if np.isnan(y_true).any() or np.isnan(quantiles).any():
        raise ValueError("y_true and quantiles must not contain NaN.")
    error = y_true[:, None] - quantiles
    loss = np.maximum(levels * error, (levels - 1) * error).mean(axis=0)
    between = (levels[1:] + levels[:-1]) / 2
    return float(2 * loss @ np.diff([0.0, *between, 1.0]))
