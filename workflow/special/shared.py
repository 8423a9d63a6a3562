"""What the special computations share: the tuned SVM, quiet fits."""

import warnings

from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

#: sigma and C in 2^-5, ..., 2^5, every other point, as for the experiments' SVM.
POWERS = range(-5, 6, 2)
GRID = {
    "C": [2.0**power for power in POWERS],
    "gamma": [1 / (2 * 4.0**power) for power in POWERS],
}


def tuned(svm, X, y):
    """The support vector machine of the best C and gamma in five folds."""
    return GridSearchCV(svm, GRID, cv=5).fit(X, y).best_estimator_


def fit_quietly(model, X, y):
    """Fit where non-convergence is a result, not a surprise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)
