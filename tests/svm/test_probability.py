"""Probabilities of DANK and KNPL match scikit-learn's sigmoid calibration."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import scale

from adakern.dank import DANKClassifier
from adakern.kernels import gram_matrix
from adakern.knpl import KNPLClassifier

MODELS = [
    DANKClassifier(),
    DANKClassifier(strategy="decomposed", n_clusters=2, random_state=0),
    KNPLClassifier(reg=20.0),
]


def wine(n_classes):
    X, y = load_wine(return_X_y=True)
    kept = y < n_classes
    return scale(X)[kept], np.array(["ash", "oak", "yew"])[y[kept]]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{m}"[:20])
def test_predict_proba_matches_sklearn(model, n_classes):
    X, y = wine(n_classes)
    fold = StratifiedKFold(5)
    calibrated = CalibratedClassifierCV(model, cv=fold, ensemble=False).fit(X, y)
    model = type(model)(**model.get_params() | {"probability": True}).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities, calibrated.predict_proba(X), rtol=1e-10)
    np.testing.assert_array_equal(probabilities, model.fit(X, y).predict_proba(X))
    even = -np.log(1 / n_classes)
    assert log_loss(y, probabilities) < 0.5 * even


def test_predict_proba_precomputed_kernel():
    X, y = wine(3)
    options = {"probability": True, "gamma": 0.1}
    precomputed = DANKClassifier(kernel="precomputed", probability=True)
    K = gram_matrix(X, gamma=0.1)
    probabilities = precomputed.fit(K, y).predict_proba(K)
    expected = DANKClassifier(**options).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(probabilities, expected, rtol=1e-6)


def test_predict_proba_availability_and_single_row_class():
    X, y = wine(2)
    assert not hasattr(DANKClassifier().fit(X, y), "predict_proba")
    y = np.where(np.arange(len(y)) == 3, "ash", "oak")
    with pytest.raises(ValueError, match="at least 2 rows per class"):
        DANKClassifier(probability=True).fit(X, y)
