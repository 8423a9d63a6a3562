"""The rivals of today, each for real where its package is installed."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_friedman1

from adakern_bench.config.compose import load_config
from adakern_bench.config.estimators import make_estimator
from adakern_bench.config.plan import load_plan

RIVALS = [
    *(
        "autogluon",
        "catboost",
        "catboost-td",
        "chimeraboost",
        "ebm",
        "lightgbm-td",
        "perpetual",
        "realmlp-td",
        "tabm-d",
    ),
    *("xgboost-default", "xgboost-td", "xrfm-d"),
]


@pytest.mark.slow
@pytest.mark.parametrize("task", ["regressor", "classifier"])
@pytest.mark.parametrize("name", RIVALS)
def test_a_rival_is_better_than_a_guess(name, task):
    selected = ["dataset=[sk-wine,step-1d]", f"method=[knn,{name}]"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = load_plan(selected)
    if name not in plan.methods:
        pytest.skip(
            f"{name} needs {', '.join(load_config(selected).method[name].needs)}"
        )
    recipe = plan.recipe("step-1d" if task == "regressor" else "sk-wine", name)[
        "estimator"
    ]
    if name == "autogluon":
        recipe |= {"time_limit": 60}
    if task == "regressor":
        X, y = make_friedman1(240, n_features=5, random_state=0)
    else:
        X, y = make_classification(240, n_classes=3, n_informative=5, random_state=0)
    estimator = clone(make_estimator(recipe, seed=3)).fit(X[:160], y[:160])
    found = estimator.predict(X[160:])
    assert found.shape == (80,)
    if task == "regressor":
        assert np.mean((found - y[160:]) ** 2) < np.var(y)
    else:
        assert np.mean(found == y[160:]) > 0.45
        p = estimator.predict_proba(X[160:])
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-4)
        np.testing.assert_array_equal(estimator.classes_[p.argmax(axis=1)], found)
