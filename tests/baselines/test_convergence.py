"""A method that is cut off says how far it came."""

import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from adakern.baselines import (
    BayesianMKLClassifier,
    DeepMKL,
    FalkonRegressor,
    LogDetKernel,
    SimpleMKLRegressor,
)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (BayesianMKLClassifier(gammas=[1.0], max_iter=2, tol=1e-12), "still changed by"),
        (DeepMKL(C=5.0, max_iter=1, tol=1e-12), "still fell by"),
        (LogDetKernel(max_iter=1, tol=1e-9, slack=10, random_state=0), "multipliers changed by"),
        (SimpleMKLRegressor(C=20.0, tol=1e-6, max_iter=1), "duality gap of"),
        (FalkonRegressor(max_iter=1), "raise alpha or max_iter"),
    ],
)
def test_non_convergence_warns_with_what_is_left(model, message):
    X, y = make_moons(60, noise=0.25, random_state=0)
    with pytest.warns(ConvergenceWarning, match=message):
        model.fit(X, y)
