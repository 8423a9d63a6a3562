"""The answer for a row does not depend on the rows that are predicted with it."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern.dank import DANKClassifier, DANKRegressor
from adakern.knpl import KNPLClassifier
from adakern.lab import LABRBFRegressor

MODELS = [
    AdaptiveKernelRegressor(preset="fast", random_state=0),
    AdaptiveKernelClassifier(preset="fast", random_state=0),
    DANKRegressor(),
    DANKClassifier(strategy="decomposed", n_clusters=3, random_state=0),
    KNPLClassifier(reg=20.0),
    LABRBFRegressor(max_support=20, max_iter=20, random_state=0),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model}"[:24])
def test_a_row_alone_is_answered_as_among_others(model, dtype):
    X, y = make_friedman1(120, noise=1.0, random_state=0)
    y = (y - y.mean()) / y.std()
    T, _ = make_friedman1(40, random_state=1)
    T = T.astype(dtype)
    decide = "predict"
    if hasattr(model, "decision_function") or hasattr(model, "predict_proba"):
        y = (y > 0).astype(int)
        probable = isinstance(model, AdaptiveKernelClassifier)
        decide = "predict_proba" if probable else "decision_function"
    decide = getattr(model.fit(X, y), decide)
    alone = np.concatenate([decide(row[None, :]) for row in T])
    # Products of one row and of many add up in another order: the error is a few eps
    # times the sum of coefficients, which are at most 1e4 targets here.
    precise = np.finfo(np.float64).eps
    if isinstance(model, LABRBFRegressor) or getattr(model, "n_clusters", None):
        precise = np.finfo(dtype).eps  # these compute in the precision of the rows
    np.testing.assert_allclose(alone, decide(T), atol=1e4 * precise, rtol=0)
