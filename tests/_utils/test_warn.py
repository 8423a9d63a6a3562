"""Convergence warnings state the remaining gap and are attributed to the line of the
caller.
"""

import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from adakern import baselines
from adakern.dank import DANKClassifier, DANKRegressor
from adakern.knpl import KNPLClassifier

SHORT = {"C": 100.0, "gamma": 1.0, "max_iter": 1, "tol": 1e-10}
ASCENT = {"C": 100.0, "eta": 0.01, "method": "accelerated", "max_iter": 2}


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (
            baselines.BayesianMKLClassifier(gammas=[1.0], max_iter=2, tol=1e-12),
            "still changed by",
        ),
        (baselines.DeepMKL(C=5.0, max_iter=1, tol=1e-12), "still fell by"),
        (
            baselines.LogDetKernel(max_iter=1, tol=1e-9, slack=10, random_state=0),
            "multipliers that still changed by",
        ),
        (baselines.SimpleMKLRegressor(C=20.0, tol=1e-6, max_iter=1), "duality gap of"),
        (
            baselines.FalkonRegressor(max_iter=1),
            "residual of .* increase max_iter or tol",
        ),
        (KNPLClassifier(C=10.0, reg=1e-2, max_iter=1), "saddle gap of"),
        (KNPLClassifier(C=10.0, reg=1e-2, solver="admm"), "saddle gap of"),
        (
            DANKClassifier(strategy="decomposed", n_clusters=2, **SHORT),
            "duality gap .* objective",
        ),
        (DANKClassifier(strategy="whole", **SHORT), "duality gap .* objective"),
        (DANKClassifier(**ASCENT), "duality gap .* objective"),
        (DANKRegressor(**ASCENT), "duality gap .* objective"),
    ],
)
@pytest.mark.parametrize("in_pipeline", [False, True])
def test_convergence_warning_is_raised_at_the_line_of_the_caller(
    estimator, message, in_pipeline
):
    X, y = make_moons(60, noise=0.25, random_state=0)
    model = make_pipeline(StandardScaler(), estimator) if in_pipeline else estimator
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        model.fit(X, y)
    assert [w.filename for w in caught if w.category is ConvergenceWarning] == [
        __file__
    ]
    assert not getattr(estimator, "converged_", False)
