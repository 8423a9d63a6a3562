"""Functions shared by the special computations: a tuned SVM, and fits without
warnings.
"""

import warnings

from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

#: C and sigma in 2^-5, 2^-3, ..., 2^5, as for the SVM of the experiments.
POWERS = range(-5, 6, 2)
GRID = {
    "C": [2.0**power for power in POWERS],
    "gamma": [1 / (2 * 4.0**power) for power in POWERS],
}


def tuned(svm, X, y):
    """Return the SVM with C and gamma selected by five-fold cross-validation."""
    return GridSearchCV(svm, GRID, cv=5).fit(X, y).best_estimator_


def fit_quietly(model, X, y):
    """Fit without convergence warnings, since non-convergence is a result here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)
