"""Predictions from a Gram matrix match LIBSVM's."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR

from adakern.svm.libsvm import predict_from_gram


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_predict_from_gram_matches_libsvm(n_classes, C):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    K, K_new = rbf_kernel(X[::2]), rbf_kernel(X[1::2], X[::2])
    for labels in (y[::2] * 3 - 5, np.array(["ash", "oak", "yew"])[y[::2]]):
        model = SVC(kernel="precomputed", C=C).fit(K, labels)
        predicted, expected = predict_from_gram(model, K_new), model.predict(K_new)
        np.testing.assert_array_equal(predicted, expected)
        assert predicted.dtype == expected.dtype
    model = SVR(kernel="precomputed", C=C).fit(K, X[::2, 0])
    np.testing.assert_allclose(
        predict_from_gram(model, K_new), model.predict(K_new), rtol=1e-10
    )
