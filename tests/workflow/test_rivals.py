"""The rivals of today, each for real where its package is installed."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.model_selection import train_test_split

from adakern_bench.config.compose import load_config
from adakern_bench.config.plan import load_plan
from adakern_bench.records.estimators import make_estimator

RIVALS = [
    *("autogluon", "catboost", "catboost-td", "ebm", "lightgbm-td", "realmlp-td", "tabm-d"),
    *("xgboost-td", "xrfm-d"),
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
        pytest.skip(f"{name} needs {', '.join(load_config(selected)[0].method[name].needs)}")
    recipe = plan.recipe("step-1d" if task == "regressor" else "sk-wine", name)["estimator"]
    if name == "autogluon":
        recipe |= {"time_limit": 60}
    load = load_diabetes if task == "regressor" else load_wine
    X, X_test, y, y_test = train_test_split(*load(return_X_y=True), random_state=0)
    estimator = clone(make_estimator(recipe, seed=3)).fit(X, y)
    found = estimator.predict(X_test)
    assert found.shape == y_test.shape
    if task == "regressor":
        assert np.mean((found - y_test) ** 2) < np.var(y)
    else:
        assert np.mean(found == y_test) > 0.45
        p = estimator.predict_proba(X_test)
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-4)
        np.testing.assert_array_equal(estimator.classes_[p.argmax(axis=1)], found)
