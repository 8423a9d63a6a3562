from types import SimpleNamespace

import numpy as np

from adakern.svm.ascent import Ascent, accelerated

CURVATURE = np.diag([1.0, 100.0])
TARGET = np.array([3.0, -2.0])
OPTIMUM = np.array([3.0, -1.0])


class Quadratic:
    """A concave parabola over the box [-1, 5]^2, with its distance to the optimum."""

    dual = SimpleNamespace(project=lambda u: np.clip(u, -1.0, 5.0))

    def __call__(self, u, near=None):
        point = SimpleNamespace(u=u, gradient=-CURVATURE @ (u - TARGET), svm_value=1.0)
        point.value = (u - TARGET) @ point.gradient / 2
        point.gap = -50.0 - point.value
        return point

    def extrapolate(self, new, old, beta):
        return self(new.u + beta * (new.u - old.u))


def test_accelerated_ascent_reaches_the_optimum_in_the_box():
    ascent = Ascent(1e-12, Quadratic()(np.zeros(2)))
    accelerated(Quadratic(), ascent, 2)
    assert not ascent.converged
    assert ascent.n_iter == 2
    accelerated(Quadratic(), ascent, 500)
    assert ascent.converged
    np.testing.assert_allclose(ascent.point.u, OPTIMUM, atol=1e-5)
    assert ascent.history["objective"][-1] == ascent.point.value
    assert len(ascent.history["gap"]) == ascent.n_iter + 1
