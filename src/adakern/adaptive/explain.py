"""Explanations of predictions: Shapley values and influential training rows."""

from dataclasses import dataclass
from math import factorial

import numpy as np
from scipy.sparse import coo_array

from adakern._utils.arrays import as_numpy
from adakern._utils.resources import row_blocks
from adakern.adaptive.members.kernel_ridge import KernelRidge, by_ridge
from adakern.linalg import ridge_solution

#: Maximum number of columns for which all coalitions are enumerated.
MOST_ENUMERATED = 6

#: Maximum number of rows that are predicted together, below the number from which on
#: boosting predicts in several threads; and maximum memory for these rows.
ROWS_AT_ONCE = 1900
BYTES_AT_ONCE = 16 * 2**20


@dataclass
class Explanation:
    """Contributions of columns and of training rows to predictions.

    ``base + values.sum(axis=1)`` equals ``predicted``, up to rounding.

    Attributes
    ----------
    values : ndarray of shape (n, d) or (n, d, n_classes)
        Shapley value of each column for the prediction, or for the probability of each
        class. With several targets, the last axis is that of the targets.
    base : float or ndarray of shape (n_classes,)
        Mean prediction of the background rows.
    predicted : ndarray of shape (n,) or (n, n_classes)
    data : ndarray of shape (n, d)
        The explained rows.
    names : list of str
        Names of the columns.
    classes : ndarray of shape (n_classes,) or None
    rows : ndarray of shape (n, n_rows)
        Most influential training rows of the kernel members, in descending order: index
        labels of a data frame, otherwise row numbers. Of equal rows, the first is
        given. Has no columns if no kernel ridge regression has a positive weight.
    row_weights : ndarray of shape (n, n_rows)
        Change of the kernel members' prediction per unit change of the target (or class
        indicator) of that row; for several targets, the mean.
    targets : ndarray of shape (n_targets,) or None
        Names or numbers of the targets, if there are several.
    """

    values: np.ndarray
    base: object
    predicted: np.ndarray
    data: np.ndarray
    names: list
    classes: np.ndarray | None
    rows: np.ndarray
    row_weights: np.ndarray
    targets: np.ndarray | None = None

    def of_class(self, label=None):
        """Return values (n, d), base (n,) and predictions (n,) of one class or target.

        Parameters
        ----------
        label : object or array-like of shape (n,), default=None
            A class, or one class per row; if None, the most probable class of each row.
            With several targets, one of them.
        """
        n = np.arange(len(self.values))
        outputs = self.targets if self.classes is None else self.classes
        if outputs is None:
            return self.values, np.full(len(n), self.base), self.predicted
        places = self.predicted.argmax(axis=1)
        if label is not None or self.classes is None:
            matches = np.reshape(label, (-1, 1)) == outputs
            if not matches.any(axis=1).all():
                raise ValueError(
                    f"label must be one of {outputs.tolist()}, got {label!r}"
                )
            places = np.broadcast_to(matches.argmax(axis=1), len(n))
        return self.values[n, :, places], self.base[places], self.predicted[n, places]

    def plot(self, row=None, *, label=None, axis=None):
        """Plot the contributions of the columns to one prediction, or to all.

        Needs matplotlib.

        Parameters
        ----------
        row : int, default=None
            Position of the row to show. If None, all rows are shown, with a point for
            each row and column.
        label : object, default=None
            Class whose probability is explained (if None, the most probable one), or
            one of several targets.
        axis : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.

        Returns
        -------
        matplotlib Axes
        """
        from adakern.adaptive.plot import plot_explanation

        return plot_explanation(self, row, label, axis)


@dataclass
class LearnedRows:
    """Labels and weights of the centres of exact kernel members."""

    labels: np.ndarray
    weights: np.ndarray


def influential_rows(ensemble, X, n_rows):
    """Return labels and weights (n, n_rows) of the most influential rows for X."""
    known = ensemble.rows
    exact = [
        (member, np.atleast_1d(weight))
        for member, weight in zip(ensemble.members, ensemble.blend.weights, strict=True)
        if known is not None
        and type(member.model) is KernelRidge  # whose centres are all rows
        and len(member.model.support_) == len(known.weights)
    ]
    if not exact:
        return np.empty((len(X), 0), dtype=int), np.empty((len(X), 0))
    total = sum(
        _row_weights(member.model, member.view.transform(X), known.weights, shares)
        for member, shares in exact
    )
    total /= np.sum([shares for _, shares in exact])
    most = np.argsort(-np.abs(total), axis=1, kind="stable")[:, :n_rows]
    return known.labels[most], np.take_along_axis(total, most, axis=1)


def _row_weights(model, Z, weights, shares):
    """Derivatives of predictions for Z with respect to the targets, shape (n, m).

    They are multiplied by the member's weights and summed over the targets.
    """
    root = np.sqrt(weights)[:, None]
    K = root * as_numpy(model._gram(model.support_)) * root[:, 0]
    right = root * as_numpy(model._gram(model.support_, Z * model.scales_))
    # Classes share one ridge; model files of early versions have one ridge, too.
    ridges = getattr(model, "ridges_", np.array([model.alpha_]))[: len(shares)]
    total = sum(
        shares[columns].sum() * ridge_solution(A, right, ridge)[0]
        for ridge, columns, A in by_ridge(ridges, K)
    )
    return (root * total).T


def contributions(ensemble, X, source, n_background):
    """Return Shapley values of the columns (n, d, k), and the mean prediction (k,).

    In the game, the columns of a coalition have the values of the explained row, and
    all others those of a training row. The values are averaged over ``n_background``
    training rows. ``source`` is the original column of each column of X. For few
    columns, all coalitions are enumerated. Otherwise, each training row has a random
    permutation and its reverse, which are the same for all rows of X, so that the
    result for a row does not depend on other rows.

    Štrumbelj and Kononenko. Explaining prediction models and individual predictions
    with feature contributions. Knowledge and Information Systems 41 (2014).
    """
    rng = np.random.default_rng(0)
    probe = ensemble.probe.X
    background = probe[rng.permutation(len(probe))[:n_background]]
    d = source.max() + 1
    b = len(background)
    if d <= MOST_ENUMERATED:
        coalitions, counts = _every_coalition(d, b)
    else:
        orders = np.array([rng.permutation(d) for _ in range(b)])
        coalitions, counts = _along(np.concatenate([orders, orders[:, ::-1]]))
    base = ensemble.predict(background).mean(axis=0)
    by_row = []
    for row in X:
        values = np.empty((counts.shape[1], len(base)))
        size = min(ROWS_AT_ONCE, BYTES_AT_ONCE // (8 * len(row)))
        for part in row_blocks(len(values), 1, size):
            joined, places = coalitions(np.arange(len(values))[part])
            rows = np.where(joined[:, source], row, background[places % b])
            rows, inverse = _distinct(rows)
            values[part] = ensemble.predict(rows)[inverse]
        by_row.append(counts @ values)
    return np.array(by_row), base


def _every_coalition(d, b):
    """Enumerate all coalitions of d columns with each of b training rows.

    Return a function that maps entry numbers to coalitions (m, d) and training rows
    (m,), and the coefficients of all entries for each column, of shape (d, 2^d b).
    """
    every = (np.arange(2**d)[:, None] >> np.arange(d)) & 1 == 1
    size = every.sum(axis=1)[:, None]
    # Number of orders in which a column comes directly after a given coalition.
    orders = [factorial(s) * factorial(max(d - s - 1, 0)) for s in range(d + 1)]
    orders = np.array(orders) / (b * factorial(d))
    counts = np.where(every, orders[np.maximum(size - 1, 0)], -orders[size])

    def coalitions(entries):
        return every[entries % 2**d], entries // 2**d

    return coalitions, np.tile(counts.T, b)


def _along(orders):
    """Do as :func:`_every_coalition`, but only for coalitions along the given orders.

    There is one training row per order.
    """
    p, d = orders.shape
    rank = np.argsort(orders, axis=1)
    before = (np.arange(p)[:, None] * (d + 1) + np.arange(d)).ravel()
    places = np.tile(orders.ravel(), 2), np.concatenate([before + 1, before])
    counts = np.repeat([1 / p, -1 / p], p * d)

    def coalitions(entries):
        order, n_joined = np.divmod(entries, d + 1)
        return rank[order] < n_joined[:, None], order

    return coalitions, coo_array((counts, places), shape=(d, p * (d + 1))).tocsr()


def _distinct(rows):
    """Return the distinct rows, and the index of each row among them."""
    keys = np.ascontiguousarray(rows).view(f"V{8 * rows.shape[1]}")[:, 0]
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], inverse
