"""The last step of a fit: the model that predicts, and the table of its members."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from adakern._utils.arrays import is_dask
from adakern._utils.resources import TILE_BYTES, row_blocks
from adakern.adaptive.explain import LearnedRows
from adakern.adaptive.members.kernel_ridge import merge_equal_rows
from adakern.adaptive.shift import Seen
from adakern.adaptive.table import Table
from adakern.adaptive.views import KernelView

#: Candidate priors of equal rows, in rows.
PRIORS = np.logspace(-2, 2, 17)

#: Equal rows are used if they improve predictions by so many standard errors.
STANDARD_ERRORS = 2.0

#: Equal rows are used if at least so many distinct rows are repeated, or if there are
#: at least so many repetitions.
FEWEST_REPEATED, FEWEST_REPETITIONS = 20, 50

#: Maximum numbers of rows, and of cells, kept to compute feature importances, and to
#: compare new rows with.
KEPT_ROWS, KEPT_CELLS = 500, 50_000


#: Note below a table of members.
_NOTE_ON_DROPPED = (
    "dropped: the blend was as good without it in a quick comparison, which also gave\n"
    "the score in brackets (in closed form or on fewer rows); this score cannot be\n"
    "compared with the out-of-fold scores"
)


@dataclass
class Member:
    """One member of a fitted blend.

    Attributes
    ----------
    name : str
    weight : float
    score : float
        R² or accuracy of its out-of-fold predictions. For a dropped member, the score
        was computed in closed form or on a subsample and is not comparable.
    seconds : float
        Total fit time over the folds, or until the member was dropped.
    dropped : bool
        Whether the member was dropped before the weights were found.
    log_loss : float or None
        Log loss of its out-of-fold probabilities, which distinguishes members of equal
        accuracy if a class is rare. None in regression, and for dropped members.
    """

    name: str
    weight: float
    score: float
    seconds: float
    dropped: bool = False
    log_loss: float | None = None


class MemberTable(list):
    """A list of :class:`Member` that prints as a table."""

    def __repr__(self):
        classifies = any(m.log_loss is not None for m in self)
        heading = f" {'log loss':>8}" * classifies
        lines = [f"{'member':18} {'weight':>7} {'score':>8}{heading} {'seconds':>8}"]
        for m in self:
            weight = "dropped" if m.dropped else f"{m.weight:.3f}"
            score = f"({m.score:.4f})" if m.dropped else f"{m.score:.4f}"
            loss = "" if m.log_loss is None else f"{m.log_loss:.4f}"
            score += f" {loss:>8}" * classifies
            lines.append(f"{m.name:18} {weight:>7} {score:>8} {m.seconds:8.2f}")
        if any(m.dropped for m in self):
            lines.append(_NOTE_ON_DROPPED)
        return "\n".join(lines)


@dataclass
class Fits:
    """A member fitted without each fold, and its predictions for the left-out rows.

    ``models`` are the copies fitted without each fold, and ``predicted`` (n, k) are
    their predictions. ``left_out`` are closed-form predictions from all rows but the
    predicted one, if available, otherwise the same. ``whole`` is fitted to all rows; if
    it is None, the mean of ``models`` predicts.
    """

    models: list
    predicted: np.ndarray
    left_out: np.ndarray
    whole: Any = None


@dataclass
class FittedMember:
    """The fits of one member, with its view; predictions are clipped to ``bounds``."""

    name: str
    view: Any
    fits: Fits
    bounds: tuple
    slope: float
    seconds: float

    @property
    def model(self):
        """The model fitted to all rows, or the first of those whose mean predicts."""
        return self.fits.models[0] if self.fits.whole is None else self.fits.whole

    def predict(self, Z, fold=None):
        """Predict (n, k) by the model fitted to all rows, or by the mean over folds.

        The rows Z have been transformed by the member's view. With ``fold``, the model
        that was not fitted to it predicts.
        """
        models = self.fits.models if self.fits.whole is None else [self.fits.whole]
        if fold is not None:
            models = self.fits.models[fold : fold + 1]
        # Without a fold, there may have been nothing to learn from.
        if len(set(map(type, models))) == 1:
            values = models[0].predict_each(models, Z)
        else:
            values = [model.predict(Z) for model in models]
        return np.clip(values, *self.bounds).mean(axis=0)


class EqualRows:
    """Predictions for new rows that equal training rows in all features.

    Training rows with equal features may determine their target (a case entered twice,
    or a deterministic table) or say little about each other (different cases that look
    alike). Which one holds is estimated from the data. Given the prediction q of models
    not fitted to these rows, and their targets y_i with weights w_i, the prediction is

        (prior q + sum_i w_i y_i) / (prior + sum_i w_i),

    the posterior mean of a random effect (of a Dirichlet distribution for class
    indicators). The prior minimises the squared error when each row is predicted from
    the other rows equal to it. If this does not improve on q by two standard errors,
    the prior is infinite, and the prediction is q.

    Attributes
    ----------
    prior_rows_ : float
        The prior, in rows.

    Robinson. That BLUP is a good thing: the estimation of random effects. Statistical
    Science 6 (1991).
    """

    prior_rows_ = np.inf

    #: Number of leading columns in which rows must be equal; None for all columns.
    n_columns_ = None

    def fit(self, table, predicted):
        """Choose the prior, given out-of-fold predictions of the rows (m, k)."""
        n = np.bincount(table.cell, table.counts)
        repeated = n[table.cell] > 1
        few = (n > 1).sum() < FEWEST_REPEATED and (n - 1).sum() < FEWEST_REPETITIONS
        if few or not repeated.any():
            return self
        known = ~np.isnan(table.Y)
        own = table.mass[:, None] * known
        mass = _sums(table.cell, own)
        sums = _sums(table.cell, own * np.where(known, table.Y, 0.0))
        data = table.take(repeated), predicted[repeated]
        gains = [_gains(prior, sums, mass, n, *data) for prior in PRIORS]
        best = int(np.argmax([gain for gain, _ in gains]))
        gain, error = gains[best]
        if gain > STANDARD_ERRORS * error:
            self.prior_rows_ = float(PRIORS[best])
            first = np.unique(table.cell, return_index=True)[1]
            self.n_columns_ = table.n_columns
            keys = _keys(table.X[first, : self.n_columns_])
            self._place = {key: i for i, key in enumerate(keys)}
            q = _sums(table.cell, table.counts[:, None] * predicted) / n[:, None]
            self._values = _posterior(self.prior_rows_, q, sums, mass)
        return self

    def adjust(self, X, predicted):
        """Replace the predictions for rows that equal training rows."""
        if np.isinf(self.prior_rows_):
            return predicted
        places = np.array(
            [self._place.get(key, -1) for key in _keys(X[:, : self.n_columns_])]
        )
        known = places >= 0
        adjusted = predicted.copy()
        adjusted[known] = self._values[places[known]]
        return adjusted


def _sums(cell, values):
    """Sums (n_cells, k) of values (n, k) over the rows of each cell."""
    return np.array([np.bincount(cell, column) for column in values.T]).T


def _posterior(prior, predicted, sums, mass):
    return (prior * predicted + sums) / (prior + mass)


def _gains(prior, sums, mass, n, table, predicted):
    """Return the decrease in squared error from using equal rows, and its std. error.

    Each row is predicted from the other rows of its cell. The rows of a small cell,
    which may be one case entered repeatedly, count as one observation; in other cells,
    each row counts.
    """
    cell = table.cell
    own = table.mass / table.counts
    known = ~np.isnan(table.Y)
    Y = np.where(known, table.Y, 0.0)
    shares = own[:, None] * known
    others = _posterior(prior, predicted, sums[cell] - shares * Y, mass[cell] - shares)
    decreases = (Y - predicted) ** 2 - (Y - others) ** 2
    decrease = np.sum(decreases * known, axis=1) * own
    total = np.bincount(cell, table.counts * decrease, minlength=len(n))
    squares = np.bincount(cell, table.counts * decrease**2, minlength=len(n))
    alone = np.bincount(cell, table.alone, minlength=len(n)) > 0
    spread = np.maximum(squares - total**2 / n, 0) * n / np.maximum(n - 1, 1)
    variance = np.where(alone, total**2, spread)
    return total.sum(), np.sqrt(variance.sum())


def _keys(X):
    """Key of each row; missing values are equal, and so are 0.0 and -0.0."""
    X = np.where(np.isnan(X), np.nan, X + 0.0)
    return [row.tobytes().hex() for row in X]


@dataclass
class Ensemble:
    """Members with a positive weight, in the order of the blend.

    ``probe`` is a sample of left-out training rows.
    """

    members: list
    blend: object
    equal_rows: EqualRows
    probe: Table
    #: Training rows that are centres of kernel members; None in early model files.
    rows: Any = None
    #: Statistics of the training rows, with which new rows are compared.
    seen: Any = None

    def predict(self, X, fold=None):
        """Predict the rows X, as converted to numbers by the reader.

        With ``fold``, use the models that were not fitted to it.
        """
        views = {id(member.view): member.view for member in self.members}
        rows = {key: view.transform(X) for key, view in views.items()}
        values = [m.predict(rows[id(m.view)], fold) for m in self.members]
        return self.equal_rows.adjust(X, self.blend.combine(values, X))

    def importances(self, source):
        """Increase in loss when a feature is permuted among left-out rows.

        Increases are normalised to sum to one. ``source`` is the feature of each column
        of X.
        """
        table = self.probe
        rng = np.random.default_rng(0)
        new = replace(self, equal_rows=EqualRows())
        increases = np.zeros(source.max() + 1)
        for k in range(table.n_folds):
            part = table.take(table.fold == k)
            if not len(part.X):
                continue
            orders = [rng.permutation(len(part.X)) for _ in increases]
            loss = self.blend.losses(new.predict(part.X, k), part.Y).sum()
            for block in row_blocks(len(increases), part.X.nbytes, TILE_BYTES):
                features = range(len(increases))[block]
                copies = np.repeat(part.X[None], len(features), axis=0)
                for copy, j in zip(copies, features, strict=True):
                    copy[:, source == j] = part.X[orders[j]][:, source == j]
                rows = copies.reshape(-1, part.X.shape[1])
                Y = np.tile(part.Y, (len(features), 1))
                losses = self.blend.losses(new.predict(rows, k), Y)
                increases[block] += losses.reshape(len(features), -1).sum(axis=1) - loss
        increases = np.maximum(increases, 0)
        return increases / increases.sum() if increases.sum() > 0 else increases


def make_model(problem, members, blend, rng):
    """Return the :class:`Ensemble` of the members with a positive weight."""
    judged = problem.table.left_out
    equal_rows = EqualRows()
    n_probe = max(50, min(KEPT_ROWS, KEPT_CELLS // judged.X.shape[1]))
    probe = judged.take(np.sort(rng.permutation(len(judged.X))[:n_probe]))
    if problem.ungrouped:
        values = [member.fits.left_out for member in members]
        equal_rows.fit(problem.table, blend.combine(values, problem.table.X))
    used = np.array([np.any(weight > 0) for weight in blend.weights], dtype=bool)
    members = [
        replace(m, fits=replace(m.fits, predicted=None, left_out=None))
        for m, counts in zip(members, used, strict=True)
        if counts
    ]
    if problem.all_rows is not None:
        members = problem.all_rows.refit(problem, members)
    return Ensemble(members, blend.only(used), equal_rows, probe)


def learned_rows(problem, X):
    """Return the :class:`LearnedRows` of a fit to rows X, or None if there are none.

    Labels are those of pandas' index, or numbers from 0.
    """
    if problem.views is None:
        return None
    labels = np.arange(_num_samples(X))
    if hasattr(X, "iloc") and not is_dask(X):
        labels = np.asarray(X.index)
        labels = labels if labels.dtype.kind in "iu" else labels.astype(str)
    table = problem.table
    origin = problem.origin
    if not table.learns_all:
        learned = table.fold != 0
        table, origin = table.take(learned), origin[learned]
    Z = problem.views[KernelView].transform(table.X)
    *_, weights, place = merge_equal_rows(Z, table.Y, table.weights)
    first = np.full(len(weights), len(labels))
    np.minimum.at(first, place, origin)
    return LearnedRows(labels[first], weights / weights.mean())


def seen_in(problem):
    """Return the statistics of the training rows, with which new rows are compared."""
    table = problem.table
    reader = problem.reader
    first = reader.first_
    X = table.X[:, first]
    counts = table.counts
    n = int(counts.sum())
    missing = np.isnan(X)
    low = np.where(missing, np.inf, X).min(axis=0)
    high = np.where(missing, -np.inf, X).max(axis=0)
    single = np.zeros(len(first), dtype=int)
    for j in np.flatnonzero(reader.is_categorical[first]):
        codes = X[~missing[:, j], j].astype(int)
        single[j] = np.sum(np.bincount(codes, counts[~missing[:, j]]) == 1)
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(len(X)), counts))
    kept = max(50, min(KEPT_ROWS, KEPT_CELLS // len(first)))
    return Seen(n, low, high, counts @ missing, single, X[rows[:kept]])


def members_table(members, blend, dropped):
    """Table of the members, by decreasing weight, with dropped ones last."""
    losses = blend.log_losses if blend.classify else [None] * len(members)
    rows = zip(members, blend.weights, blend.scores, losses, strict=True)
    table = [
        Member(m.name, float(np.mean(w)), float(s), m.seconds, log_loss=loss)
        for m, w, s, loss in rows
    ]
    table.sort(key=lambda member: -member.weight)
    return MemberTable(table + dropped)
