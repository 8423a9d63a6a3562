"""Choice of locality, number of support points and ridge on the held-out rows."""

from typing import NamedTuple

import numpy as np

from adakern._utils.arrays import as_numpy
from adakern.lab.refit import RIDGES, RidgePath

#: From the simplest to the most flexible.
LOCALITIES = ("global", "shared", "local")


class Candidate(NamedTuple):
    """Support points and bandwidths, with their errors on the held-out rows."""

    locality: str
    support: np.ndarray
    theta: object
    #: Squared errors on the held-out rows, at the best ridge.
    errors: np.ndarray = np.empty(0)
    #: The best ridge; None if no rows are held out.
    ridge: float | None = None


def judge(data, candidate, rows, held_out):
    """Return the candidate with its errors on ``held_out`` if refitted to ``rows``."""
    y = data.target[held_out]
    support = candidate.support
    theta = candidate.theta
    path = RidgePath(*data.regression(support, theta, rows))
    blocks = data.kernel_blocks(support, theta, held_out)
    predicted = [as_numpy(path.predictions(K)) for _, K in blocks]
    errors = (np.concatenate(predicted) - y[:, None]) ** 2
    if data.weights is not None:
        shares = data.weights[held_out]
        errors *= (shares / shares.mean())[:, None]
    best = int(np.argmin(errors.mean(axis=0)))
    return candidate._replace(errors=errors[:, best], ridge=float(RIDGES[best]))


def _error(candidate):
    return candidate.errors.mean()


def choose(candidates):
    """Return the candidate with the lowest error.

    A more local one must be better by more than a standard error.
    """
    by_locality = [[c for c in candidates if c.locality == name] for name in LOCALITIES]
    chosen, *more = [min(some, key=_error) for some in by_locality if some]
    for candidate in more:
        gain = chosen.errors - candidate.errors
        if gain.mean() > gain.std() / np.sqrt(len(gain)):
            chosen = candidate
    return chosen
