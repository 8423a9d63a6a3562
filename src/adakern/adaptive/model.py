"""Fitted models as values: all that a fit made, and what of it predicts."""

from dataclasses import dataclass, replace

import numpy as np

from adakern._utils.blocks import TILE_BYTES, row_blocks
from adakern.adaptive.prepare import Table

#: Candidates for the prior, in rows.
PRIORS = np.logspace(-2, 2, 17)

#: Standard errors by which equal rows have to help before they are listened to.
SURE = 2.0

#: Fewer repeated rows, and repetitions, than this prove nothing.
FEWEST_REPEATED, FEWEST_REPETITIONS = 20, 50

#: Between so many rows weights are fitted again without each fold, to be judged.
FEWEST_NESTED, MOST_NESTED = 10, 5000


@dataclass
class Member:
    """One member of a fitted model: what it is, how good it is, how much it counts.

    Attributes
    ----------
    name : str
    weight : float
    score : float
        R² or accuracy of its out-of-fold predictions.
    seconds : float
        What its folds took together, or what came before it was dropped.
    """

    name: str
    weight: float
    score: float
    seconds: float


class MemberTable(list):
    """A list of :class:`Member` that prints as a table."""

    def __repr__(self):
        lines = [f"{'member':18} {'weight':>7} {'score':>8} {'seconds':>8}"]
        lines += [
            f"{m.name:18} {m.weight:7.3f} {m.score:8.4f} {m.seconds:8.2f}" for m in self
        ]
        return "\n".join(lines)


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


@dataclass
class Ensemble:
    """Members that count, in the order of the blend, and some of the training rows."""

    members: list
    blend: object
    equal_rows: EqualRows
    probe: Table

    def predict(self, X):
        """What the blend predicts for read rows."""
        return self._blended(X, lambda member: member.predict(X))

    def predict_without(self, k, X):
        """The same by the models that did not learn from fold k."""
        return self._blended(X, lambda member: member.predict_without(k, X))

    def _blended(self, X, predict):
        predicted = self.blend.combine([predict(member) for member in self.members], X)
        return self.equal_rows.adjust(X, predicted)

    def importances(self, source):
        """Rise of the loss where each feature is permuted; no fold knows its rows.

        ``source`` is the feature from which each column comes.
        """
        table, rng = self.probe, np.random.default_rng(0)
        new = replace(self, equal_rows=EqualRows())
        rises = np.zeros(source[-1] + 1)
        for k in range(table.n_folds):
            part = table.take(table.fold == k)
            if not len(part.X):
                continue
            orders = [rng.permutation(len(part.X)) for _ in rises]
            loss = self.blend.losses(new.predict_without(k, part.X), part.Y).sum()
            for block in row_blocks(len(rises), part.X.nbytes, TILE_BYTES):
                features = range(len(rises))[block]
                copies = np.repeat(part.X[None], len(features), axis=0)
                for copy, j in zip(copies, features, strict=True):
                    copy[:, source == j] = part.X[orders[j]][:, source == j]
                rows = copies.reshape(-1, part.X.shape[1])
                Y = np.tile(part.Y, (len(features), 1))
                losses = self.blend.losses(new.predict_without(k, rows), Y)
                rises[block] += losses.reshape(len(features), -1).sum(axis=1) - loss
        rises = np.maximum(rises, 0)
        return rises / rises.sum() if rises.sum() > 0 else rises


@dataclass
class Learned:
    """All that a fit made: the table as read, and every member with its fits.

    ``position`` is the place of each row among those of the table that are in a fold,
    -1 for weight zero (rows of X_val where these are given); ``blend`` is not yet
    fitted; ``dropped`` are the members that were not worth their folds. Members that
    were fitted to a sample are given to ``refit`` if they count.
    """

    reader: object
    table: Table
    position: np.ndarray
    members: list
    dropped: list
    blend: object
    probe: Table
    ungrouped: bool
    refit: object

    def weigh(self, members, by="left_out"):
        """The blend of some of the members, by what they predict for rows left out."""
        values = [getattr(member.fits, by) for member in members]
        return self.blend.fit(values, [m.slope for m in members], self.table.left_out)

    def combine(self, blend, members):
        """What the blend predicts for the rows left out."""
        return blend.combine([m.fits.left_out for m in members], self.table.left_out.X)

    def nested(self, members, blend):
        """What is predicted for the rows left out by blends that never saw their fold.

        From both kinds of values that :class:`Fits` holds, left out and by the folds.
        As many rows as decide the weights well, and too few to be split, are predicted
        by ``blend``, that of all.
        """
        table, slopes = self.table.left_out, [m.slope for m in members]
        left_out = [m.fits.left_out for m in members]
        kinds = left_out, [m.fits.predicted for m in members]
        fold = table.fold if table.n_folds > 1 else np.arange(len(table.X)) % 5
        if not FEWEST_NESTED <= len(fold) <= MOST_NESTED:
            return [blend.combine(values, table.X) for values in kinds]
        predicted = np.empty((2, *table.Y.shape))
        for k in range(fold.max() + 1):
            rest, rows = fold != k, fold == k
            blend = self.blend.fit(
                [v[rest] for v in left_out], slopes, table.take(rest)
            )
            for values, found in zip(kinds, predicted, strict=True):
                found[rows] = blend.combine([v[rows] for v in values], table.X[rows])
        return predicted

    def ensemble(self, members, blend):
        """What predicts: the members that count, and what targets of equal rows say."""
        equal_rows = EqualRows()
        if self.ungrouped:
            equal_rows.fit(self.table, self.combine(blend, members))
        used = blend.weights > 0
        members = [
            replace(m, fits=replace(m.fits, predicted=None, left_out=None))
            for m, counts in zip(members, used, strict=True)
            if counts
        ]
        return Ensemble(self.refit(members), blend.only(used), equal_rows, self.probe)

    def members_table(self, blend):
        """The members: those that count most first, those dropped last."""
        members = MemberTable(
            Member(m.name, float(weight), float(score), m.seconds)
            for m, weight, score in zip(
                self.members, blend.weights, blend.scores, strict=True
            )
        )
        members.sort(key=lambda member: -member.weight)
        members.extend(self.dropped)
        return members
