"""What the targets of training rows say of a new row with the same features."""

import numpy as np

__all__ = ["EqualRows"]

#: Candidates for the prior, in rows.
PRIORS = np.logspace(-2, 2, 17)

#: Standard errors by which equal rows have to help before they are listened to.
SURE = 2.0


class EqualRows:
    """Predictions for rows that training holds, from the targets it holds for them.

    Rows with the same features may be one case entered twice, or features that leave
    nothing open: then their targets are equal, and a new row of that kind has the same
    target again. Or they are different cases for which the table has the same words:
    then each says little of the next. The table itself tells. With q predicted for such
    rows by models that saw none of them, and targets ``y_1, ..., y_n``, the prediction
    is

        (prior q + y_1 + ... + y_n) / (prior + n),

    the posterior mean of a random effect (of a Dirichlet distribution for indicators of
    classes). The prior has the least squared error where each row of a group is
    predicted from the others of its group. If that is not better than q by twice the
    standard error over groups, q stands: the prior is infinite.

    Attributes
    ----------
    prior_rows_ : float

    References
    ----------
    Robinson. That BLUP is a good thing: the estimation of random effects. Statistical
    Science 6 (1991).

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.adaptive.equal_rows import EqualRows
    >>> from adakern.adaptive.parts import Table
    >>> group = np.arange(20) // 2
    >>> X, Y = group[:, None] + 0.0, np.sin(9 * group)[:, None]
    >>> table = Table(X, Y, np.ones(20), group, group, np.ones(20))
    >>> equal = EqualRows().fit(table, np.zeros((20, 1)))
    >>> equal.prior_rows_
    0.01
    >>> equal.adjust(np.array([[0.5], [1.0]]), np.zeros((2, 1))).round(2)
    array([[0.  ],
           [0.41]])
    """

    prior_rows_ = np.inf

    def fit(self, table, predicted):
        """Learn what equal rows are worth; no row's cell was seen by ``predicted``.

        If counts are no whole numbers but weights, nothing is known of repetitions and
        the prior is infinite.
        """
        X, Y, group, counts = table.X, table.Y, table.cell, table.counts
        n = np.bincount(group, counts)
        sums = np.array([np.bincount(group, counts * y) for y in Y.T]).T
        repeated = (n[group] > 1) & (counts % 1 == 0).all()
        data = Y[repeated], counts[repeated], group[repeated], predicted[repeated]
        gains = np.array([_gains(prior, sums, n, *data) for prior in PRIORS])
        totals = gains.sum(axis=1)
        best = totals.argmax()
        if totals[best] > SURE * np.linalg.norm(gains[best]):
            self.prior_rows_ = float(PRIORS[best])
            first = np.unique(group, return_index=True)[1]
            self._place = {key: i for i, key in enumerate(_keys(X[first]))}
            self._values = _posterior(self.prior_rows_, predicted[first], sums, n)
        return self

    def adjust(self, X, predicted):
        """The predictions, those of rows that training holds replaced."""
        if np.isinf(self.prior_rows_):
            return predicted
        places = np.array([self._place.get(key, -1) for key in _keys(X)])
        known = places >= 0
        adjusted = predicted.copy()
        adjusted[known] = self._values[places[known]]
        return adjusted


def _posterior(prior, predicted, sums, n):
    return (prior * predicted + sums) / (prior + n)[:, None]


def _gains(prior, sums, n, Y, counts, group, predicted):
    """By how much each group's squared error falls, each row predicted from the others.

    Of rows Y in groups of n rows that sum to ``sums``; zero for groups of one row.
    """
    others = _posterior(prior, predicted, sums[group] - Y, n[group] - 1)
    fall = np.sum((Y - predicted) ** 2 - (Y - others) ** 2, axis=1)
    return np.bincount(group, counts * fall, minlength=len(n))


def _keys(X):
    """One value for each row, the same for equal rows: gaps are equal, so are zeros."""
    X = np.where(np.isnan(X), np.nan, X + 0.0)
    return [row.tobytes() for row in X]
