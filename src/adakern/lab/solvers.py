"""Solvers of the bandwidths: each a generator of iterates, (theta, loss) at a time.

All have one signature, so that the estimator's loop (early stopping, history, limits)
is written once: ``solver(loss, theta, rng=, learning_rate=, batch_size=, horizon=)``;
each takes what concerns it. One that ends by itself has converged.
"""

import math
from collections import deque
from itertools import repeat
from typing import NamedTuple

__all__ = ["SCHEDULES", "SOLVERS", "Schedule", "adam", "annealed", "lbfgs"]

#: "lbfgs" ends when ten iterations lower the loss by less than this part of it.
TOL = 1e-3

#: Norm at which the gradients of batches are clipped, the authors'.
LONGEST = 10.0


def lbfgs(loss, theta, *, memory=10, **_):
    """Limited-memory quasi-Newton on all rows, with a backtracking line search.

    The loss already has the coefficients eliminated, so every step moves bandwidths and
    coefficients together. Ends where no step along the gradient lowers the loss, or ten
    steps lower it by less than TOL relative to it.
    """
    xp = loss.xp
    value, gradient = loss.value_and_gradient(theta)
    pairs, values = deque(maxlen=memory), deque([value], maxlen=11)
    while len(values) < 11 or values[0] - value > TOL * values[0]:
        direction = -_inverse_hessian_product(gradient, pairs, xp)
        slope = float(xp.sum(direction * gradient))
        if slope >= 0 and pairs:  # lost to rounding: restart with the gradient
            pairs.clear()
            continue
        if slope >= 0:
            return
        step = 1.0
        if not pairs:  # no scale known yet: no bandwidth moves by more than a tenth
            step = 0.1 * float(xp.max(xp.abs(theta)) / xp.max(xp.abs(direction)))
        for _trial in range(20):
            candidate = theta + step * direction
            new_value, new_gradient = loss.value_and_gradient(candidate)
            if new_value <= value + 1e-4 * step * slope:
                break
            # Minimum of the parabola through value, slope and new value.
            parabola = -slope * step**2 / (2 * (new_value - value - step * slope))
            step = min(max(parabola, 0.1 * step), 0.5 * step)
        else:
            if not pairs:
                return
            pairs.clear()
            continue
        s, y = candidate - theta, new_gradient - gradient
        curvature = float(xp.sum(s * y))
        squared = float(xp.sum(y * y))
        if squared > 0 and curvature > 1e-10 * squared:
            pairs.append((s, y, curvature, squared))
        theta, value, gradient = candidate, new_value, new_gradient
        values.append(value)
        yield theta, value


def _inverse_hessian_product(vector, pairs, xp):
    """The two-loop recursion."""
    weights = []
    for s, y, curvature, _ in reversed(pairs):
        weight = float(xp.sum(s * vector)) / curvature
        vector = vector - weight * y
        weights.append(weight)
    if pairs:
        *_, curvature, squared = pairs[-1]
        vector = vector * (curvature / squared)
    for (s, y, curvature, _), weight in zip(pairs, reversed(weights), strict=True):
        vector = vector + (weight - float(xp.sum(y * vector)) / curvature) * s
    return vector


def annealed(loss, theta, *, rng, learning_rate, batch_size, horizon):
    """Adam on large batches, its step falling to zero over ``horizon`` iterations.

    The noise of the batches finds bandwidths that generalise better than those of a
    quasi-Newton method; the falling step (half a cosine) then does without the many
    iterations that a constant one needs to average that noise away. With ``horizon``
    None, before the last round, the step stays.
    """
    if horizon is None:
        rates = repeat(learning_rate)
    else:
        phases = (math.pi * k / horizon for k in range(horizon))
        rates = (learning_rate * (1 + math.cos(phase)) / 2 for phase in phases)
    yield from _adam(loss, theta, rates, rng, batch_size)


def adam(loss, theta, *, rng, learning_rate, batch_size, **_):
    """Adam with a constant step, as the authors of the paper run it."""
    rates = repeat(learning_rate)
    yield from _adam(loss, theta, rates, rng, batch_size)


def _adam(loss, theta, rates, rng, batch_size):
    """Adam on batches drawn with replacement, the gradient's norm clipped."""
    xp = loss.xp
    mean, square = xp.zeros_like(theta), xp.zeros_like(theta)
    decay_mean, decay_square = 0.9, 0.999
    for count, rate in enumerate(rates, start=1):
        value, gradient = _batch_gradient(loss, theta, rng, batch_size)
        mean = decay_mean * mean + (1 - decay_mean) * gradient
        square = decay_square * square + (1 - decay_square) * gradient * gradient
        root = xp.sqrt(square / (1 - decay_square**count))
        theta = theta - rate / (1 - decay_mean**count) * mean / (root + 1e-8)
        yield theta, value


def _batch_gradient(loss, theta, rng, batch_size):
    xp = loss.xp
    rows = rng.integers(0, loss.n_rows, min(batch_size, loss.n_rows))
    rows = xp.asarray(rows, device=getattr(theta, "device", None))
    value, gradient = loss.value_and_gradient(theta, rows)
    norm = float(_norm(gradient, xp))
    if not norm < float("inf"):  # K_ss singular for these bandwidths: let them be
        return value, xp.zeros_like(gradient)
    return value, gradient * min(1.0, LONGEST / max(norm, 1e-300))


def _norm(array, xp):
    return xp.sqrt(xp.sum(array * array))


SOLVERS = {"annealed": annealed, "lbfgs": lbfgs, "adam": adam}


class Schedule(NamedTuple):
    """What a solver runs with unless told otherwise."""

    #: For the bandwidths that all support points share at first.
    shared_iter: int
    growth_iter: int
    max_iter: int
    #: Iterations between two looks at the validation part.
    look_every: int
    batch_size: int | None = None
    learning_rate: float | None = None
    #: The learning rate from a trained start on, in the unit of that start; with it
    #: ``learning_rate`` counts in the unit bandwidth of the data.
    local_rate: float | None = None


#: Those of "adam" are the authors'.
SCHEDULES = {
    "annealed": Schedule(300, 30, 300, 30, 512, 0.06, 0.03),
    "adam": Schedule(1000, 500, 5000, 50, 128, 0.01),
    "lbfgs": Schedule(100, 30, 600, 10),
}
