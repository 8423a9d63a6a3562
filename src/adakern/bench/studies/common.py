"""What the studies share: a half to train on, the tuned SVM, quiet fits."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import SVC

from adakern.bench.stages.prepare import prepare

__all__ = [
    "SVM_GRID",
    "as_measured",
    "axes_grid",
    "fit_quietly",
    "random_half",
    "summarise",
    "tuned_svm",
]

#: sigma and C in 2^-5, ..., 2^5, every other point, as for the experiments' SVM.
POWERS = range(-5, 6, 2)
SVM_GRID = {
    "C": [2.0**power for power in POWERS],
    "gamma": [1 / (2 * 4.0**power) for power in POWERS],
}


def random_half(table, seed, **preparation):
    """Training and test arrays of a random half, scaled on the training part."""
    stratify = table.y if table.task == "classification" else None
    train, test = train_test_split(
        np.arange(len(table.y)), test_size=0.5, stratify=stratify, random_state=seed
    )
    prepared = prepare(table, train, test, **preparation)
    return prepared.X_train, prepared.y_train, prepared.X_test, prepared.y_test


def tuned_svm(X, y):
    """The support vector machine of the best C and gamma in five folds."""
    return GridSearchCV(SVC(), SVM_GRID, cv=5).fit(X, y).best_estimator_


def fit_quietly(model, X, y):
    """Fit where non-convergence is a result, not a surprise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def summarise(frame, by, quantities):
    """Mean and standard deviation of columns over the repeats, one row a group."""
    table = frame.groupby(by, sort=False)[quantities].agg(["mean", "std"])
    table.columns = ["_".join(pair) for pair in table.columns]
    return table.reset_index()


def as_measured(frame):
    """The table of a study that needs no condensing."""
    return frame


def axes_grid(n_rows, n_columns, *, width=5.0, height=3.8):
    """A figure and its axes; width and height are those of one, in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns)
