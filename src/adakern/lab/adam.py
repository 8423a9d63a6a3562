"""Adam, which trains the bandwidths, and the default schedule of each solver."""

import math
from itertools import count
from typing import NamedTuple

#: Norm at which mini-batch gradients are clipped, as in the authors' code.
LONGEST = 10.0


def adam(loss, theta, *, rng, learning_rate, batch_size, horizon=None):
    """Yield the iterates (theta, loss) of Adam on random mini-batches.

    If given, ``horizon`` is the number of iterations over which the learning rate is
    annealed to zero.
    """
    xp = loss.xp
    mean = xp.zeros_like(theta)
    square = xp.zeros_like(theta)
    decay_mean, decay_square = 0.9, 0.999
    for k in count():
        fall = 1 if horizon is None else (1 + math.cos(math.pi * k / horizon)) / 2
        value, gradient = _batch_gradient(loss, theta, rng, batch_size)
        mean = decay_mean * mean + (1 - decay_mean) * gradient
        square = decay_square * square + (1 - decay_square) * gradient * gradient
        root = xp.sqrt(square / (1 - decay_square ** (k + 1)))
        theta = theta - learning_rate * fall / (1 - decay_mean ** (k + 1)) * mean / (
            root + 1e-8
        )
        yield theta, value


def _batch_gradient(loss, theta, rng, batch_size):
    xp = loss.xp
    rows = rng.integers(0, loss.n_rows, min(batch_size, loss.n_rows))
    rows = xp.asarray(rows, device=getattr(theta, "device", None))
    value, gradient = loss.value_and_gradient(theta, rows)
    norm = float(xp.sqrt(xp.sum(gradient * gradient)))
    if not norm < float("inf"):  # K_ss is singular at these bandwidths: no step
        return value, xp.zeros_like(gradient)
    return value, gradient * min(1.0, LONGEST / max(norm, 1e-300))


class Schedule(NamedTuple):
    """Default iterations, batch size and learning rates of a solver."""

    #: Iterations on the bandwidths shared by all support points.
    shared_iter: int
    #: Iterations after the last growth; a tenth of them before each growth.
    max_iter: int
    #: Iterations between two evaluations on the validation rows.
    look_every: int
    batch_size: int
    learning_rate: float
    #: Learning rate relative to a trained initial bandwidth. If set,
    #: ``learning_rate`` is relative to the unit bandwidth of the data.
    local_rate: float | None = None


#: Schedules of the solvers; "adam" has the settings of the authors' code.
SCHEDULES = {
    "annealed": Schedule(300, 300, 30, 512, 0.06, 0.03),
    "adam": Schedule(1000, 5000, 50, 128, 0.01),
}
