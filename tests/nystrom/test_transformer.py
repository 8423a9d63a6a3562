"""CriterionNystroem against its definition."""

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_matrix
from sklearn.datasets import load_breast_cancer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from adakern.kernels import gram_matrix
from adakern.nystrom import CriterionNystroem
from adakern.nystrom.samplers import SAMPLERS, Sample


@pytest.fixture(scope="module")
def data():
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(0).choice(len(X), 150, replace=False)
    return StandardScaler().fit_transform(X[rows])[:, :10], y[rows]


@pytest.mark.parametrize("selection", SAMPLERS)
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])
def test_features_match_definition(data, selection, kernel):
    X, y = data
    options = {"gamma": 0.1, "n_components": 8, "random_state": 0}
    model = CriterionNystroem(kernel, selection=selection, **options).fit(X, y)
    K = gram_matrix(X, kernel=kernel, gamma=0.1)
    chosen = model.component_indices_
    C, D = K[:, chosen], K[np.ix_(chosen, chosen)]
    Z = model.transform(X)
    expected = C @ np.linalg.pinv(D, rcond=1e-14, hermitian=True) @ C.T
    np.testing.assert_allclose(Z @ Z.T, expected, rtol=1e-6, atol=1e-8)


def test_features_match_sklearn_nystroem(data):
    X, _ = data
    theirs = Nystroem(gamma=0.1, n_components=12, random_state=0).fit(X)
    ours = CriterionNystroem(gamma=0.1, n_components=12).fit(X)
    ours._set_features(
        X, ours._kernel_params, Sample(theirs.component_indices_, np.ones(12))
    )
    ours_Z, theirs_Z = ours.transform(X[:20]), theirs.transform(X[:20])
    np.testing.assert_allclose(ours_Z @ ours_Z.T, theirs_Z @ theirs_Z.T, rtol=1e-7)
    assert ours_Z.shape == theirs_Z.shape


def test_all_landmarks_reproduce_kernel(data):
    X, y = data
    with pytest.warns(UserWarning, match="n_components=1000 is more than the 150"):
        model = CriterionNystroem(gamma=0.1, n_components=1000).fit(X, y)
    Z = model.transform(X)
    np.testing.assert_allclose(Z @ Z.T, gram_matrix(X, gamma=0.1), atol=1e-8)


def test_precomputed_kernel(data):
    with pytest.raises(ValueError, match="square matrix"):
        CriterionNystroem("precomputed").fit(np.ones((4, 3)), [0, 1, 0, 1])
    X, y = data
    options = {"n_components": 15, "random_state": 1}
    precomputed = make_pipeline(
        CriterionNystroem("precomputed", **options), RidgeClassifier()
    )
    plain = make_pipeline(CriterionNystroem(gamma=0.1, **options), RidgeClassifier())
    np.testing.assert_allclose(
        cross_val_score(precomputed, gram_matrix(X, gamma=0.1), y, cv=3),
        cross_val_score(plain, X, y, cv=3),
    )


@pytest.mark.parametrize("selection", ["adaptive-criterion", "greedy-criterion"])
def test_y_is_optional_and_changes_selection(data, selection):
    X, y = data
    options = {"selection": selection, "n_components": 20, "random_state": 0}
    with_y = CriterionNystroem(**options).fit(X, y)
    without = CriterionNystroem(**options).fit(X)
    assert set(with_y.component_indices_) != set(without.component_indices_)


def test_multioutput(data):
    X, _ = data
    Y = np.column_stack([X[:, 0] ** 2, X[:, 1] * X[:, 2]])
    model = make_pipeline(CriterionNystroem(n_components=40), Ridge(0.1))
    assert model.fit(X, Y).score(X, Y) > 0.5


KERNELS = ("rbf", "laplacian", "poly", "linear", "sigmoid")


@pytest.mark.parametrize("container", [csr_matrix, csc_array, np.asarray])
@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_and_sparse_input_match_nystroem(data, kernel, container):
    """With the same columns, which both draw uniformly or take all of."""
    X = np.where(np.abs(data[0]) > 1, data[0], 0)
    options = {"gamma": 0.05, "coef0": 0.5, "degree": 2}
    if kernel == "laplacian":
        options = {"gamma": 0.05}
    theirs = Nystroem(kernel, n_components=12, random_state=0, **options)
    theirs = theirs.fit(X)
    ours = CriterionNystroem(
        kernel, n_components=12, selection="uniform", **options
    ).fit(container(X))
    chosen = Sample(theirs.component_indices_, np.ones(12))
    ours._set_features(container(X), ours._kernel_params, chosen)
    Z, expected = ours.transform(container(X)), theirs.transform(X)
    np.testing.assert_allclose(Z, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kernel", [*KERNELS, "l2-laplacian"])
@pytest.mark.parametrize("selection", SAMPLERS)
def test_sparse_input_selects_same_landmarks(data, kernel, selection):
    X, y = data
    X = np.where(np.abs(X) > 1, X, 0)[:60]
    model = CriterionNystroem(
        kernel, n_components=6, selection=selection, random_state=0
    )
    dense = model.fit(X, y[:60])
    features, landmarks = dense.transform(X), dense.component_indices_
    sparse = model.fit(csr_matrix(X), y[:60])
    assert sparse.gamma_ == pytest.approx(1 / (10 * X.var()))
    np.testing.assert_array_equal(sparse.component_indices_, landmarks)
    sparse_features = sparse.transform(csr_matrix(X))
    np.testing.assert_allclose(
        sparse_features @ sparse_features.T, features @ features.T, atol=1e-6
    )
