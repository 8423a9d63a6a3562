"""What the targets of training rows say of a new row with the same features."""

import numpy as np

#: Candidates for the prior, in rows.
PRIORS = np.logspace(-2, 2, 17)

#: Standard errors by which equal rows have to help before they are listened to.
SURE = 2.0

#: Fewer repeated rows, and repetitions, than this prove nothing.
FEWEST_REPEATED, FEWEST_REPETITIONS = 20, 50


class EqualRows:
    """Predictions for rows that training holds, from the targets it holds for them.

    Rows with the same features may be one case entered twice, or features that leave
    nothing open: then their targets are equal, and a new row of that kind has the same
    target again. Or they are different cases that look alike in this table: then each
    says little of the next. The table itself tells. With q predicted for such rows by
    models that did not see them, and targets y_i of weights w_i, the prediction is

        (prior q + sum_i w_i y_i) / (prior + sum_i w_i),

    the posterior mean of a random effect (of a Dirichlet distribution for indicators of
    classes). The prior has the least squared error where each row of a cell is
    predicted from the others of its cell. If that is not better than q by twice the
    standard error, q stands: the prior is infinite.

    Attributes
    ----------
    prior_rows_ : float

    Robinson. That BLUP is a good thing: the estimation of random effects. Statistical
    Science 6 (1991).
    """

    prior_rows_ = np.inf

    def fit(self, table, predicted):
        """Learn what equal rows are worth beside the out-of-fold predictions (m, k)."""
        n = np.bincount(table.cell, table.counts)
        mass = np.bincount(table.cell, table.mass)
        sums = np.array([np.bincount(table.cell, table.mass * y) for y in table.Y.T]).T
        repeated = n[table.cell] > 1
        few = (n > 1).sum() < FEWEST_REPEATED and (n - 1).sum() < FEWEST_REPETITIONS
        if few or not repeated.any():
            return self
        data = table.take(repeated), predicted[repeated]
        gains = [_gains(prior, sums, mass, n, *data) for prior in PRIORS]
        best = int(np.argmax([gain for gain, _ in gains]))
        gain, error = gains[best]
        if gain > SURE * error:
            self.prior_rows_ = float(PRIORS[best])
            first = np.unique(table.cell, return_index=True)[1]
            self._place = {key: i for i, key in enumerate(_keys(table.X[first]))}
            q = np.array(
                [np.bincount(table.cell, table.counts * p) / n for p in predicted.T]
            ).T
            self._values = _posterior(self.prior_rows_, q, sums, mass)
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


def _posterior(prior, predicted, sums, mass):
    return (prior * predicted + sums) / (prior + mass)[:, None]


def _gains(prior, sums, mass, n, table, predicted):
    """By how much the squared error falls, each row predicted from its cell's others.

    And the standard error of that. In a cell of few rows, which may be one case entered
    again, the rows are one piece of evidence, in others each is one.
    """
    cell, own = table.cell, table.mass / table.counts
    others = _posterior(
        prior, predicted, sums[cell] - own[:, None] * table.Y, mass[cell] - own
    )
    fall = np.sum((table.Y - predicted) ** 2 - (table.Y - others) ** 2, axis=1) * own
    total = np.bincount(cell, table.counts * fall, minlength=len(n))
    squares = np.bincount(cell, table.counts * fall**2, minlength=len(n))
    alone = np.bincount(cell, table.alone, minlength=len(n)) > 0
    spread = np.maximum(squares - total**2 / n, 0) * n / np.maximum(n - 1, 1)
    variance = np.where(alone, total**2, spread)
    return total.sum(), np.sqrt(variance.sum())


def _keys(X):
    """One value for each row; missing values are equal, and so are zeros."""
    X = np.where(np.isnan(X), np.nan, X + 0.0)
    return [row.tobytes().hex() for row in X]
