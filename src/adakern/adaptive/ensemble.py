"""Fitted models as values: all that a fit made, and what of it predicts."""

from dataclasses import dataclass, replace

import numpy as np

from adakern._utils.blocks import TILE_BYTES, row_blocks
from adakern.adaptive.equal_rows import EqualRows
from adakern.adaptive.parts import Member, MemberTable, Table

#: Between so many rows weights are fitted again without each fold, to be judged.
FEWEST_NESTED, MOST_NESTED = 10, 5000


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
