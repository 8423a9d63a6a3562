"""Scores of a prediction, by task."""

import numpy as np
from sklearn.metrics import f1_score, recall_score, roc_auc_score

__all__ = [
    "GREATER_IS_BETTER",
    "MAIN_METRIC",
    "METRICS",
    "OPTIONAL_METRICS",
    "interval_scores",
    "probability_scores",
    "score",
]

#: Of methods that give probabilities or intervals; the others have none.
OPTIONAL_METRICS = {
    "classification": ("log_loss", "auc", "brier", "calibration_error"),
    "regression": ("interval_coverage", "interval_width"),
}
METRICS = {
    "classification": (
        *("accuracy", "balanced_accuracy", "f1"),
        *OPTIONAL_METRICS["classification"],
    ),
    "regression": (
        *("relative_mse", "r2", "mae", "rmse"),
        *OPTIONAL_METRICS["regression"],
    ),
}
MAIN_METRIC = {"classification": "accuracy", "regression": "relative_mse"}
GREATER_IS_BETTER = {
    "accuracy": True,
    "balanced_accuracy": True,
    "f1": True,
    "relative_mse": False,
    "r2": True,
    "mae": False,
    "rmse": False,
    "log_loss": False,
    "auc": True,
    "brier": False,
    "calibration_error": False,
    "interval_coverage": True,
    "interval_width": False,
}

#: Probabilities below it count as it in the log loss.
SMALLEST_PROBABILITY = 1e-15

#: Bins of equal width for the calibration error.
N_BINS = 15


def score(task, y_true, y_pred, labels=None):
    """All metrics of one task.

    Parameters
    ----------
    task : {"classification", "regression"}
    y_true, y_pred : array-like of shape (n,)
        Targets and predictions, n >= 1.
    labels : array-like, default=None
        Every class of the data set. Only needed when a part of the data may lack a
        class: it decides whether the problem is binary, and so which F1 is meant.

    Returns
    -------
    dict of str to float
        Classification: `accuracy`, `balanced_accuracy` (mean recall of the classes in
        `y_true`) and `f1` (binary: of the positive class, the greater label; else the
        macro average), all in [0, 1].
        Regression: `relative_mse` = sum (f - y)^2 / sum (y - mean y)^2, which the DANK
        paper calls RMSE; `r2` = 1 - `relative_mse`; `mae` and `rmse` (the root of the
        mean squared error), in the units of y. For a constant `y_true`, `relative_mse`
        is 0 if every prediction is exact, otherwise 1
        (scikit-learn's convention for R2).

    Raises
    ------
    ValueError
        If the task is unknown, the shapes differ, there is no sample, or a regression
        target or prediction is not finite.

    References
    ----------
    F. Liu et al., "Learning data-adaptive non-parametric kernels", JMLR 21, 2020,
    section 6.3.

    Examples
    --------
    >>> from adakern.evaluation import score
    >>> score("regression", [1.0, 2.0, 3.0], [1.0, 2.0, 4.0])
    {'relative_mse': 0.5, 'r2': 0.5, 'mae': 0.3333333333333333, \
'rmse': 0.5773502691896257}
    >>> score("classification", ["a", "b", "b"], ["a", "b", "a"])["accuracy"]
    0.6666666666666666
    """
    if task not in METRICS:
        raise ValueError(f"task={task!r} is unknown; use one of {sorted(METRICS)}.")
    y_true, y_pred = np.asarray(y_true), np.asarray(y_pred)
    if y_true.ndim != 1 or y_true.shape != y_pred.shape or not y_true.size:
        raise ValueError(
            "y_true and y_pred must be one-dimensional, of one length and not empty; "
            f"got shapes {y_true.shape} and {y_pred.shape}."
        )
    if task == "classification":
        return _classification_scores(y_true, y_pred, labels)
    return _regression_scores(y_true, y_pred)


def _classification_scores(y_true, y_pred, labels):
    classes = np.unique(np.concatenate([y_true, y_pred]) if labels is None else labels)
    if len(classes) <= 2:
        f1 = {"average": "binary", "pos_label": classes[-1]}
    else:
        f1 = {"average": "macro"}
    return {
        "accuracy": float(np.mean(y_true == y_pred)),
        "balanced_accuracy": float(
            recall_score(
                y_true,
                y_pred,
                labels=np.unique(y_true),
                average="macro",
                zero_division=0,
            )
        ),
        "f1": float(f1_score(y_true, y_pred, zero_division=0, **f1)),
    }


def _regression_scores(y_true, y_pred):
    y_true, y_pred = y_true.astype(float), y_pred.astype(float)
    for name, values in (("y_true", y_true), ("y_pred", y_pred)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} holds NaN or infinity; regression needs numbers.")
    squared_error = np.sum((y_pred - y_true) ** 2)
    # A constant is tested by its values: rounding of the mean leaves a tiny spread.
    if np.all(y_true == y_true[0]):
        relative_mse = float(squared_error > 0)
    else:
        relative_mse = float(squared_error / np.sum((y_true - y_true.mean()) ** 2))
    return {
        "relative_mse": relative_mse,
        "r2": 1.0 - relative_mse,
        "mae": float(np.mean(np.abs(y_pred - y_true))),
        "rmse": float(np.sqrt(squared_error / len(y_true))),
    }


def probability_scores(y_true, probabilities, classes):
    """What probabilities are worth.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels; one that is none of `classes` had the probability 0.
    probabilities : array-like of shape (n, n_classes)
        Rows sum to 1.
    classes : array-like of shape (n_classes,)
        Labels of the columns, sorted.

    Returns
    -------
    dict of str to float or None
        `log_loss`, the mean of -log p(true class) with p no less than 1e-15; `auc`, the
        area under the ROC curve, one class against the rest and the mean over the
        classes present (None where there are fewer than two); `brier`, the mean squared
        distance of the probabilities from the indicator of the true class, between 0
        and 2; `calibration_error`, the mean over 15 bins of the confidence, weighted by
        their rows, of ``|accuracy - mean confidence|``.

    References
    ----------
    C. Guo et al., On calibration of modern neural networks, ICML 2017.

    Examples
    --------
    >>> from adakern.evaluation import probability_scores
    >>> found = probability_scores([0, 1], [[0.9, 0.1], [0.4, 0.6]], [0, 1])
    >>> {name: round(value, 3) for name, value in found.items()}
    {'log_loss': 0.308, 'auc': 1.0, 'brier': 0.17, 'calibration_error': 0.25}
    """
    y_true, classes = np.asarray(y_true), np.asarray(classes)
    p = np.asarray(probabilities, float)
    truth = y_true[:, None] == classes
    chosen = np.where(truth, p, 0.0).sum(axis=1)
    unknown = 1.0 - truth.sum(axis=1)
    confidence, right = p.max(axis=1), truth[np.arange(len(p)), p.argmax(axis=1)]
    bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    gaps = np.bincount(bins, right - confidence, minlength=N_BINS)
    areas = [
        roc_auc_score(one, column)
        for one, column in zip(truth.T, p.T, strict=True)
        if one.any() and not one.all()
    ]
    return {
        "log_loss": float(-np.log(np.maximum(chosen, SMALLEST_PROBABILITY)).mean()),
        "auc": float(np.mean(areas)) if areas else None,
        "brier": float((((p - truth) ** 2).sum(axis=1) + unknown).mean()),
        "calibration_error": float(np.abs(gaps).sum() / len(p)),
    }


def interval_scores(y_true, low, high):
    """How often intervals hold the target, and their mean width in its units.

    Parameters
    ----------
    y_true, low, high : array-like of shape (n,)

    Returns
    -------
    dict of str to float
        `interval_coverage` in [0, 1] and `interval_width`.

    Examples
    --------
    >>> from adakern.evaluation import interval_scores
    >>> interval_scores([1.0, 2.0], [0.0, 3.0], [2.0, 5.0])
    {'interval_coverage': 0.5, 'interval_width': 2.0}
    """
    y_true, low, high = (np.asarray(values, float) for values in (y_true, low, high))
    return {
        "interval_coverage": float(((low <= y_true) & (y_true <= high)).mean()),
        "interval_width": float((high - low).mean()),
    }
