"""Predictions for a row do not depend on the other rows of the batch."""

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
def test_single_rows_are_predicted_as_in_a_batch(model, dtype):
    X, y = make_friedman1(120, noise=1.0, random_state=0)
    y = (y - y.mean()) / y.std()
    T, _ = make_friedman1(40, random_state=1)
    T = T.astype(dtype)
    predict = "predict"
    if hasattr(model, "decision_function") or hasattr(model, "predict_proba"):
        y = (y > 0).astype(int)
        probable = isinstance(model, AdaptiveKernelClassifier)
        predict = "predict_proba" if probable else "decision_function"
    predict = getattr(model.fit(X, y), predict)
    alone = np.concatenate([predict(row[None, :]) for row in T])
    # Products of one row and of many are summed in another order: the error is a few
    # eps times the sum of coefficients, at most 1e4 times the targets here.
    precise = np.finfo(np.float64).eps
    if isinstance(model, LABRBFRegressor) or getattr(model, "n_clusters", None):
        precise = np.finfo(dtype).eps  # computed in the precision of the rows
    np.testing.assert_allclose(alone, predict(T), atol=1e4 * precise, rtol=0)
