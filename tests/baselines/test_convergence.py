"""A method that is cut off says how far it came."""

import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from adakern import baselines
from adakern.dank import DANKClassifier
from adakern.knpl import KNPLClassifier

SHORT = {"C": 100.0, "gamma": 5.0, "max_iter": 1, "tol": 1e-10}


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (baselines.BayesianMKLClassifier(gammas=[1.0], max_iter=2, tol=1e-12), "still changed by"),
        (baselines.DeepMKL(C=5.0, max_iter=1, tol=1e-12), "still fell by"),
        (
            baselines.LogDetKernel(max_iter=1, tol=1e-9, slack=10, random_state=0),
            "multipliers that still changed by",
        ),
        (baselines.SimpleMKLRegressor(C=20.0, tol=1e-6, max_iter=1), "duality gap of"),
        (baselines.FalkonRegressor(max_iter=1), "residual of .* raise max_iter or tol"),
        (KNPLClassifier(C=10.0, reg=1e-2, max_iter=1), "saddle gap of"),
        (KNPLClassifier(C=10.0, reg=1e-2, solver="admm"), "saddle gap of"),
        (DANKClassifier(strategy="decomposed", n_clusters=2, **SHORT), "duality gap .* objective"),
        (DANKClassifier(strategy="whole", **SHORT), "duality gap .* objective"),
    ],
)
def test_non_convergence_warns_with_what_is_left(model, message):
    X, y = make_moons(60, noise=0.25, random_state=0)
    with pytest.warns(ConvergenceWarning, match=message):
        model.fit(X, y)
    assert not getattr(model, "converged_", False)
