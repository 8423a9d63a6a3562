"""Probabilities of DANK and KNPL are those of scikit-learn's sigmoid calibration."""

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
def test_probabilities_are_those_of_scikit_learn(model, n_classes):
    X, y = wine(n_classes)
    fold = StratifiedKFold(5)
    calibrated = CalibratedClassifierCV(model, cv=fold, ensemble=False).fit(X, y)
    model = type(model)(**model.get_params() | {"probability": True}).fit(X, y)
    found = model.predict_proba(X)
    np.testing.assert_allclose(found, calibrated.predict_proba(X), rtol=1e-10)
    np.testing.assert_array_equal(found, model.fit(X, y).predict_proba(X))
    even = -np.log(1 / n_classes)
    assert log_loss(y, found) < 0.5 * even


def test_a_precomputed_kernel_is_cut_by_the_folds():
    X, y = wine(3)
    options = {"probability": True, "gamma": 0.1}
    given = DANKClassifier(kernel="precomputed", probability=True)
    K = gram_matrix(X, gamma=0.1)
    found = given.fit(K, y).predict_proba(K)
    expected = DANKClassifier(**options).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_there_are_none_unasked_and_a_lone_row_is_named():
    X, y = wine(2)
    assert not hasattr(DANKClassifier().fit(X, y), "predict_proba")
    y = np.where(np.arange(len(y)) == 3, "ash", "oak")
    with pytest.raises(ValueError, match="at least 2 rows per class"):
        DANKClassifier(probability=True).fit(X, y)
