"""What one fit works on: scaled training data, and the watch over its validation."""

import time

import numpy as np
from array_api_compat import array_namespace
from array_api_compat import device as device_of

from adakern.lab.arrays import to_numpy
from adakern.lab.objective import InterpolationLoss

__all__ = ["History", "TrainingData", "Watch"]


class TrainingData:
    """Centred features and standardized target, in the precision of the training.

    Parameters
    ----------
    X, y : arrays of shapes (n, d) and (n,)
    precision : {"float32", "float64"}
    alpha, profile, coef_penalty :
        Of the losses made here.
    """

    def __init__(self, X, y, *, precision, **settings):
        self.xp = xp = array_namespace(X)
        self.original = X
        self.centre = xp.mean(xp.astype(X, xp.float64), axis=0)
        self.y_host = to_numpy(y)
        self.y_mean = float(self.y_host.mean())
        self.y_scale = _spread(self.y_host)
        self.dtype = getattr(xp, precision)
        self.X = self._centred(X, self.dtype)
        self.y = self._as_array((self.y_host - self.y_mean) / self.y_scale, self.dtype)
        self.settings = settings

    @property
    def shape(self):
        return self.X.shape

    @property
    def unit_bandwidth(self):
        """One over the root mean squared distance of two rows."""
        variance = float(self.xp.sum(self.xp.var(self.X, axis=0)))
        return (2 * variance) ** -0.5 if variance > 0 else 1.0

    def full(self, shape, value):
        """An array of the kind of X, for bandwidths."""
        return self.xp.full(shape, value, dtype=self.dtype, device=device_of(self.X))

    def take(self, rows):
        """Features and targets of some rows."""
        rows = self._index(rows)
        return self.xp.take(self.X, rows, axis=0), self.xp.take(self.y, rows, axis=0)

    def loss(self, support, rows):
        """The loss of the bandwidths of ``support``, over ``rows``."""
        return InterpolationLoss(*self.take(support), *self.take(rows), **self.settings)

    def errors(self, loss, theta, rows):
        """Absolute errors at some rows, in standard deviations of y, in NumPy."""
        X, y = self.take(rows)
        return np.abs(to_numpy(loss.predict(theta, X) - y))

    def final_loss(self, support):
        """The same on the support data alone, in the type of X as it was given."""
        X = self._centred(self.support_vectors(support), self.original.dtype)
        y = (self.y_host[support] - self.y_mean) / self.y_scale
        y = self._as_array(y, self.original.dtype)
        return InterpolationLoss(X, y, X, y, **self.settings)

    def support_vectors(self, support):
        return self.xp.take(self.original, self._index(support), axis=0)

    def _centred(self, X, dtype):
        return self.xp.astype(self.xp.astype(X, self.xp.float64) - self.centre, dtype)

    def _as_array(self, values, dtype):
        return self.xp.asarray(values, dtype=dtype, device=device_of(self.X))

    def _index(self, rows):
        return self.xp.asarray(rows, device=device_of(self.X))


def _spread(y):
    """Standard deviation; 1 for a constant target."""
    largest = np.abs(y).max()
    scale = largest * (y / largest).std() if largest > 0 else 0.0
    return float(scale) if scale > 0 else 1.0


class Watch:
    """Keeps the bandwidths that are best on the validation rows (all are, if none).

    Parameters
    ----------
    loss : InterpolationLoss
    X, y : arrays
        Validation rows, possibly none.
    theta : array
        Where the solver starts.
    patience : int
        Looks without improvement after which it is ``stale``.
    """

    def __init__(self, loss, X, y, theta, patience):
        self.loss = loss
        self.active = y.shape[0] > 0
        self.X, self.y = X, y
        self.patience = patience
        self.best, self.best_value, self.looks = theta, float("inf"), 0
        self.look(theta)

    def look(self, theta):
        """Validation loss of theta; nan if there are no validation rows."""
        if not self.active:
            self.best = theta
            return float("nan")
        value = self.loss.value(theta, self.X, self.y)
        self.looks += 1
        if value < self.best_value:
            self.best, self.best_value, self.looks = theta, value, 0
        return value

    @property
    def stale(self):
        return self.active and self.looks >= self.patience


class History:
    """Lists that grow by one entry at each look at the training."""

    NAMES = ("iteration", "n_support", "loss", "validation_loss", "time")

    def __init__(self):
        self.lists = {name: [] for name in self.NAMES}
        self._start = time.perf_counter()

    def append(self, iteration, n_support, loss, validation_loss):
        seconds = time.perf_counter() - self._start
        entries = (iteration, n_support, loss, validation_loss, seconds)
        for name, entry in zip(self.NAMES, entries, strict=True):
            self.lists[name].append(entry)
