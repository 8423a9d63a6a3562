"""Generators follow their definitions and their seeds."""

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

from adakern import datasets


def panel(**seed):
    made = datasets.make_panel(**seed)
    return made.data, made.target


@pytest.mark.parametrize(
    "make",
    [
        panel,
        datasets.make_clowns,
        datasets.make_sandwich,
        datasets.make_cherkassky_2d,
        lambda **seed: datasets.make_step_1d(noise=0.1, **seed),
        lambda **seed: datasets.make_sin_2x3(noise=0.1, **seed),
    ],
)
def test_seed_is_reproducible(make):
    (X, y), (X_again, y_again) = (make(random_state=3) for _ in range(2))
    np.testing.assert_array_equal(X, X_again)
    np.testing.assert_array_equal(y, y_again)
    X_other, y_other = make(random_state=4)
    assert not (np.array_equal(X, X_other) and np.array_equal(y, y_other))


def test_clowns_parabola_and_blob():
    X, y = datasets.make_clowns(n=20_000)
    residual = X[y == 1, 1] - X[y == 1, 0] ** 2
    assert abs(residual.mean()) < 0.05
    assert residual.std() == pytest.approx(1, abs=0.03)
    assert np.abs(X[y == 1, 0]).max() <= 3
    np.testing.assert_allclose(X[y == -1].mean(axis=0), [0, 6], atol=0.05)
    np.testing.assert_allclose(np.cov(X[y == -1].T), np.eye(2), atol=0.05)


def test_sandwich_middle_layer_is_other_class():
    X, y = datasets.make_sandwich(n=40_000, gap=2.0)
    outer, inner = X[y == 1, 1], X[y == -1, 1]
    assert abs(inner.mean()) < 0.03
    assert outer[outer > 0].mean() > 1.5
    assert np.var(outer) == pytest.approx(1 + 2.0**2, rel=0.03)
    # No line separates the classes, a distance from the middle does better.
    assert np.mean((np.abs(X[:, 1]) > 1) == (y == 1)) > 0.7


def test_step_function_formula():
    X, y = datasets.make_step_1d(n=101)
    for x, value in zip(X[:, 0], y, strict=True):
        k = np.floor(x / 2)
        top = np.tanh(20 * x / 2 - 20 * k - 20 / 2)
        assert value == pytest.approx((top / (2 * np.tanh(20 / 2)) + 0.5 + k) * 3)


def test_step_function_smoothness():
    X, line = datasets.make_step_1d(smoothness=0.05)
    np.testing.assert_allclose(line, 1.5 * X[:, 0], atol=1e-3)
    X, steps = datasets.make_step_1d(n=2001)
    flat = np.abs(steps / 3 - np.rint(steps / 3)) < 0.01
    assert flat.mean() > 0.7  # a line would have 0.02


def test_cherkassky_formula():
    X, y = datasets.make_cherkassky_2d()
    assert X.shape == (400, 2)
    z = (X[:, 0] - 0.5) + 1j * (X[:, 1] - 0.5)
    np.testing.assert_allclose(y, 42.659 * (0.1 + (z**5).real + 0.05 * z.real))
    assert X.min() >= -0.5 and X.max() <= 0.5


def test_covtype_like_shape_and_score():
    X, y = datasets.make_covtype_like(n=3000)
    assert X.shape == (3000, 54)
    np.testing.assert_array_equal(X[:, 10:14].sum(axis=1), 1)
    np.testing.assert_array_equal(X[:, 14:].sum(axis=1), 1)
    assert 0.4 < np.mean(y == 1) < 0.6
    svm, line = SVC(C=10, gamma=0.25), LinearSVC()
    few, many, linear = (
        model.fit(X[:n], y[:n]).score(X[2000:], y[2000:])
        for model, n in ((svm, 100), (svm, 2000), (line, 2000))
    )
    assert many > max(few, linear) + 0.03
    # The rule does not depend on n.
    assert svm.fit(X[:2000], y[:2000]).score(*datasets.make_covtype_like(n=1500)) > 0.75


def test_panel_deviation_from_mean():
    panel = datasets.make_panel(2000, 10, effect=0.8, apart=2.0, noise=0.6)
    left = panel.target - panel.expected
    # 2,000 groups: the standard error of their variance is 0.64 sqrt(2 / 2000) = 0.02.
    assert left.var() == pytest.approx(0.8**2 + 0.6**2, abs=0.08)
    means = np.bincount(panel.groups, left) / 10
    assert means.var() == pytest.approx(0.8**2 + 0.6**2 / 10, abs=0.08)
    assert (np.bincount(panel.groups) == 10).all()
    np.testing.assert_allclose(panel.data[:, :4].var(axis=0), 1, atol=0.1)
    # The share of a feature's variance that tells the group: 4 of 5.
    of_groups = np.bincount(panel.groups, panel.data[:, 0]) / 10
    assert of_groups.var() == pytest.approx(0.8 + 0.2 / 10, abs=0.08)


def test_panel_slopes_change_with_time():
    panel = datasets.make_panel(1000, 10, effect=0.0, drift=np.pi / 2, noise=0.1)
    late = panel.time > 0.95
    a, b = (np.cov(panel.data[late, k], panel.target[late])[0, 1] for k in (0, 1))
    assert abs(a) < 0.35 and b == pytest.approx(1, abs=0.35)
    labels = datasets.make_panel(5, 4, classes=True).target
    assert {*labels.tolist()} == {-1, 1}
