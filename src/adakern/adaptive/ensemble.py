"""A fitted model as a value: members, their blend, and what equal rows say."""

from dataclasses import dataclass, replace

import numpy as np

from adakern.adaptive.equal_rows import EqualRows
from adakern.adaptive.parts import Table

__all__ = ["Ensemble"]

#: Rows kept to measure the importance of features on.
PROBE_ROWS = 500


@dataclass
class Ensemble:
    """Members that count, in the order of the blend, and some of the training rows."""

    members: list
    blend: object
    equal_rows: EqualRows
    probe: Table

    @classmethod
    def of(cls, members, blend, equal_rows, table, rng):
        """Without the members that do not count, and without what was for weighing."""
        used = blend.weights > 0
        members = [
            replace(m, fits=replace(m.fits, predicted=None, left_out=None))
            for m, counts in zip(members, used, strict=True)
            if counts
        ]
        rows = np.sort(rng.permutation(len(table.X))[:PROBE_ROWS])
        return cls(members, blend.only(used), equal_rows, table.take(rows))

    def predict(self, X):
        """What the blend predicts for read rows."""
        return self.blend.combine([member.predict(X) for member in self.members], X)

    def predict_without(self, k, X):
        """The same by the models that did not learn from fold k."""
        values = [member.predict_without(k, X) for member in self.members]
        return self.blend.combine(values, X)

    def importances(self):
        """Rise of the loss where each column is permuted; no fold knows its rows."""
        table, rng = self.probe, np.random.default_rng(0)
        rises = np.zeros(table.X.shape[1])
        for k in range(table.n_folds):
            part = table.take(table.fold == k)
            if not len(part.X):
                continue
            copies = np.repeat(part.X[None], len(rises) + 1, axis=0)
            for j in range(len(rises)):
                copies[j, :, j] = rng.permutation(part.X[:, j])
            predicted = self.predict_without(k, copies.reshape(-1, len(rises)))
            Y = np.tile(part.Y, (len(copies), 1))
            losses = self.blend.losses(predicted, Y)
            losses = losses.reshape(len(copies), -1).sum(axis=1)
            rises += losses[:-1] - losses[-1]
        rises = np.maximum(rises, 0)
        return rises / rises.sum() if rises.sum() > 0 else rises
