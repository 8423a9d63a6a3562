"""Methods that run in another Python, whose packages conflict with the workflow's."""

import subprocess
import sys
from importlib.metadata import version

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV

from adakern.tables.encoding import CategoryColumns
from adakern_bench.base.environments import PYTHON
from adakern_bench.config.compose import ConfigError
from adakern_bench.config.estimators import make_estimator
from adakern_bench.config.plan import load_plan
from adakern_bench.config.recipes import method_named
from wheels import write_wheels

RECIPE = "{estimator: {_target_: tiny.Centres}}"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """A folder of wheels, used instead of the network."""
    return write_wheels(tmp_path_factory.mktemp("wheels"))


@pytest.fixture
def other_python(tmp_path, wheels, monkeypatch):
    """An environment with the method; an environment variable names its Python."""
    folder = tmp_path / "other"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    program = folder / "bin" / "python"
    install = [
        program,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-index",
        "-f",
        wheels,
        "tiny",
    ]
    subprocess.run(install, check=True)
    monkeypatch.setenv("ADAKERN_TINY", str(program))
    return {"python": "$ADAKERN_TINY", "environment": None, "task": "classification"}


@pytest.mark.slow
def test_estimator_in_another_python_follows_scikit_learn(other_python):
    recipe = {"_target_": "tiny.Centres", PYTHON: other_python}
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    names = np.array(["a", "b", "c"])[y]
    estimator = make_estimator(recipe, {"shrink": 0.5}, seed=3)
    assert is_classifier(estimator) and estimator.get_params() == {"shrink": 0.5}
    assert not hasattr(estimator, "predict_proba")
    model = clone(estimator).fit(X[::2], names[::2])
    assert (model.predict(X[1::2]) == names[1::2]).mean() > 0.9
    proba = model.predict_proba(X[1::2])
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_, ["a", "b", "c"])
    assert not hasattr(model, "decision_function")
    assert model.versions_["tiny"] == "1.5"
    assert model.versions_["scikit-learn"] == "0.1" != version("scikit-learn")
    search = GridSearchCV(estimator, {"shrink": [0.0, 1.0]}, cv=2, refit=False)
    search.fit(X, y)
    assert search.best_params_ == {"shrink": 0.0}  # at 1 all centres are one
    with pytest.raises(RuntimeError, match="ValueError: shrink is too large"):
        clone(estimator).set_params(shrink=6.0).fit(X, y)
    with pytest.raises(RuntimeError, match="unexpected keyword argument 'shrimp'"):
        clone(estimator).set_params(shrimp=6.0).fit(X, y)


def test_categorical_columns_keep_their_dtype(monkeypatch):
    # This Python is used as the other one, so that the results can be compared.
    monkeypatch.setenv("ADAKERN_TINY", sys.executable)
    python = {"python": "$ADAKERN_TINY", "environment": None, "task": "regression"}
    recipe = {"_target_": "sklearn.ensemble.HistGradientBoostingRegressor"}
    with_categories = recipe | {
        "categorical_features": "from_dtype",
        "early_stopping": False,
    }
    colours = np.tile(["red", "green", "blue", None], 30)
    frame = pd.DataFrame({"size": np.arange(120.0), "colour": colours})
    kinds = {"size": "numeric", "colour": "categorical"}
    X = CategoryColumns(kinds, 10).fit(frame[:100]).transform(frame)
    y = np.where(colours == "green", 5.0, 0.0) + frame["size"].to_numpy() / 100
    here = make_estimator(with_categories, seed=1).fit(X[:100], y[:100])
    model = make_estimator(with_categories | {PYTHON: python}, seed=1).fit(
        X[:100], y[:100]
    )
    assert here.is_categorical_.tolist() == [True, False]
    np.testing.assert_array_equal(model.predict(X), here.predict(X))
    # Integer codes would not give this: green is between the two others.
    other = make_estimator(recipe | {"early_stopping": False}, seed=1)
    other.fit(X.astype(float)[:100], y[:100])
    assert not np.array_equal(other.predict(X.astype(float)), model.predict(X))


def test_packages_of_another_python_are_not_required_here():
    names = ["realmlp-td", "tabm-d", "xrfm-d"]
    pythons = [f"method.{name}.python=envs/pytabkit.txt" for name in names]
    needs = [f"method.{name}.needs=[nowhere_to_be_found]" for name in names]
    selected = ["dataset=[sk-wine]", f"method=[knn,{','.join(names)}]", *needs]
    assert load_plan([*selected, *pythons]).methods == ["knn", *names]
    with pytest.warns(UserWarning, match="is left out: nowhere_to_be_found"):
        assert load_plan(selected).methods == ["knn"]


def test_raw_columns_with_another_python_raise(monkeypatch):
    monkeypatch.setenv("ADAKERN_AUTOGLUON", sys.executable)
    selected = ["dataset=[sk-wine]", "method=[autogluon]"]
    with pytest.raises(ConfigError, match="autogluon: raw_columns cannot be combined"):
        load_plan([*selected, "method.autogluon.raw_columns=true"])


def test_missing_python_warns(monkeypatch, tmp_path):
    for value in ("", str(tmp_path / "nowhere" / "python")):
        monkeypatch.setenv("ADAKERN_AUTOGLUON", value)
        with pytest.warns(UserWarning, match="autogluon is left out: .ADAKERN_AUTOG"):
            plan = load_plan(["dataset=[sk-wine]", "method=[knn,autogluon]"])
        assert plan.methods == ["knn"]


def test_method_of_another_python_cannot_be_saved():
    with pytest.raises(ValueError, match="autogluon is fitted with another Python"):
        method_named("autogluon", "regression")


@pytest.mark.parametrize(
    ("python", "target", "message"),
    [
        ("envs/none.txt", "methods.rivals.CatBoostClassifier", "no such file in envs/"),
        ("/tmp/evil.txt", "tiny.Centres", "is neither a lock file"),
        ("envs/../evil.txt", "tiny.Centres", "is neither a lock file"),
        ("envs/.made/../../evil.txt", "tiny.Centres", "is neither a lock file"),
        ("$PATH", "tiny.Centres", "is neither a lock file"),
        (
            "$ADAKERN_TINY",
            "subprocess.Popen",
            "must be a public class in methods/",
        ),
    ],
)
def test_invalid_python_setting_raises(monkeypatch, python, target, message):
    monkeypatch.setenv("ADAKERN_TINY", sys.executable)
    recipe = f"{{estimator: {{_target_: {target}}}}}"
    python = python.replace("$", r"\$")
    settings = [f"method.knn.python='{python}'", f"method.knn.classifier={recipe}"]
    with pytest.raises(ConfigError, match=message):
        load_plan(["dataset=[sk-wine]", "method=[knn]", *settings])


@pytest.mark.long
def test_environments_are_created_from_lock_files(project, wheels):
    links = f"--no-index\n--find-links {wheels}\n"
    project.write("envs/tiny.txt", f"{links}tiny==1.5\n")
    project.write("envs/broken.txt", f"{links}tiny==9\n")
    for name in ("tiny", "broken"):
        text = f"python: envs/{name}.txt\nclassifier: {RECIPE}\n"
        project.write(f"conf/method/{name}.yaml", text)
    project.write(
        "conf/method/tuned.yaml",
        "python: envs/tiny.txt\nclassifier: {estimator: {_target_: tiny.Centres}, "
        "grid: {shrink: [0.0, 1.0]}}\n",
    )
    selected = "method=[plain,tiny,tuned,broken]"
    project.run(overrides=selected)
    for name, params in (("tiny", {}), ("tuned", {"shrink": 0.0})):
        for record in project.records(method=name):
            assert record["status"] == "ok" and record["params"] == params
            assert record["versions"]["scikit-learn"] == "0.1"
            assert record["versions"]["tiny"] == "1.5"
            assert record["peak_memory_bytes"] > 2**20
    (reason, _) = [record["reason"] for record in project.records(method="broken")]
    assert (
        "the environment envs/broken.txt could not be created: ERROR: No matching"
        in reason
    )
    (plain, _) = project.records(method="plain")
    assert plain["versions"]["scikit-learn"] == version("scikit-learn")
    assert "environment" not in project.run(overrides="method=[plain,tiny,tuned]").jobs

    project.write("envs/broken.txt", f"{links}tiny==1.5\n")  # now correct
    project.run(overrides=selected)
    assert [r["status"] for r in project.records(method="broken")] == ["ok", "ok"]
