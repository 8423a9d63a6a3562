"""Tensors with scikit-learn's ``array_api_dispatch``."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import numpy as np, sklearn, torch
from sklearn.datasets import load_iris
from sklearn.preprocessing import minmax_scale
from adakern.dank import DANKClassifier, DANKRegressor
X, y = load_iris(return_X_y=True)
X = minmax_scale(X)
A, b = torch.tensor(X), torch.tensor(y)
for strategy in ("exact", "decomposed", "whole"):
    options = dict(strategy=strategy, n_clusters=3, random_state=0)
    for Estimator, target in ((DANKClassifier, b), (DANKRegressor, b.double())):
        model = Estimator(**options).fit(X, np.asarray(target))
        expected = model.predict(X)
        with sklearn.config_context(array_api_dispatch=True):
            model = Estimator(**options).fit(A, target)
            predicted = model.predict(A)
            assert isinstance(predicted, torch.Tensor), type(predicted)
            np.testing.assert_allclose(predicted.numpy(), expected, atol=1e-3)
            if Estimator is DANKClassifier:
                values = model.decision_function(A.float())
                assert isinstance(values, torch.Tensor)
"""


@pytest.mark.slow
def test_predictions_for_tensors_are_tensors():
    pytest.importorskip("torch")
    # SciPy reads this variable on import, hence a separate process.
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, env=environment)
