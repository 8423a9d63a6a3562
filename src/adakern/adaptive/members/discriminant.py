"""Regularised discriminant analysis: a Gaussian density for each class."""

import numpy as np
from scipy.special import softmax

from adakern.adaptive.members.base import FEW_ROWS, Member, log_proba

#: Maximum number of columns.
MOST_COLUMNS = 100

#: Shrinkage of the covariances to that of all classes, and to a multiple of identity.
TO_POOLED = 0.05
TO_IDENTITY = 0.05


class Discriminant(Member):
    """Gaussian densities of the classes, with shrunken covariances (Friedman, 1989).

    With the total weight n_c and the scatter matrix S_c of class c, and their sums n
    and S over the classes, the covariance of the class is

        C_c = ((1 - a) S_c + a S) / ((1 - a) n_c + a n),

    which is shrunk to (1 - b) C_c + b tr(C_c) / d I.
    """

    regresses = False
    draws = False
    refit = True

    def suits(self, shape):
        if self.setting.fast or np.any(self.setting.is_categorical):
            return False
        return shape.n < FEW_ROWS and shape.d <= MOST_COLUMNS

    def seconds(self, shape):
        n, d, k, n_folds, _ = shape
        return n_folds * (0.001 + 1e-9 * n * d**2 + 1e-8 * k * d**3)

    def fit(self, X, Y, weights):
        codes = Y.argmax(axis=1)
        n_columns = X.shape[1]
        self.n_classes_ = Y.shape[1]
        self.classes_ = np.unique(codes)
        self.means_ = np.empty((len(self.classes_), n_columns))
        scatters = np.empty((len(self.classes_), n_columns, n_columns))
        mass = np.empty(len(self.classes_))
        for c, code in enumerate(self.classes_):
            own = codes == code
            mass[c] = weights[own].sum()
            self.means_[c] = np.average(X[own], axis=0, weights=weights[own])
            Z = np.sqrt(weights[own])[:, None] * (X[own] - self.means_[c])
            scatters[c] = Z.T @ Z
        pooled = scatters.sum(axis=0)
        self.whitening_ = np.empty_like(scatters)
        self.offsets_ = np.log(mass + 0.5)
        for c, scatter in enumerate(scatters):
            covariance = (1 - TO_POOLED) * scatter + TO_POOLED * pooled
            covariance /= (1 - TO_POOLED) * mass[c] + TO_POOLED * mass.sum()
            spread = np.trace(covariance) / n_columns or 1.0
            covariance *= 1 - TO_IDENTITY
            covariance.flat[:: n_columns + 1] += TO_IDENTITY * spread
            values, vectors = np.linalg.eigh(covariance)
            self.whitening_[c] = vectors / np.sqrt(values)
            self.offsets_[c] -= np.log(values).sum() / 2
        return self

    def predict(self, X):
        log_densities = np.empty((len(X), len(self.classes_)))
        for c, (mean, whitening) in enumerate(
            zip(self.means_, self.whitening_, strict=True)
        ):
            distances = np.sum(((X - mean) @ whitening) ** 2, axis=1)
            log_densities[:, c] = self.offsets_[c] - distances / 2
        proba = softmax(log_densities, axis=1)
        return log_proba([proba], [self], self.n_classes_)[0]


MEMBERS = [Discriminant(name="discriminant", rank=1.5)]
