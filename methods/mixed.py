"""Linear mixed model with a random intercept for each group."""

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data


class RandomIntercept(RegressorMixin, BaseEstimator):
    """Linear regression with a random intercept for each group, by maximum likelihood.

    New rows are assumed to belong to unseen groups and are predicted without a group
    intercept. Without groups, the model is ordinary least squares.
    """

    def fit(self, X, y, groups=None):
        X, y = validate_data(self, X, y, dtype=float, y_numeric=True)
        n = len(y)
        given = np.arange(n) if groups is None else groups
        groups, sizes = np.unique(given, return_inverse=True, return_counts=True)[1:]
        columns = np.column_stack([np.ones(n), X, y])
        means = np.zeros((len(sizes), columns.shape[1]))
        np.add.at(means, groups, columns)
        means /= sizes[:, None]

        def least_squares(log_ratio):
            """Coefficients and criterion, given the log variance ratio
            (group/noise).
            """
            spread = 1 + sizes * np.exp(log_ratio)
            shares = 1 - 1 / np.sqrt(spread)
            reduced = columns - (shares[:, None] * means)[groups]
            Z = reduced[:, :-1]
            z = reduced[:, -1]
            found = np.linalg.lstsq(Z, z)[0]
            squares = np.sum((z - Z @ found) ** 2)
            return found, n * np.log(squares + 1e-300) + np.log(spread).sum()

        best = minimize_scalar(
            lambda log_ratio: least_squares(log_ratio)[1],
            bounds=(-12.0, 12.0),
            method="bounded",
        ).x
        coef = least_squares(best if len(sizes) < n else -np.inf)[0]
        self.intercept_ = coef[0]
        self.coef_ = coef[1:]
        self.variance_ratio_ = np.exp(best) if len(sizes) < n else 0.0
        return self

    def predict(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, dtype=float, reset=False)
        return self.intercept_ + X @ self.coef_
