import numpy as np
import pytest
from sklearn.datasets import load_wine, make_moons
from sklearn.preprocessing import minmax_scale
from sklearn.svm import SVC

from adakern.knpl import KNPLClassifier


def test_decision_uses_column_of_nearest_training_row():
    X_new, y = make_moons(80, noise=0.3, random_state=0)
    X, y = X_new[:50], y[:50]
    model = KNPLClassifier(C=2.0, gamma=1.0, reg=10.0).fit(X, y)
    saddle = model.models_[0].saddle
    for x, decision in zip(X_new, model.decision_function(X_new), strict=True):
        nearest = np.argmin(np.linalg.norm(X - x, axis=1))
        kernel = np.exp(-np.sum((X - x) ** 2, axis=1))
        by_hand = saddle.d @ (saddle.G[:, nearest] * kernel) + saddle.intercept
        assert decision == pytest.approx(by_hand, abs=1e-9)


def test_large_reg_matches_svc_multiclass():
    X, y = load_wine(return_X_y=True)
    X = minmax_scale(X)
    model = KNPLClassifier(C=1.0, gamma=0.5, reg=1e8, tol=1e-7).fit(X[::2], y[::2])
    svc = SVC(C=1.0, gamma=0.5, decision_function_shape="ovo", tol=1e-6)
    svc.fit(X[::2], y[::2])
    decisions = -model._pair_decisions(X[1::2])
    np.testing.assert_allclose(decisions, svc.decision_function(X[1::2]), atol=2e-3)
    assert len(model.pairwise_layer_) == 3
