"""Weights of members from what they predicted out of fold.

The objective is the out-of-fold loss of a convex combination: over b on the simplex,

    min_b  sum_i w_i loss(y_i, sum_j b_j f_ij) + penalty(b),

where f_ij is what member j predicts for row i, which it did not learn from, and w_i is
the weight of the row. For squared error the f_ij are predictions and the penalty draws
b to weights by the members' own errors (:func:`squared_error_weights`); for log loss
they are probabilities, and the penalty is a Dirichlet prior (:func:`mixture_weights`).
Without the penalty the loss of the combination is never greater than that of its best
member (:func:`no_worse_than_best`).
"""

import numpy as np
from scipy.optimize import lsq_linear

#: Members of less weight than this are dropped.
SMALLEST_WEIGHT = 0.01

#: No row that every member misses has more than this share of the loss: one row
#: decides nothing alone.
LARGEST_SHARE = 0.05


def drop_smallest(weights):
    """The weights, those near zero set to zero."""
    weights = np.where(weights < SMALLEST_WEIGHT, 0.0, weights)
    return weights / weights.sum()


def squared_error_weights(predictions, y, weights, *, prior=1.0):
    """Weights on the simplex of least squared error of the weighted mean.

    They minimise ``sum_i w_i (y_i - sum_j b_j f_ij)^2 + ridge |b - b0|^2``, where b0 is
    proportional to the inverse square of the members' mean squared errors: among good
    members nearly equal, but not for one that is worse than the mean. The ridge is the
    best member's mean squared error times ``prior``: so many rows' evidence for b0.

    Breiman. Stacked regressions. Machine Learning 24 (1996).
    """
    errors = np.sqrt(weights) * (predictions - y)
    losses = np.sum(errors**2, axis=1)
    least, m = losses.min(), len(losses)
    if not least > 0:  # some members are perfect
        return (losses <= 0) / np.sum(losses <= 0)
    b0 = (least / losses) ** 2
    b0 /= b0.sum()
    # On the simplex b - b0 = sum_j b_j (e_j - b0): all is the norm of one combination.
    deviations = np.sqrt(prior * least / weights.sum()) * (np.eye(m) - b0)
    R = np.linalg.qr(np.hstack([errors, deviations]).T, mode="r") / np.sqrt(least)
    # Where sum(c) is drawn to 1 instead of held there, c is the solution up to a
    # factor.
    A, one = np.vstack([R, np.ones(m)]), np.append(np.zeros(len(R)), 1.0)
    # Not `nnls`, which fails on some of these in SciPy before 1.15.
    c = np.maximum(
        lsq_linear(A, one, bounds=(0, np.inf), method="bvls", tol=1e-14).x, 0
    )
    return c / c.sum()


def capped_rows(errors, weights):
    """Weights of rows with which no row that all members miss decides alone.

    Those of whose squared error even the nearest member has more than a twentieth of
    the best member's loss weigh less; others are not touched. ``errors`` (m, n) has one
    member a row.
    """
    losses = weights * errors**2
    best, nearest = losses[losses.sum(axis=1).argmin()], losses.min(axis=0)
    factors = np.ones_like(nearest)
    for _ in range(20):
        most = LARGEST_SHARE * factors @ best
        factors = np.minimum(1, most / np.maximum(nearest, 1e-300))
    return weights * factors if factors.min() > 0 else weights


def no_worse_than_best(weights, optimum, loss_of):
    """Weights whose loss is not greater than the best member's, as near as possible.

    On the way to ``optimum``, the weights without a penalty, small ones dropped; the
    best member alone where that does not help.
    """
    alone = np.eye(len(weights))
    losses = [loss_of(b) for b in alone]
    best = int(np.argmin(losses))

    def is_good(b):
        return loss_of(b) <= losses[best] * (1 + 1e-12)

    weights, low, high = drop_smallest(weights), 0.0, 1.0
    if is_good(weights):
        return weights
    for _ in range(8):
        middle = (low + high) / 2
        if is_good((1 - middle) * weights + middle * optimum):
            high = middle
        else:
            low = middle
    weights = drop_smallest((1 - high) * weights + high * optimum)
    return weights if is_good(weights) else alone[best]


def mixture_weights(likelihoods, weights, *, prior=1.0, max_iter=1000):
    """Weights on the simplex of greatest likelihood of the mixture.

    Expectation-maximisation: each row shares itself out among the members in
    proportion to what they contribute to its probability; ``prior`` rows are shared out
    evenly beforehand. ``likelihoods`` (m, n) is what each member gave to the class that
    came true, positive.

    Dempster, Laird, Rubin. Maximum likelihood from incomplete data via the EM
    algorithm. JRSS B 39 (1977).
    """
    m = len(likelihoods)
    b = np.full(m, 1 / m)
    for _ in range(max_iter):
        new = b * (likelihoods @ (weights / (b @ likelihoods))) + prior / m
        new /= new.sum()
        moved, b = np.abs(new - b).max(), new
        if moved < 1e-7:
            break
    return b
