"""Scores of a prediction, by task."""

import numpy as np
from sklearn.metrics import f1_score, recall_score

__all__ = ["GREATER_IS_BETTER", "MAIN_METRIC", "METRICS", "score"]

METRICS = {
    "classification": ("accuracy", "balanced_accuracy", "f1"),
    "regression": ("relative_mse", "r2", "mae"),
}
MAIN_METRIC = {"classification": "accuracy", "regression": "relative_mse"}
GREATER_IS_BETTER = {
    "accuracy": True,
    "balanced_accuracy": True,
    "f1": True,
    "relative_mse": False,
    "r2": True,
    "mae": False,
}


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
        paper calls RMSE; `r2` = 1 - `relative_mse`; `mae`, in the units of y. For a
        constant `y_true`, `relative_mse` is 0 if every prediction is exact, otherwise 1
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
    {'relative_mse': 0.5, 'r2': 0.5, 'mae': 0.3333333333333333}
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
    }
