"""What the rows held out decide: how local, how many support points, which ridge."""

from typing import NamedTuple

import numpy as np

from adakern._utils.arrays import as_numpy
from adakern.lab.refit import RIDGES, RidgePath

#: From simple to rich.
LOCALITIES = ("global", "shared", "local")


class Candidate(NamedTuple):
    """Support points and bandwidths, and how they did on the rows held out."""

    locality: str
    support: np.ndarray
    theta: object
    #: Squared errors on the rows held out, at the best strength of the ridge.
    errors: np.ndarray = np.empty(0)
    #: That strength; None where no rows are held out.
    ridge: float | None = None

    @property
    def error(self):
        return self.errors.mean()


def judge(data, candidate, rows, held_out):
    """The candidate with its errors on ``held_out``, having seen ``rows``."""
    y = data.target[held_out]
    support, theta = candidate.support, candidate.theta
    path = RidgePath(*data.regression(support, theta, rows))
    blocks = data.kernel_blocks(support, theta, held_out)
    predicted = [as_numpy(path.predictions(K)) for _, K in blocks]
    errors = (np.concatenate(predicted) - y[:, None]) ** 2
    best = int(np.argmin(errors.mean(axis=0)))
    return candidate._replace(errors=errors[:, best], ridge=float(RIDGES[best]))


def choose(candidates):
    """The candidate of least error; more local ones must gain more than a standard
    error.
    """
    best = {}
    for candidate in candidates:
        name = candidate.locality
        if name not in best or candidate.error < best[name].error:
            best[name] = candidate
    ranked = [best[name] for name in LOCALITIES if name in best]
    chosen = ranked[0]
    for candidate in ranked[1:]:
        gain = chosen.errors - candidate.errors
        if gain.mean() > gain.std() / np.sqrt(len(gain)):
            chosen = candidate
    return chosen
