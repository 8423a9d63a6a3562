"""What a fit is made of: the table, how folds see it, and the protocol of members."""

from contextlib import suppress
from copy import copy
from dataclasses import dataclass

import numpy as np
from joblib import delayed

from adakern._utils.arrays import device_context, to_device

#: From so many rows on four fifths of the rows predict nearly as well as all, and
#: members are weighed by what they predict without a whole fold.
ENOUGH_ROWS = 1000


@dataclass
class Fits:
    """A member fitted without each fold, and what it predicts for the rows left out.

    ``predicted`` (n, k) is by the models of the folds, ``left_out`` as if all rows but
    the one predicted were known, where that has a closed form. ``whole`` is fitted to
    all rows; where it is None, the mean of ``models`` predicts.
    """

    models: list
    predicted: np.ndarray
    left_out: np.ndarray
    whole: object = None


@dataclass
class FittedMember:
    """The fits of one member with what they need to predict; values stay in bounds."""

    name: str
    view: object
    fits: Fits
    bounds: tuple
    slope: float
    seconds: float

    @property
    def model(self):
        """What predicts, or one of those whose mean does."""
        return self.fits.models[0] if self.fits.whole is None else self.fits.whole

    def predict(self, X):
        """Values (n, k) for read rows: refitted to all rows, or the mean over folds."""
        models = self.fits.models if self.fits.whole is None else [self.fits.whole]
        return self._mean(models, X)

    def predict_without(self, k, X):
        """Values (n, k) of the model that did not learn from fold k."""
        return self._mean(self.fits.models[k : k + 1], X)

    def _mean(self, models, X):
        Z = self.view.transform(X)
        return np.mean(
            [np.clip(model.predict(Z), *self.bounds) for model in models], axis=0
        )


class BaseMember:
    """The protocol of members, and how they are fitted in folds unless they say else.

    A member learns by ``fit(X, Y, weights)`` from rows (n, d), targets (n, k) and
    positive weights (n,); ``predict(X)`` gives values (n, k), of classes scores or log
    probabilities.
    """

    #: Which view of the rows it learns from, "kernel" or "tree".
    view = "kernel"

    #: Whether it predicts refitted to all rows instead of by the mean over folds.
    refit = False

    #: Whether ``predict_left_out`` says what it predicts for rows that it did not know.
    closed_form = False

    #: Where the slope of its calibration starts; 1 for logarithms of probabilities.
    slope = 1.0

    #: Whether it is fitted by least squares on centres, so that sums over rows suffice.
    stands_on_centres = False

    def found(self):
        """What its search found, from where others may start; None if nothing."""

    def in_fold(self, whole):
        """Itself, unfitted, for the rows outside of a fold; ``whole`` is of all."""
        return copy(self)

    def predict_left_out(self, X, Y, weights):
        """Values (n, k) as if all rows but each were known; None: no closed form."""

    def fit_whole(self, table):
        """Itself fitted to all rows if that predicts, else None."""
        if not self.refit or table.n_folds == 1:
            return None
        return fit_or_mean(copy(self), table.X, table.Y, table.weights)

    def fit_folds(self, table, run, whole=None):
        """Its :class:`Fits`, or None if ``run`` does not run all tasks.

        ``whole`` is what :meth:`fit_whole` returned, if it was called already.
        """
        whole = self.fit_whole(table) if whole is None else whole
        place = to_device(np.empty(0))
        folds = range(table.n_folds)
        results = run(
            [delayed(_fit_fold)(self.in_fold(whole), table, k, place) for k in folds]
        )
        if results is None:
            return None
        models, *values = zip(*results, strict=True)
        predicted, left_out = (gather(parts, table) for parts in values)
        return Fits(list(models), predicted, left_out, whole)


def gather(parts, table):
    """Values for the rows of each fold as one array, rows of no fold left out."""
    values = np.empty(table.Y.shape)
    for k, part in enumerate(parts):
        values[table.fold == k] = part
    return values[table.fold >= 0]


class ConstantMember(BaseMember):
    """The mean target, where there is nothing to learn from."""

    def fit(self, X, Y, weights):
        self.mean_ = np.average(Y, axis=0, weights=weights)
        return self

    def predict(self, X):
        return np.tile(self.mean_, (len(X), 1))


def varies(A):
    """Whether any column of A holds two different values; a missing value is one."""
    first = A[:1]
    same = (first == A) | (np.isnan(first) & np.isnan(A))
    return not same.all()


def fit_or_mean(member, X, Y, weights):
    """The member, or the mean where there is nothing to learn from, fitted."""
    member = member if varies(X) and varies(Y) else ConstantMember()
    return member.fit(X, Y, weights)


def _fit_fold(member, table, k, place):
    """The member without the rows of fold k, and two predictions for them.

    The second is as if it knew all other rows: members that are refitted would count
    for too little by what four fifths of few rows without noise predict. A worker
    process knows by ``place`` alone where kernels are computed.
    """
    left_out = table.fold == k
    train, X = ~left_out, table.X
    with device_context(place):
        member = fit_or_mean(member, X[train], table.Y[train], table.weights[train])
        predicted = values = member.predict(X[left_out])
        alone = table.alone & left_out
        if table.n_folds > 1 and alone.any() and len(X) < ENOUGH_ROWS:
            with suppress(np.linalg.LinAlgError):  # the ridge is too small for all rows
                of_all = member.predict_left_out(X, table.Y, table.weights)
                if of_all is not None:
                    values = np.where(
                        alone[left_out, None], of_all[left_out], predicted
                    )
    return member, predicted, values


def all_classes(model, X, n_classes):
    """Probabilities with a column of zeros for each class the model never saw."""
    probabilities = np.zeros((len(X), n_classes))
    probabilities[:, model.classes_] = model.predict_proba(X)
    return probabilities


def log_proba(probabilities):
    return np.log(np.maximum(probabilities, 1e-6))
