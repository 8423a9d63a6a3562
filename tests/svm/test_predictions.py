"""Predictions by products of matrices are LIBSVM's own."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, make_classification
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
    model = SVC(kernel="precomputed", C=C)
    names = np.array([f"class {number}" for number in range(n_classes)])[y[::2]]
    for labels in (y[::2] * 3 - 5, names):
        expected = model.fit(K, labels).predict(K_new)
        answer = predict_from_gram(model, K_new)
        np.testing.assert_array_equal(answer, expected)
        assert answer.dtype == expected.dtype


def test_values_are_those_of_libsvm():
    X, y = load_diabetes(return_X_y=True)
    K, K_new = halves(X)
    model = SVR(kernel="precomputed", C=100).fit(K, y[::2])
    np.testing.assert_allclose(predict_from_gram(model, K_new), model.predict(K_new), rtol=1e-10)
