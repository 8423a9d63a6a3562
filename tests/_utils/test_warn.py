"""Warnings name the line that called adakern."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from adakern.dank import DANKClassifier, DANKRegressor
from adakern.knpl import KNPLClassifier

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 2)), np.where(RNG.normal(size=30) > 0, 1, -1)


@pytest.mark.parametrize(
    "estimator",
    [
        DANKClassifier(C=100.0, eta=0.01, method="nesterov", max_iter=2),
        DANKRegressor(C=100.0, eta=0.01, method="nesterov", max_iter=2),
        DANKClassifier(C=100.0, gamma=5.0, strategy="whole", max_iter=1, tol=1e-12),
        KNPLClassifier(C=100.0, reg=0.01, max_iter=1, tol=1e-12),
    ],
)
@pytest.mark.parametrize("piped", [False, True])
def test_the_warning_is_at_the_line_of_the_caller(estimator, piped):
    model = make_pipeline(StandardScaler(), estimator) if piped else estimator
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(X, Y)
    assert [w.filename for w in caught if w.category is ConvergenceWarning] == [__file__]
