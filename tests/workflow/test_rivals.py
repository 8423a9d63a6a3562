"""Current baselines, tested where their packages are installed."""

import warnings
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from methods import rivals
from sklearn.base import clone
from sklearn.datasets import make_classification, make_friedman1
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

from adakern_bench.base import elsewhere_worker
from adakern_bench.config.compose import load_config
from adakern_bench.config.estimators import make_estimator
from adakern_bench.config.plan import load_plan

RIVALS = [
    "autogluon",
    "catboost",
    "catboost-td",
    "chimeraboost",
    "ebm",
    "lightgbm-td",
    "perpetual",
    "realmlp-td",
    "tabm-d",
    "xgboost-default",
    "xgboost-td",
    "xrfm-d",
]


@pytest.mark.slow
@pytest.mark.parametrize("task", ["regressor", "classifier"])
@pytest.mark.parametrize("name", RIVALS)
def test_baseline_is_better_than_chance(name, task):
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
    predictions = estimator.predict(X[160:])
    assert predictions.shape == (80,)
    if task == "regressor":
        assert np.mean((predictions - y[160:]) ** 2) < np.var(y)
    else:
        assert np.mean(predictions == y[160:]) > 0.45
        p = estimator.predict_proba(X[160:])
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-4)
        np.testing.assert_array_equal(estimator.classes_[p.argmax(axis=1)], predictions)


def _make_mixed_rows(n):
    """Rows as returned by `prepare`: missing numbers and categories,
    an empty column.
    """
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3))).add_prefix("x")
    X["x3"] = pd.Categorical.from_codes(rng.integers(-1, 3, n), range(3))
    X.loc[::9, "x0"] = np.nan
    X["x4"] = np.nan
    return X


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in RIVALS if name != "autogluon"])
def test_baseline_with_string_labels_and_missing_values(name):
    method = load_config(["dataset=[sk-wine]", f"method=[knn,{name}]"]).method[name]
    if not all(find_spec(package) for package in method.needs):
        pytest.skip(f"{name} needs {', '.join(method.needs)}")
    X = _make_mixed_rows(160)
    y = np.where(X["x1"] + X["x2"] > 0, "yes", "no")
    estimator = make_estimator(method.classifier.estimator, seed=3).fit(
        X[:120], y[:120]
    )
    predictions = estimator.predict(X[120:])
    assert np.mean(predictions == y[120:]) > 0.75
    assert list(estimator.classes_) == ["no", "yes"]
    p = estimator.predict_proba(X[120:])
    np.testing.assert_array_equal(estimator.classes_[p.argmax(axis=1)], predictions)


class _NeedsIntegerClasses(LogisticRegression):
    """Requires classes that are numbered from 0, as XGBoost does."""

    def fit(self, X, y):
        assert np.array_equal(np.unique(y), np.arange(len(np.unique(y))))
        return super().fit(X, y)


class _EncodedClassifier(rivals._Classifies, rivals._Boosting):
    def _model(self):
        return _NeedsIntegerClasses()


@pytest.mark.parametrize("labels", [["a", "b", "c"], [1, 2, 5], [0, 1, 2]])
def test_classes_are_encoded_for_packages_that_need_it(labels):
    X, codes = make_classification(120, n_classes=3, n_informative=5, random_state=0)
    y = np.array(labels)[codes]
    plain = LogisticRegression().fit(X, y)
    model = _EncodedClassifier().fit(X, y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    np.testing.assert_array_equal(model.classes_, plain.classes_)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X))


def test_missing_numbers_are_imputed_for_packages_that_need_it():
    X = _make_mixed_rows(60)
    numbers = X.drop(columns="x3").fillna({"x4": 0.0})
    marks = np.column_stack([X["x0"].isna(), np.ones(60)])
    filled = numbers.fillna(numbers.median()).to_numpy()
    y = X["x1"].to_numpy() + X["x0"].isna()

    class _WithValidation(LinearRegression):
        def fit(self, X, y, X_val=None, y_val=None):
            assert X_val.shape == (20, X.shape[1]) and len(y_val) == 20
            return super().fit(X, y)

    frame = X.drop(columns="x3")
    model = rivals.FilledRegressor(_WithValidation())
    model.fit(frame, y, X_val=frame[:20], y_val=y[:20])
    dense = np.column_stack([filled, marks])
    expected = LinearRegression().fit(dense, y).predict(dense)
    # Least squares with 60 rows and 6 columns of rank 5.
    np.testing.assert_allclose(model.predict(frame), expected, atol=1e-12)


def test_missing_categories_stay_missing():
    class _Recorder(DummyRegressor):
        def fit(self, X, y):
            self.seen = X
            return super().fit(X, y)

    X = _make_mixed_rows(60)
    model = rivals.FilledRegressor(_Recorder()).fit(X, X["x1"])
    pd.testing.assert_series_equal(model.model_.seen["x3"], X["x3"])


def test_random_state_is_set_in_nested_estimators():
    recipe = {
        "_target_": "sklearn.ensemble.BaggingClassifier",
        "estimator": {
            "_target_": "sklearn.tree.DecisionTreeClassifier",
            "max_depth": 2,
        },
        "n_estimators": 3,
    }
    defaults = {"random_state": 7, "n_jobs": 2}
    model = elsewhere_worker.build(recipe, defaults)
    assert (model.random_state, model.n_jobs, model.n_estimators) == (7, 2, 3)
    assert (model.estimator.random_state, model.estimator.max_depth) == (7, 2)
    assert elsewhere_worker.targets({"a": [recipe]}) == [
        "sklearn.ensemble.BaggingClassifier",
        "sklearn.tree.DecisionTreeClassifier",
    ]
