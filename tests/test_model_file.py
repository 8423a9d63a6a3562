"""From a table in a file to a model in a file to predictions, as a new user does it."""

import json
import os
import re
import shutil
import sys
import zipfile
from functools import partial
from io import StringIO
from subprocess import PIPE, Popen

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures
from sklearn.tree import export_graphviz

from adakern import cli, model_file
from adakern.adaptive import (
    MEMBERS,
    AdaptiveKernelClassifier,
    AdaptiveKernelRegressor,
)
from adakern.baselines import EasyMKL
from adakern.baselines.optional import require
from adakern.model_file import (
    ModelFileError,
    _unsafe,
    load_model,
    save_model,
    versions,
    written,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with categories, dates and missing values, and rows to predict."""
    folder = tmp_path_factory.mktemp("user")
    rng = np.random.default_rng(0)
    n = 90
    frame = pd.DataFrame(
        {
            "dose": rng.normal(size=n).round(3),
            "ward": rng.choice(["north", "south"], n),
            "admitted": pd.date_range("2025-01-01", periods=n).strftime("%Y-%m-%d"),
            "patient_id": rng.integers(0, 20, n),
        }
    )
    effect = 2 * frame["dose"] + 1.5 * (frame["ward"] == "north")
    frame["cost"] = (effect + 0.2 * rng.normal(size=n)).round(3)
    frame["outcome"] = np.where(effect > 0, "ill", "well")
    frame.loc[3, "dose"], frame.loc[5, "ward"] = np.nan, None
    frame.to_csv(folder / "my.csv", index=False, sep=";", decimal=",")
    new = frame.drop(columns=["cost", "outcome"]).head(6)
    new.to_csv(folder / "new.csv", index=False, sep=";", decimal=",")
    return folder


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Run the command in the folder; returns what it prints."""
    monkeypatch.chdir(folder)

    def run(line):
        capsys.readouterr()
        assert cli.main(line.split()) == 0
        return capsys.readouterr()

    return run


@pytest.fixture
def ridge(run):
    """A model that is fitted quickly."""
    run("fit my.csv --target cost --drop outcome --method sklearn.linear_model.Ridge")
    return "my.skops"


@pytest.fixture
def rows(folder):
    """New rows, as they are read from their file."""
    return pd.read_csv(folder / "new.csv", sep=";", decimal=",")


def a_card(**facts):
    """The least that a model's card holds."""
    card = {"target": "y", "kinds": {"a": "numeric"}, "forms": {}}
    return card | {"categories": {}, "versions": versions()} | facts


def predictions(printed):
    return pd.read_csv(StringIO(printed.out))


def test_a_regression_from_csv_to_intervals_and_after_a_move(
    run, rows, folder, tmp_path
):
    settings = "--preset fast --group patient_id --minutes 5 --output a.skops"
    said = run(f"fit my.csv --target cost --drop outcome {settings}")
    for words in (
        "On rows left out: R² 0.9",
        "member ",
        "Share of each column",
        "a.skops new.csv",
    ):
        assert words in said.out
    assert said.out.count("member ") == 1  # the table is printed once
    said = run("predict a.skops new.csv --interval 0.9")
    found = predictions(said)
    assert list(found) == ["cost", "cost_low", "cost_high"]
    assert (found["cost_low"] <= found["cost_high"]).all() and len(found) == 6
    model, card = load_model(shutil.move(folder / "a.skops", tmp_path / "b.skops"))
    np.testing.assert_allclose(model.predict(rows), found["cost"], rtol=1e-12)
    low, high = model.predict_interval(rows[rows.columns[::-1]], 0.9).T
    np.testing.assert_allclose([low, high], found[["cost_low", "cost_high"]].T)
    assert card["score"]["r2"] > 0.9 and card["versions"] == versions()
    assert card["kinds"]["dose"] == "numeric" and card["kinds"]["admitted"] == "date"
    assert card["categories"] == {"ward": ["north", "south"]}


def test_a_classification_with_probabilities_by_another_method(run):
    method = "--method sklearn.ensemble.RandomForestClassifier"
    said = run(f"fit my.csv --target outcome --drop cost --time admitted {method}")
    assert "On the 18 latest rows: accuracy" in said.out and "largest class" in said.out
    found = predictions(run("predict my.skops new.csv --proba"))
    assert set(found["outcome"]) <= {"ill", "well"}
    np.testing.assert_allclose(found[["outcome=ill", "outcome=well"]].sum(axis=1), 1)


def test_a_method_is_written_as_in_python(run):
    """As `adakern compare` writes its winner: nested, with its parameters."""
    model = Pipeline(
        [("poly", PolynomialFeatures(2)), ("ridge", Ridge(alpha=np.float64(0.5)))]
    )
    text = written(model)
    assert '["ridge", sklearn.linear_model.Ridge(alpha=0.5)]' in text
    model = OneVsRestClassifier(
        LogisticRegression(class_weight={"a": 2, "b": 1}), n_jobs=2
    )
    for told in (text, written(model)):
        assert written(model_file.estimator_of(told)) == told
    option = "--method sklearn.linear_model.Ridge(alpha=0.5)"
    run(f"fit my.csv --target cost --drop outcome {option}")
    pipeline = load_model("my.skops")[0]
    assert pipeline[-1].regressor_.alpha == 0.5
    # The target is standardised as in the comparison.
    assert abs(pipeline[-1].regressor_.intercept_) < 1e-12


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("fit my.csv --target cost --minutes 0", "0 is no time above 0"),
        ("fit my.csv --target cst", "Did you mean 'cost'?"),
        ("fit my.csv --target admitted", "holds dates"),
        ("fit my.csv --target cost --method sklearn.svm.SVC", "no estimator for reg"),
        ("fit my.csv --target cost --method sklearn.svm.SVX", "no attribute 'SVX'"),
        ("fit my.csv --target cost --method svr", "Did you mean 'svr-cv'?"),
        (
            "fit my.csv --target cost --method os.system('true')",
            "no class of estimators",
        ),
        ("fit my.csv --target cost --method sklearn.svm.SVR(2)", "positional"),
        ("fit none.csv --target cost", "none.csv"),
        ("fit my.csv --target cost --output .", "is a folder; name a file in it"),
        ("fit my.csv --target cost --minuets 1", "Did you mean '--minutes'?"),
        ("fit my.csv --target cost --method sklearn.svm.SVR(C=ten)", "ten is no value"),
        ("predict none.skops new.csv", "no file none.skops"),
        ("predict my.skops new.csv --interval 90", "90 is no part between 0 and 1"),
        ("predict my.csv new.csv", "no model that `adakern fit` wrote"),
        ("predict my.skops new.csv --proba", "Ridge has no predict_proba"),
        ("predict my.skops new.csv --interval 0.9", "Ridge has no predict_interval"),
    ],
)
def test_a_mistake_ends_in_a_sentence(ridge, line, words, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(line.split())
    assert words in str(stopped.value.code) + capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: rows.rename(columns={"dose": "doses"}), "Did you mean 'doses'?"),
        (lambda rows: rows.head(0), "no rows"),
        (lambda rows: rows.to_numpy(), "no column named 'dose', 'ward'"),
    ],
)
def test_new_rows_that_do_not_fit_the_model(ridge, rows, change, words):
    with pytest.raises(ModelFileError, match=re.escape(words)):
        load_model(ridge)[0].predict(change(rows))


def test_other_types_are_refused_or_told(ridge, rows, folder):
    rows.assign(dose="much").to_csv(folder / "text.csv", index=False)
    with pytest.raises(SystemExit, match="fitted on numbers"):
        cli.main(["predict", ridge, "text.csv"])
    rows["dose"] = rows["dose"].astype(str).where(rows.index > 0, "much")
    with pytest.warns(UserWarning, match="thus missing"):
        load_model(ridge)[0].predict(rows)


def test_a_single_column_and_a_long_name(run, folder):
    name = "x" * 245
    frame = pd.DataFrame({"dose": np.arange(30) * 0.7, "cost": np.arange(30) * 1.4})
    frame.to_csv(folder / f"{name}.csv", index=False)
    frame[["dose"]].to_csv(folder / "dose.csv", index=False)
    said = run(
        f"fit {name}.csv --target cost --method sklearn.linear_model.Ridge(alpha=1e-9)"
    )
    assert "30 rows, 1 feature, regression" in said.out
    found = predictions(run(f"predict {name[:100]}.skops dose.csv"))
    np.testing.assert_allclose(found["cost"], frame["cost"], atol=1e-6)


def test_a_model_of_few_different_rows_is_written(run, folder, rng):
    """Its predictions for rows that it has seen are kept by the rows."""
    cells = pd.DataFrame(rng.integers(0, 8, size=(600, 2)), columns=["a", "b"])
    cells["y"] = rng.normal(size=64)[8 * cells["a"] + cells["b"]] + 0.05 * rng.normal(
        size=600
    )
    cells.to_csv(folder / "cells.csv", index=False)
    run("fit cells.csv --target y --preset fast")
    model = load_model("cells.skops")[0]
    assert model[-1].equal_rows_.prior_rows_ < np.inf
    assert np.abs(model.predict(cells) - cells["y"]).max() < 0.5


def test_unknown_categories_are_told_and_predicted(ridge, run, rows, folder):
    rows.assign(ward="west").to_csv(folder / "west.csv", index=False)
    said = run(f"predict {ridge} west.csv")
    assert "ward: the model does not know the category of 6 of 6" in said.err
    assert predictions(said)["cost"].notna().all()


def test_a_reader_who_has_seen_enough_is_no_error(ridge):  # as in `| head -1`
    code = (
        "from adakern.cli import main; exit(main(['predict', 'my.skops', 'new.csv']))"
    )
    with Popen([sys.executable, "-c", code], stdout=PIPE, stderr=PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.parametrize("name", MEMBERS)
def test_each_member_alone_is_loaded_again(name, tmp_path, rng):
    """Boosting, for one, keeps a function of scikit-learn where it has categories."""
    X = pd.DataFrame({"dose": rng.normal(size=60), "ward": list("xyz") * 20})
    y = X["dose"] + (X["ward"] == "x")
    X["ward"] = X["ward"].astype("category")
    kind = AdaptiveKernelRegressor
    if name == "svm":  # which only classifies
        kind, y = AdaptiveKernelClassifier, y > y.median()
    model = kind(members=[name], preset="fast", random_state=0)
    pipeline = make_pipeline(model).fit(X, y)
    save_model(pipeline, tmp_path / "m.skops", a_card())
    loaded, _ = load_model(tmp_path / "m.skops")
    np.testing.assert_allclose(loaded.predict(X), pipeline.predict(X), rtol=1e-10)


@pytest.mark.parametrize("field", ["left", "right", "feature_idx"])
def test_a_tree_that_leads_out_of_its_nodes_is_refused(field, tmp_path):
    """scikit-learn would follow it, and the process end."""
    X = np.arange(60.0)[:, None]
    model = HistGradientBoostingRegressor(max_iter=1).fit(X, X[:, 0])
    model._predictors[0][0].nodes[field] = 2**31
    save_model(make_pipeline(model), tmp_path / "m.skops", a_card())
    with pytest.raises(ModelFileError, match="decision tree that is damaged"):
        load_model(tmp_path / "m.skops")


@pytest.mark.parametrize(
    "facts",
    [
        {"kinds": None},
        {"kinds": {}},
        {"versions": "1"},
        {"categories": None},
        {"date": "x" * 2**26},
    ],
    ids=["no kinds", "no columns", "versions", "no categories", "large"],
)
def test_a_damaged_card_is_refused(facts, tmp_path):
    save_model(make_pipeline(Ridge()), tmp_path / "m.skops", a_card(**facts))
    with pytest.raises(ModelFileError, match="no model that"):
        load_model(tmp_path / "m.skops")


def test_a_file_that_cannot_be_loaded_is_not_called_written(run, monkeypatch):
    def refuse(*_, **__):
        raise ModelFileError("it is refused")

    monkeypatch.setattr(model_file, "load_model", refuse)
    method = "--method sklearn.linear_model.Ridge --output unread.skops"
    with pytest.raises(
        SystemExit, match=r"unread\.skops cannot be used: it is refused"
    ):
        run(f"fit my.csv --target cost --drop outcome {method}")


def test_a_file_is_checked_before_it_is_loaded(ridge, tmp_path):
    model, card = load_model(ridge)
    bank = EasyMKL().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    save_model(
        make_pipeline(bank), tmp_path / "bank.skops", card
    )  # which holds a method
    assert load_model(tmp_path / "bank.skops")[0].predict([[3.0]]) == [1]
    unkept = make_pipeline(FunctionTransformer(memoryview(b"rows")))
    with pytest.raises(
        ModelFileError, match="FunctionTransformer cannot be kept in a file"
    ):
        save_model(unkept, tmp_path / "unkept.skops", card)
    # Of these two functions of known rooms one writes files and one imports modules.
    for call in (os.system, export_graphviz, partial(require, "evil")):
        save_model(
            make_pipeline(FunctionTransformer(call)), tmp_path / "unsafe.skops", card
        )
        with pytest.raises(
            ModelFileError, match=r"--trust \S+\.(system|export_graphviz|require)"
        ):
            load_model(tmp_path / "unsafe.skops")
    foreign = {"adakern.dank.classifier.np", "adakern.dank.nothing.X"}
    assert all(map(_unsafe, foreign)) and not _unsafe(
        "adakern.dank.classifier.DANKClassifier"
    )
    other = {"versions": versions() | {"adakern": "9.0"}}
    save_model(model, tmp_path / "other.skops", card | other)
    with pytest.raises(ModelFileError, match=r"written by adakern 9\.0"):
        load_model(tmp_path / "other.skops")
    skops.io.dump(model, tmp_path / "foreign.skops")
    whole = (tmp_path / "other.skops").read_bytes()
    (tmp_path / "cut.skops").write_bytes(whole[: len(whole) // 2])
    damaged = bytearray(whole)
    damaged[len(whole) // 3] ^= 255
    (tmp_path / "damaged.skops").write_bytes(damaged)
    for name in ("foreign", "cut", "damaged"):
        with pytest.raises(ModelFileError, match="no model that"):
            load_model(tmp_path / f"{name}.skops")
    newer = card["versions"] | {"numpy": "1.0"}
    save_model(model, tmp_path / "newer.skops", card | {"versions": newer})
    with pytest.warns(UserWarning, match=r"numpy 1\.0"):
        load_model(tmp_path / "newer.skops")
    with zipfile.ZipFile(ridge) as archive:
        assert json.loads(archive.read(model_file.CARD)) == card
