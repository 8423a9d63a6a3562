"""Predictions by products of matrices are LIBSVM's own."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_iris, make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from adakern.svm import predictions
from adakern.svm.predictions import predict_from_gram


def halves(X):
    X = StandardScaler().fit_transform(X)
    gamma = 1 / X.shape[1]
    return rbf_kernel(X[::2], gamma=gamma), rbf_kernel(X[1::2], X[::2], gamma=gamma)


@pytest.mark.parametrize("n_classes", [2, 3, 10, 40])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_classes_are_those_of_libsvm(n_classes, C, monkeypatch):
    monkeypatch.setattr(predictions, "VALUES_AT_ONCE", 50_000)  # several batches
    X, y = make_classification(
        800,
        10,
        n_informative=8,
        n_classes=n_classes,
        n_clusters_per_class=1,
        flip_y=0.2,
        random_state=0,
    )
    K, K_new = halves(X)
    model = SVC(kernel="precomputed", C=C).fit(K, y[::2] * 3 - 5)
    answer = predict_from_gram(model, K_new)
    np.testing.assert_array_equal(answer, model.predict(K_new))
    assert answer.dtype == model.predict(K_new).dtype


@pytest.mark.parametrize("load", [load_iris, load_digits])
def test_classes_with_names(load):
    X, y = load(return_X_y=True)
    names = np.array([f"class {number}" for number in range(10)])[y]
    K, K_new = halves(X)
    model = SVC(kernel="precomputed").fit(K, names[::2])
    np.testing.assert_array_equal(predict_from_gram(model, K_new), model.predict(K_new))


def test_values_are_those_of_libsvm():
    X, y = load_diabetes(return_X_y=True)
    K, K_new = halves(X)
    model = SVR(kernel="precomputed", C=100).fit(K, y[::2])
    np.testing.assert_allclose(predict_from_gram(model, K_new), model.predict(K_new), rtol=1e-10)
