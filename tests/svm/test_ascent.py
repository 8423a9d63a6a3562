from dataclasses import dataclass

import numpy as np

from adakern.svm.ascent import accelerated

CURVATURE = np.diag([1.0, 100.0])
TARGET = np.array([3.0, -2.0])
OPTIMUM = np.array([3.0, -1.0])


@dataclass
class Quadratic:
    """A concave parabola over the box [-1, 5]^2, with its distance to the optimum."""

    u: np.ndarray
    svm_value = 1.0

    @property
    def value(self):
        return -0.5 * (self.u - TARGET) @ CURVATURE @ (self.u - TARGET)

    @property
    def gradient(self):
        return -CURVATURE @ (self.u - TARGET)

    @property
    def gap(self):
        return Quadratic(OPTIMUM).value - self.value if (self.u != OPTIMUM).any() else 0


class Objective:
    def __call__(self, u, near=None):
        return Quadratic(u)

    def extrapolate(self, new, old, beta):
        return Quadratic(new.u + beta * (new.u - old.u))


def project(u):
    return np.clip(u, -1.0, 5.0)


def test_accelerated_ascent_reaches_the_optimum_in_the_box():
    solution = accelerated(Objective(), np.zeros(2), project, tol=1e-12, max_iter=500)
    assert solution.converged
    np.testing.assert_allclose(solution.point.u, OPTIMUM, atol=1e-5)
    assert solution.history["objective"][-1] == solution.point.value


def test_accelerated_ascent_says_when_it_ran_out_of_steps():
    solution = accelerated(Objective(), np.zeros(2), project, tol=1e-12, max_iter=2)
    assert not solution.converged
    assert len(solution.history["gap"]) == solution.n_iter + 1
