"""Linear member: ridge or logistic regression."""

import numpy as np
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression

from adakern.adaptive.members.base import Member, log_proba
from adakern.linalg import leave_one_out_low_rank

#: Candidates for the ridge, relative to a hundredth of the number of rows.
RIDGES = np.logspace(-4, 4, 17)


class Linear(Member):
    """Ridge regression with closed-form leave-one-out, or logistic regression."""

    refit = True

    def suits(self, shape):
        return True

    def seconds(self, shape):
        n, d, k, n_folds, _ = shape
        return n_folds * (0.002 + 2e-9 * n * d * min(n, d) * k)

    def fit(self, X, Y, weights):
        if self.setting.classify:
            self.model_ = LogisticRegression(max_iter=300)
            self.n_classes_ = Y.shape[1]
            self.model_.fit(X, Y.argmax(axis=1), sample_weight=weights)
            return self
        self.intercept_ = np.average(Y, axis=0, weights=weights)
        self.centre_ = np.average(X, axis=0, weights=weights)
        X, Y = X - self.centre_, Y - self.intercept_
        least = np.full(Y.shape[1], np.inf)
        self.coef_ = np.empty((X.shape[1], 1))
        ridges = RIDGES * len(X) / 100
        for left_out, coef in leave_one_out_low_rank(X, Y, ridges, weights):
            errors = weights @ (left_out - Y) ** 2
            self.coef_ = np.where(errors < least, coef, self.coef_)
            least = np.minimum(errors, least)
        return self

    def predict(self, X):
        if self.setting.classify:
            # As in scikit-learn, whose checks would take most of the time for one row.
            z = X @ self.model_.coef_.T + self.model_.intercept_
            binary = z.shape[1] == 1
            proba = (
                np.hstack([1 - expit(z), expit(z)]) if binary else softmax(z, axis=1)
            )
            return log_proba([proba], [self.model_], self.n_classes_)[0]
        return (X - self.centre_) @ self.coef_ + self.intercept_


MEMBERS = [Linear(name="linear", rank=1)]
