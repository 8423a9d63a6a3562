import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise

from adakern import kernels
from adakern._utils.arrays import as_numpy
from adakern.adaptive.views import INDICATOR_SCALE, KernelView
from adakern.kernels import (
    KERNELS,
    gram_matrix,
    kernel_product,
    kernel_products,
    manhattan_distances,
    prepare_centres,
    resolve_gamma,
)
from devices import put


@pytest.fixture
def points(rng):
    return rng.normal(size=(20, 3)), rng.normal(size=(11, 3))


@pytest.mark.parametrize(
    ("kernel", "reference"),
    [
        ("rbf", lambda X, Y: pairwise.rbf_kernel(X, Y, gamma=0.7)),
        ("laplacian", lambda X, Y: pairwise.laplacian_kernel(X, Y, gamma=0.7)),
        ("l2-laplacian", lambda X, Y: np.exp(-0.7 * pairwise.pairwise_distances(X, Y))),
        ("poly", lambda X, Y: pairwise.polynomial_kernel(X, Y, gamma=0.7)),
        ("linear", lambda X, Y: pairwise.linear_kernel(X, Y)),
        (
            "tl1",
            lambda X, Y: (
                0.7 * np.maximum(1 / 0.7 - pairwise.manhattan_distances(X, Y), 0)
            ),
        ),
    ],
)
def test_gram_matrix_equals_scikit_learn(points, kernel, reference):
    X, Y = points
    K = gram_matrix(X, Y, kernel=kernel, gamma=0.7)
    np.testing.assert_allclose(K, reference(X, Y), rtol=1e-10, atol=1e-12)
    K = gram_matrix(X, kernel=kernel, gamma=0.7)
    np.testing.assert_allclose(K, reference(X, X), atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_distance_of_equal_rows_is_zero_in_any_batch(rng, xp, dtype):
    """The root of a rounded zero would depend on the other rows of the batch."""
    Y = put(xp, (100 * rng.normal(size=(60, 7)) + 30).astype(dtype))
    params = {"kernel": "l2-laplacian", "gamma": 0.01}
    together = as_numpy(gram_matrix(Y[:40, :], Y, **params))
    np.testing.assert_array_equal(np.diag(together), 1)
    for i in range(40):
        alone = as_numpy(gram_matrix(Y[i : i + 1, :], Y, **params))
        assert alone[0, i] == 1


@pytest.mark.parametrize("kernel", KERNELS)
def test_array_libraries_give_equal_kernels(points, xp, kernel):
    X, Y = points
    before = X.copy(), Y.copy()
    A, B, params = put(xp, X), put(xp, Y), {"kernel": kernel, "gamma": 0.7}
    K, diagonal = gram_matrix(A, B, **params), kernels.kernel_diagonal(A, **params)
    np.testing.assert_allclose(as_numpy(K), gram_matrix(X, Y, **params), rtol=1e-12)
    alone = as_numpy(gram_matrix(A, **params))
    np.testing.assert_allclose(as_numpy(diagonal), np.diag(alone), rtol=1e-12)
    np.testing.assert_array_equal(X, before[0])  # inputs are unchanged
    np.testing.assert_array_equal(Y, before[1])


def test_float32_precision_far_from_the_origin(points):
    X, Y = points
    near = gram_matrix(X, Y, gamma=0.7)
    offset = np.float32(1e3)
    far = gram_matrix(
        X.astype(np.float32) + offset, Y.astype(np.float32) + offset, gamma=0.7
    )
    assert far.dtype == np.float32
    # Adding 1e3 rounds the data to steps of 6e-5.
    np.testing.assert_allclose(far, near, atol=1e-3)


@pytest.mark.parametrize("dtype, far", [("float32", 1e6), ("float64", 1e9)])
def test_distant_row_does_not_reduce_precision_of_others(xp, dtype, far):
    X = np.vstack(
        [np.random.default_rng(0).normal(size=(200, 3)), np.full(3, far)]
    ).astype(dtype)
    expected = pairwise.rbf_kernel(X.astype(np.float64), gamma=0.7)
    atol = 50 * np.finfo(dtype).eps
    np.testing.assert_allclose(
        gram_matrix(xp.asarray(X), gamma=0.7), expected, atol=atol
    )
    np.testing.assert_array_equal(kernels.nearest_rows(X, X), np.arange(201))
    assert kernels.squared_distances(X, X[:0]).shape == (201, 0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_float32_is_preserved(points, kernel):
    X, Y = (rows.astype(np.float32) for rows in points)
    K = gram_matrix(X, Y, kernel=kernel, gamma=0.7)
    assert K.dtype == np.float32
    expected = gram_matrix(*points, kernel=kernel, gamma=0.7)
    np.testing.assert_allclose(K, expected, rtol=1e-4, atol=1e-5)


def test_resolve_gamma(points):
    X, _ = points
    assert resolve_gamma("scale", X) == pytest.approx(1 / (3 * X.var()))
    assert resolve_gamma("auto", X) == pytest.approx(1 / 3)
    assert resolve_gamma(0.25, X) == 0.25
    assert resolve_gamma("scale", np.ones((4, 2))) == 1.0


def test_unknown_kernel_raises(points):
    with pytest.raises(ValueError, match=r"kernel='gauss' is unknown; use one of rbf"):
        gram_matrix(points[0], kernel="gauss")


@pytest.mark.parametrize("kernel", ["rbf", "l2-laplacian"])
def test_prepared_centres_give_identical_kernel(points, kernel):
    X, Y = points
    prepared = prepare_centres(Y, kernel, 1.0)
    actual = gram_matrix(X, Y, kernel=kernel, prepared=prepared)
    np.testing.assert_array_equal(actual, gram_matrix(X, Y, kernel=kernel))


@pytest.mark.parametrize(("kernel", "power"), [("rbf", 2), ("laplacian", 1)])
def test_kernel_with_categories_is_a_product(rng, kernel, power):
    """The product of a kernel of the number and one of the equality of categories."""
    code = np.append(np.arange(4), rng.integers(0, 4, 26))
    X = np.column_stack([rng.normal(size=30), code])
    view = KernelView(np.array([False, True])).fit(X)
    Z = view.transform(X)
    scales = rng.uniform(0.2, 2.0, Z.shape[1])  # one for the number and one per level
    number = Z[:, 0] * scales[0]
    by_number = np.exp(-(np.abs(number[:, None] - number) ** power))
    # Each level has an indicator, in the order of the view.
    of_level = (INDICATOR_SCALE * scales[1:]) ** power
    own = of_level[np.argmax(Z[:, 1:], axis=1)]
    by_code = np.exp(-(own[:, None] + own) * (code[:, None] != code))
    actual = gram_matrix(Z * scales, kernel=kernel)
    np.testing.assert_allclose(actual, by_number * by_code, rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_products_equal_those_of_the_stored_matrix(points, xp, kernel, monkeypatch):
    monkeypatch.setattr("adakern.kernels.TILE_BYTES", 3 * 8 * 11)  # Three rows.
    X, Y = points
    V, U = np.random.default_rng(1).normal(size=(2, 11, 4))
    K = gram_matrix(X, Y, kernel=kernel, gamma=0.7)
    A, B = put(xp, X), put(xp, Y)
    for columns in (slice(None), 0):
        v, u = put(xp, V[:, columns]), put(xp, U[:, columns])
        KV, QU = kernel_products(A, B, v, u, kernel=kernel, gamma=0.7)
        np.testing.assert_allclose(as_numpy(KV), K @ V[:, columns], atol=1e-10)
        np.testing.assert_allclose(as_numpy(QU), K**2 @ U[:, columns], atol=1e-10)
        alone = kernel_product(A, B, v, kernel=kernel, gamma=0.7)
        np.testing.assert_array_equal(as_numpy(alone), as_numpy(KV))
    none = kernel_products(A, B[:0, :], v[:0], u[:0], kernel=kernel)
    np.testing.assert_array_equal([as_numpy(part) for part in none], np.zeros((2, 20)))
    assert kernel_product(A[:0, :], B, put(xp, V), kernel=kernel).shape == (0, 4)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_nearest_rows(points, offset):
    X, Y = (part + offset for part in points)
    expected = pairwise.pairwise_distances_argmin(X, Y)
    np.testing.assert_array_equal(kernels.nearest_rows(X, Y), expected)
    many = np.tile(X, (40_000, 1))  # several blocks
    np.testing.assert_array_equal(
        kernels.nearest_rows(many, Y), np.tile(expected, 40_000)
    )
    np.testing.assert_array_equal(
        kernels.nearest_rows(X, np.vstack([Y, Y])), expected
    )  # the first


@pytest.mark.parametrize("n", [40, 400])
@pytest.mark.parametrize("last", [True, False])
def test_manhattan_distances_of_many_indicators(n, last):
    rng = np.random.default_rng(0)
    rows = np.hstack(
        [
            rng.normal(size=(n, 3)),
            0.3 * np.eye(120)[rng.integers(120, size=n)],
            0.7 * np.eye(150)[rng.integers(150, size=n)],
        ]
    )
    rows[:, 3] = rng.uniform(0, 0.3, size=n)  # as large, but no indicator
    rows[0, 3] = 0.3
    rows = rows if last else rows[:, ::-1]
    X, Y = rows[: n // 2], rows[n // 2 :]
    expected = cdist(X, Y, "cityblock")
    np.testing.assert_allclose(manhattan_distances(X, Y), expected, rtol=1e-14)
    if last:
        np.testing.assert_array_equal(manhattan_distances(X, Y), expected)
