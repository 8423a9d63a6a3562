"""From the scores of a member to probabilities that can be believed."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

#: Bounds of the temperature's logarithm: scores of one class apart from the others
#: would otherwise be trusted without end.
SLOPES = (np.log(0.05), np.log(50.0))


class Calibration:
    """``softmax(slope * scores + shift)``, of least log loss on rows left out.

    One slope for all classes and one shift a class; a ridge draws the shifts to zero
    and, more weakly, the slope to ``start``.

    Guo, Pleiss, Sun, Weinberger. On calibration of modern neural networks. ICML 2017.
    """

    def __init__(self, start=1.0):
        self.start = start

    def fit(self, scores, codes, weights):
        """Learn from scores (n, k), codes of classes (n,) and weights (n,)."""
        k = scores.shape[1]
        hit = np.arange(k) == codes[:, None]

        def objective(p):
            slope = np.exp(p[0])
            log_proba = log_softmax(slope * scores + p[1:], axis=1)
            value = -weights @ log_proba[hit]
            slack = weights[:, None] * (np.exp(log_proba) - hit)
            gradient = np.append(slope * np.sum(slack * scores), slack.sum(axis=0))
            off = p - start
            return value + ridge @ off**2 / 2, gradient + ridge * off

        start = np.append(np.log(self.start), np.zeros(k))
        ridge = np.append(0.5, np.ones(k))
        how = {"jac": True, "method": "L-BFGS-B", "options": {"maxiter": 100}}
        found = minimize(objective, start, bounds=[SLOPES, *[(-10, 10)] * k], **how)
        self.slope_, self.shift_ = float(np.exp(found.x[0])), found.x[1:]
        return self

    def log_probabilities(self, scores):
        """Logarithms of probabilities, shape (n, k)."""
        return log_softmax(self.slope_ * scores + self.shift_, axis=1)


def mix(log_proba, weights):
    """Logarithm of the weighted mean of probabilities; members come first."""
    with np.errstate(divide="ignore"):
        return logsumexp(log_proba + np.log(weights)[:, None, None], axis=0)


def log_loss(log_proba, codes, weights):
    """Weighted mean of minus the log probability of the class that came true."""
    picked = log_proba[np.arange(len(codes)), codes]
    return float(-np.average(picked, weights=weights))
