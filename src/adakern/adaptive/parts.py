"""What a fit works on and leaves behind: rows, folds, the table of its members."""

from dataclasses import dataclass, field

import numpy as np

__all__ = ["Fold", "Member", "MemberTable", "Table"]


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
        What its folds took together.
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


@dataclass
class Table:
    """The rows that a model learns from, each different one once.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Numbers and codes of words.
    Y : ndarray of shape (n, k)
        Targets, or indicators of classes.
    weights : ndarray of shape (n,)
    fold : ndarray of shape (n,)
    """

    X: np.ndarray
    Y: np.ndarray
    weights: np.ndarray
    fold: np.ndarray

    @property
    def n_folds(self):
        """Number of folds, 1 if there are too few rows to leave any out."""
        return int(self.fold.max()) + 1


@dataclass
class Fold:
    """What was learned without the rows of one fold; values stay within bounds."""

    views: dict
    bounds: tuple
    models: dict = field(default_factory=dict)

    def predict(self, name, X):
        """Values (n, k) that the member ``name`` predicts for the read rows X.

        Parameters
        ----------
        name : str
            Of the member.
        X : array of shape (n, d)
            Rows.
        """
        model = self.models[name]
        values = model.predict(self.views[model.view].transform(X))
        return np.clip(values, *self.bounds)
