"""From a table in a file to a model in a file to predictions, as a new user does it."""

import json
import operator
import os
import re
import shutil
import subprocess
import sys
import zipfile
from functools import partial
from io import BytesIO, StringIO
from pathlib import Path
from subprocess import PIPE, Popen

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy.sparse import csr_matrix
from sklearn.base import is_classifier
from sklearn.cluster import KMeans
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    RadiusNeighborsClassifier,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, export_graphviz

from adakern import cli, left_out, model_contents, model_file
from adakern.adaptive import (
    MEMBERS,
    AdaptiveKernelClassifier,
    AdaptiveKernelRegressor,
)
from adakern.baselines import EasyMKL
from adakern.baselines.optional import require
from adakern.dank import DANKRegressor
from adakern.datasets import read_table
from adakern.lab import LABRBFRegressor
from adakern.model_file import (
    FORMAT,
    ModelFileError,
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
        "Permutation importances",
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


def test_what_is_said_of_a_rare_class_is_right(capsys):
    """By hand: 2 of 20 rows are it, the first and the third by probability."""
    p = np.array([0.6, 0.5, 0.4, *np.linspace(0.3, 0.01, 17)])
    y = pd.Series(["no"] * 20)
    y[[0, 2]] = "yes"
    shares = y.value_counts(normalize=True)
    found = left_out.rare_class_scores(y, np.c_[1 - p, p], shares)
    assert found["rare_class"] == "yes" and found["rare_share"] == 0.1
    assert found["average_precision"] == pytest.approx((1 + 2 / 3) / 2)
    # Of the first two rows one is it, and one of two is among them.
    assert (found["threshold"], found["precision"], found["recall"]) == (0.5, 0.5, 0.5)
    plain = {"accuracy": 0.9, "balanced_accuracy": 0.5, "largest_class": 0.9}
    left_out.print_score(
        {"of": "rows left out", "auc": 0.97, "brier": 0.1, **plain, **found}
    )
    said = capsys.readouterr().out
    for words in ("the largest class alone: 90.0%", "ROC curve 97.0%", "Brier score"):
        assert words in said
    assert "'yes' (10.0% of the rows): average precision 83.3%" in said


def test_the_card_says_of_whom_of_when_and_what_for(tmp_path):
    wards, days = ["north", "south"] * 10, pd.date_range("2025-01-01", periods=20)
    frame = pd.DataFrame({"patient": np.repeat(range(5), 4), "ward": wards})
    frame = frame.assign(day=days, x=np.arange(20) / 7, y=np.arange(20) * 1.5)
    frame.to_csv(tmp_path / "my.csv", index=False)
    table = read_table(tmp_path / "my.csv", "y", group="patient", time="day")
    card = model_file.make_card(table)
    assert card["groups"] == {"column": "patient", "number": 5}
    assert card["times"]["from"][:10] == "2025-01-01"
    assert "long after 2025-01-20" in card["not_for"][-1]
    assert card["read_by"] == f"adakern>={card['versions']['adakern']}"
    plain = model_file.make_card(read_table(tmp_path / "my.csv", "y", group=False))
    assert "groups" not in plain and "such as a patient" in " ".join(plain["not_for"])
    # Wrong by 1 in the north, by 2 in the south, which has one row fewer.
    off = np.where(np.arange(19) % 2, 2.0, 1.0)
    rows = np.arange(19)
    found = left_out.errors_by_category(table, rows, table.y.to_numpy()[:19] - off)
    assert found["ward"]["north"] == {"rows": 10, "error": pytest.approx(1.0)}
    assert found["ward"]["south"] == {"rows": 9, "error": pytest.approx(2.0)}
    assert list(found["ward"]) == ["south", "north"]  # the greatest error first
    assert found["patient"]["0"] == {"rows": 4, "error": pytest.approx(2.5**0.5)}
    assert len(found["patient"]) == 5


def test_prices_are_printed_whole(capsys):
    left_out.print_score({"of": "rows left out", "r2": 0.5, "rmse": 48_012.3})
    assert "root mean squared error 48,010" in capsys.readouterr().out


def test_a_method_with_more_parameters_than_it_names_is_written():
    lightgbm = pytest.importorskip("lightgbm")
    told = written(lightgbm.LGBMRegressor(max_cat_to_onehot=30))
    assert told == "lightgbm.sklearn.LGBMRegressor(max_cat_to_onehot=30)"
    assert model_file.estimator_of(told).get_params()["max_cat_to_onehot"] == 30


def test_boosting_gets_categories_and_gaps_as_in_the_comparison(run, rows):
    method = "sklearn.ensemble.HistGradientBoostingRegressor(max_iter=3)"
    run(f"fit my.csv --target cost --drop outcome --method {method}")
    pipeline = load_model("my.skops")[0]
    assert list(pipeline.named_steps) == ["columns", "categories", "model"]
    seen = pipeline[:-1].transform(rows)
    assert (seen.dtypes == "category").any() and seen.isna().any(axis=None)
    assert np.isfinite(pipeline.predict(rows)).all()


def test_no_minutes_are_told_and_the_latest_class_is_learned(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    outcome = [*rng.permutation(["up", "down"] * 15), "new", "new"]
    rows = {"day": range(32), "x": rng.normal(size=32), "outcome": outcome}
    pd.DataFrame(rows).to_csv("my.csv", index=False)
    options = "--target outcome --time day --keep day --minutes 1e-9 --preset fast"
    assert cli.main(["fit", "my.csv", *options.split()]) == 0
    said = capsys.readouterr()
    assert "--minutes 1e-09 is over before the fit begins" in said.err
    assert "On the 19 latest rows: accuracy" in said.out
    model = load_model("my.skops")[0]
    assert model.classes_.tolist() == ["down", "new", "up"]
    # No block before the last has it, and the model of all rows still knows it.
    new = model.predict_proba(pd.DataFrame({"day": [0, 31], "x": [0.0, 0.0]}))[:, 1]
    assert new[1] > new[0]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("fit my.csv --target cost --minutes 0", "0 must be above 0"),
        ("fit my.csv --target cst", "Did you mean 'cost'?"),
        ("fit my.csv --target cost --colour red", "--colour red.\n"),
        ("fit my.csv --target admitted", "has dates"),
        ("fit /dev/zero --target cost", "is a device"),
        (
            "fit my.csv --target cost --method sklearn.svm.SVC",
            "not an estimator for",
        ),
        ("fit my.csv --target cost --method sklearn.svm.SVX", "no attribute 'SVX'"),
        ("fit my.csv --target cost --method svr", "Did you mean 'svr-cv'?"),
        (
            "fit my.csv --target cost --method os.system('true')",
            "not an estimator class",
        ),
        ("fit my.csv --target cost --method sklearn.svm.SVR(2)", "positional"),
        ("fit none.csv --target cost", "none.csv"),
        ("fit my.csv --target cost --output .", "is a folder; name a file in it"),
        ("fit my.csv --target cost --minuets 1", "Did you mean '--minutes'?"),
        (
            "fit my.csv --target cost --method sklearn.svm.SVR(C=ten)",
            "is not a value",
        ),
        ("predict none.skops new.csv", "no file none.skops"),
        ("predict my.skops new.csv --interval 90", "90 must be between 0 and 1"),
        ("predict my.csv new.csv", "not a complete model written by"),
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
    many = pd.concat([rows] * 11).assign(dose="much")
    many.to_csv(folder / "text.csv", index=False)
    with pytest.raises(SystemExit, match="fitted on numbers"):
        cli.main(["predict", ridge, "text.csv"])
    rows["dose"] = rows["dose"].astype(str).where(rows.index > 0, "much")
    with pytest.warns(UserWarning, match="treated as missing"):
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


def test_text_is_learned_from_kept_and_asked(run, folder, rng):
    """And the warning of a new category comes once, with a range of answers."""
    words, n = np.array(["old", "new", "large", "small", "bright", "damp"]), 80
    places = rng.integers(0, len(words), size=(n, 5))
    frame = pd.DataFrame(
        {
            "note": [" ".join(words[row]) for row in places],
            "ward": rng.choice(["x", "y"], n),
            "cost": (places == 4).sum(axis=1) + 0.1 * rng.normal(size=n),
        }
    )
    frame.to_csv(folder / "notes.csv", index=False)
    said = run("fit notes.csv --target cost --preset fast")
    assert "text: 'note', read as character n-grams" in said.out
    model, card = load_model("notes.skops")
    assert card["kinds"] == {"note": "text", "ward": "categorical"}
    assert model[-1].oof_score_ > 0.5
    new = frame.drop(columns="cost").assign(ward="z")
    new.to_csv(folder / "newer.csv", index=False)
    said = run("predict notes.skops newer.csv --interval 0.9")
    assert said.err.count("does not know the category of 80 of 80 rows") == 1
    np.testing.assert_allclose(predictions(said)["cost"], model.predict(new))


@pytest.mark.parametrize(
    "line",
    [
        "predict my.skops new.csv",
        "fit my.csv --target cost --method sklearn.linear_model.Ridge --output 2.skops",
    ],
)
def test_a_reader_who_has_seen_enough_is_no_error(ridge, line):  # as in `| head -1`
    code = f"from adakern.cli import main; exit(main({line.split()}))"
    with Popen([sys.executable, "-c", code], stdout=PIPE, stderr=PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
    assert Path("2.skops").exists() == line.startswith("fit")


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
    with pytest.raises(ModelFileError, match="out of bounds"):
        load_model(tmp_path / "m.skops")


@pytest.mark.parametrize(
    "facts",
    [
        {"kinds": None},
        {"kinds": {}},
        {"versions": "1"},
        {"categories": None},
        {"categories": {"a column that the model does not know": ["u"]}},
        {"targets": "y"},
        {"targets": ["y", "z"]},
        {"date": "x" * 2**26},
    ],
    ids=[
        *("no kinds", "no columns", "versions", "no categories", "other categories"),
        *("targets as text", "more targets", "large"),
    ],
)
def test_a_damaged_card_is_refused(facts, tmp_path):
    save_model(make_pipeline(Ridge()), tmp_path / "m.skops", a_card(**facts))
    with pytest.raises(ModelFileError, match="not a complete model"):
        load_model(tmp_path / "m.skops")


#: Loads a model and prints what it predicts, where PyTorch cannot be imported.
WITHOUT_TORCH = """
import sys
class NoTorch:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoTorch())
import numpy as np
from adakern.datasets import read_table
from adakern.model_file import load_model
X = np.random.default_rng(0).normal(size=(40, 3))
print(load_model(sys.argv[1])[0].predict(X).tolist())
"""


@pytest.mark.parametrize(
    "model",
    [
        AdaptiveKernelRegressor(members=["rbf", "boosting"], random_state=0),
        DANKRegressor(strategy="decomposed", n_clusters=3, random_state=0),
        DANKRegressor(strategy="whole"),
        LABRBFRegressor(max_support=10, max_iter=5, random_state=0),
    ],
    ids=lambda model: getattr(model, "strategy", type(model).__name__),
)
def test_a_model_of_tensors_is_loaded_without_pytorch(model, tmp_path):
    torch = pytest.importorskip("torch")
    X = np.random.default_rng(0).normal(size=(40, 3))
    model.fit(torch.tensor(X), X[:, 0] ** 2)
    expected = model.predict(torch.tensor(X)).numpy()
    save_model(make_pipeline(model), tmp_path / "m.skops", a_card())
    command = [sys.executable, "-c", WITHOUT_TORCH, str(tmp_path / "m.skops")]
    found = json.loads(subprocess.check_output(command))
    # In NumPy sums are taken in another order; they differ by what is rounded.
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    # The fitted model itself keeps its tensors.
    assert isinstance(model.predict(torch.tensor(X)), torch.Tensor)


def test_a_file_that_cannot_be_loaded_is_not_called_written(run, monkeypatch):
    def refuse(*_, **__):
        raise ModelFileError("it is refused")

    monkeypatch.setattr(model_file, "load_model", refuse)
    method = "--method sklearn.linear_model.Ridge --output unread.skops"
    with pytest.raises(
        SystemExit, match=r"unread\.skops cannot be used: it is refused"
    ):
        run(f"fit my.csv --target cost --drop outcome {method}")


#: Functions that open files, import modules or run programs, and what calls them.
FOREIGN = {
    "run": make_pipeline(FunctionTransformer(os.system)),
    "write": make_pipeline(FunctionTransformer(export_graphviz)),
    "import": make_pipeline(FunctionTransformer(partial(require, "evil"))),
    "join": make_pipeline(FunctionTransformer(partial(np.add, "/etc/"))),
    "read": make_pipeline(CountVectorizer(input="filename")),
    "read numbers": make_pipeline(FunctionTransformer(np.fromfile)),
    "call": make_pipeline(Ridge(alpha=operator.methodcaller("system"))),
    "sparse": make_pipeline(Ridge(alpha=csr_matrix((2, 2)))),
    "open": make_pipeline(TransformedTargetRegressor(Ridge(), func=open)),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_what_reads_or_runs_is_refused_whatever_is_trusted(what, tmp_path):
    """A foreign model would do it, and tell by its predictions what it found."""
    try:
        save_model(FOREIGN[what], tmp_path / "m.skops", a_card())
    except ModelFileError:
        return  # not even skops writes it
    with zipfile.ZipFile(tmp_path / "m.skops") as archive:
        names = re.findall(r'"__module__": "([^"]*)"', str(archive.read("schema.json")))
    trust = [*skops.io.get_untrusted_types(file=tmp_path / "m.skops"), *names]
    for trusted in ((), trust):
        with pytest.raises(ModelFileError, match="even with --trust"):
            load_model(tmp_path / "m.skops", trust=trusted)


def test_types_are_looked_up_by_what_makes_them(tmp_path):
    """A key of a dictionary is made by a type: numpy.load would be called with it."""
    save_model(make_pipeline(Ridge()), tmp_path / "m.skops", a_card())
    for name in ("load", "fromfile", "memmap", "ndarray"):
        changed = altered(
            tmp_path / "m.skops",
            lambda schema, name=name: schema["content"]["key_types"]["content"][
                0
            ].update(__module__="numpy", __class__=name),
        )
        with pytest.raises(ModelFileError, match=rf"numpy\.{name}"):
            load_model(changed)


def test_what_skops_would_call_is_a_bit_generator_or_a_loss(tmp_path):
    """Their names are text of the file: numpy.random.seed would be called."""
    model = boosting()
    model.loss_of_another = fitted(SGDClassifier)
    save_model(make_pipeline(model), tmp_path / "m.skops", a_card())

    def other_generator(schema):
        for node in model_contents._nodes(schema):
            if node["__loader__"] == "RandomGeneratorNode":
                state = node["content"]["bit_generator"]["content"]
                state["bit_generator"]["content"] = '"seed"'

    def other_loss(schema):
        for node in model_contents._nodes(schema):
            if node["__loader__"] == "LossNode":
                node["__class__"] = "_plain_sgd64"

    load_model(tmp_path / "m.skops")
    for change in (other_generator, other_loss):
        with pytest.raises(ModelFileError, match="even with --trust"):
            load_model(altered(tmp_path / "m.skops", change))


def altered(path, change):
    """A copy of a model file whose schema is changed."""
    copy = path.with_name("altered.skops")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(copy, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "schema.json":
                schema = json.loads(data)
                change(schema)
                data = json.dumps(schema)
            new.writestr(name, data)
    return copy


def test_a_type_of_another_package_is_loaded_where_it_is_trusted(tmp_path):
    pytest.importorskip("lightgbm")
    from lightgbm import LGBMRegressor

    model = make_pipeline(LGBMRegressor(n_estimators=1, verbose=-1))
    X = np.arange(60.0)[:, None]
    try:
        save_model(model.fit(X, X[:, 0]), tmp_path / "m.skops", a_card())
    except ModelFileError:
        pytest.skip("skops does not write it")
    with pytest.raises(ModelFileError, match=r"--trust \S*lightgbm"):
        load_model(tmp_path / "m.skops")
    trust = skops.io.get_untrusted_types(file=tmp_path / "m.skops")
    load_model(tmp_path / "m.skops", trust=trust)


def fitted(kind, **params):
    """An estimator that learned from sixty rows of three columns."""
    X = np.random.default_rng(0).uniform(size=(60, 3))
    y = (3 * X[:, 0]).astype(int) if is_classifier(kind()) else X[:, 0]
    return kind(**params).fit(X, y)


def boosting():
    """Boosting with a column of categories."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=200), rng.integers(0, 5, size=200)])
    y = X[:, 0] + (X[:, 1] == 2)
    model = HistGradientBoostingRegressor(max_iter=2, categorical_features=[1])
    return model.fit(X, y)


def changed(model, name, value):
    """The model with another value of an attribute, by its dotted name."""
    *path, last = name.split(".")
    part = model
    for step in path:
        part = part[int(step)] if step.isdigit() else getattr(part, step)
    if last.isdigit():
        part[int(last)] = value
    else:
        setattr(part, last, value)
    return model


def few(kind):
    """A fitted ensemble of two trees."""
    return fitted(kind, n_estimators=2, random_state=0)


#: Models whose sizes or indices do not agree; compiled code would follow them.
DISAGREEING = {
    "width of a tree": lambda: changed(
        few(RandomForestRegressor), "estimators_.0.n_features_in_", 9
    ),
    "width of a forest": lambda: changed(
        few(RandomForestRegressor), "n_features_in_", 2
    ),
    "classes of a tree": lambda: changed(
        few(RandomForestClassifier), "estimators_.0.n_classes_", 2
    ),
    "no tree": lambda: changed(few(RandomForestRegressor), "estimators_.1", Ridge()),
    "columns of boosting": lambda: changed(
        few(GradientBoostingClassifier), "n_trees_per_iteration_", 1
    ),
    "width of boosting": lambda: changed(boosting(), "n_features_in_", 1),
    "categories beyond the bits": lambda: changed(
        boosting(), "_bin_mapper.bin_thresholds_.0", np.array([1e6])
    ),
    "map of categories": lambda: changed(
        boosting(), "_bin_mapper.is_categorical_", np.zeros(2, dtype=np.uint8)
    ),
    "preprocessor": lambda: changed(
        boosting(),
        "_preprocessor",
        FunctionTransformer(kw_args={"kinds": {}, "forms": {}}),
    ),
    "support vectors": lambda: changed(
        fitted(SVC), "_n_support", np.array([9999, 1, 1], dtype=np.int32)
    ),
    "coefficients": lambda: changed(fitted(SVR), "_dual_coef_", np.zeros((1, 2))),
    "centres": lambda: changed(fitted(KMeans), "cluster_centers_", np.zeros((8, 2))),
    "neighbours": lambda: changed(
        fitted(KNeighborsRegressor, algorithm="brute"), "_fit_X", np.zeros((60, 2))
    ),
    "classes of neighbours": lambda: changed(
        fitted(KNeighborsClassifier, algorithm="brute", metric="manhattan"),
        "_y",
        np.full(60, 10**9),
    ),
    "number of neighbours' classes": lambda: changed(
        fitted(RadiusNeighborsClassifier, algorithm="brute"), "_y", np.zeros(1, int)
    ),
    "metric": lambda: changed(
        fitted(KNeighborsRegressor, algorithm="brute", metric="mahalanobis"),
        "effective_metric_params_",
        {"VI": np.ones((1, 1))},
    ),
    "metric of the parameters": lambda: changed(
        fitted(KNeighborsClassifier, algorithm="brute"),
        "metric_params",
        {"V": np.ones(1)},
    ),
    "start of boosting": lambda: changed(
        few(GradientBoostingClassifier),
        "init_",
        fitted(DummyClassifier).fit([[0.0], [0.0]], [0, 1]),
    ),
    "start of one row": lambda: changed(
        few(GradientBoostingRegressor),
        "init_",
        make_pipeline(
            FunctionTransformer(np.mean, kw_args={"axis": 0, "keepdims": True}),
            fitted(DummyRegressor),
        ),
    ),
    "cache": lambda: Pipeline([("ridge", fitted(Ridge))], memory="/tmp"),
}


@pytest.mark.parametrize("what", DISAGREEING)
def test_parts_that_do_not_go_together_are_refused(what, tmp_path):
    """scikit-learn would look beyond its arrays; some of these end the process."""
    save_model(make_pipeline(DISAGREEING[what]()), tmp_path / "m.skops", a_card())
    with pytest.raises(ModelFileError, match="not a complete model"):
        load_model(tmp_path / "m.skops")


@pytest.mark.parametrize("kind", ["KDTree", "BallTree", "EuclideanDistance64"])
def test_compiled_objects_without_attributes_are_refused(kind, tmp_path):
    """scikit-learn takes them from a tuple without looking at its length."""
    algorithm = "ball_tree" if kind == "BallTree" else "kd_tree"
    model = fitted(KNeighborsRegressor, algorithm=algorithm)
    save_model(make_pipeline(model), tmp_path / "m.skops", a_card())
    load_model(tmp_path / "m.skops")

    def of_kind(schema):
        nodes = model_contents._nodes(schema)
        return next(node for node in nodes if node["__class__"] == kind)

    def fewer(schema):
        del of_kind(schema)["content"]["content"][-1]

    def found_elsewhere(schema):
        of_kind(schema)["content"]["__loader__"] = "CachedNode"

    def none(schema):
        of_kind(schema)["content"] = None

    for change in (fewer, found_elsewhere, none):
        with pytest.raises(ModelFileError, match="not a complete model"):
            load_model(altered(tmp_path / "m.skops", change))


def test_sizes_are_compared_before_memory_is_taken(tmp_path):
    save_model(
        make_pipeline(few(RandomForestRegressor)), tmp_path / "m.skops", a_card()
    )

    def more_nodes(schema):
        for node in model_contents._nodes(schema):
            if node["__loader__"] == "TreeNode":
                node["content"]["content"]["node_count"]["content"] = str(2**40)

    with pytest.raises(ModelFileError, match="differ in size"):
        load_model(altered(tmp_path / "m.skops", more_nodes))
    large = tmp_path / "large.skops"
    shutil.copy(tmp_path / "m.skops", large)
    with (
        zipfile.ZipFile(large, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("zeros.npy", "w", force_zip64=True) as file,
    ):
        for _ in range(300):
            file.write(bytes(2**20))
    with pytest.raises(ModelFileError, match=r"would unpack to 0\.3 GB"):
        load_model(large)
    longer = tmp_path / "longer.skops"
    shutil.copy(tmp_path / "m.skops", longer)
    header = BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"shape": (2**40,), "fortran_order": False, "descr": "<f8"}
    )
    with zipfile.ZipFile(longer, "a") as archive:
        archive.writestr("more.npy", header.getvalue())
    with pytest.raises(ModelFileError, match="the size of an array is wrong"):
        load_model(longer)


def test_a_model_that_another_program_wrote_has_no_card(tmp_path):
    skops.io.dump(Ridge().fit([[0.0], [1.0]], [0.0, 1.0]), tmp_path / "other.skops")
    with pytest.raises(ModelFileError, match=r"no item named 'card\.json'"):
        load_model(tmp_path / "other.skops")


def test_a_file_is_checked_before_it_is_loaded(ridge, tmp_path):
    model, card = load_model(ridge)
    bank = EasyMKL().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    save_model(
        make_pipeline(bank), tmp_path / "bank.skops", card
    )  # which holds a method
    assert load_model(tmp_path / "bank.skops")[0].predict([[3.0]]) == [1]
    unkept = make_pipeline(FunctionTransformer(memoryview(b"rows")))
    with pytest.raises(ModelFileError, match="FunctionTransformer cannot be saved"):
        save_model(unkept, tmp_path / "unkept.skops", card)
    other = {"versions": versions() | {"adakern": "9.0"}}
    save_model(model, tmp_path / "other.skops", card | other)
    with pytest.raises(ModelFileError, match=r'adakern 9\.0, .*"adakern>=9\.0"'):
        load_model(tmp_path / "other.skops")
    save_model(model, tmp_path / "form.skops", card | {"format": FORMAT + 1})
    with pytest.raises(ModelFileError, match="or fit the model again"):
        load_model(tmp_path / "form.skops")
    older = {"versions": versions() | {"adakern": "0.0.9"}}
    save_model(model, tmp_path / "older.skops", card | older)
    with pytest.warns(UserWarning, match=r"was written with adakern 0\.0\.9"):
        load_model(tmp_path / "older.skops")
    skops.io.dump(model, tmp_path / "foreign.skops")
    whole = (tmp_path / "older.skops").read_bytes()
    (tmp_path / "cut.skops").write_bytes(whole[: len(whole) // 2])
    damaged = bytearray(whole)
    damaged[len(whole) // 3] ^= 255
    (tmp_path / "damaged.skops").write_bytes(damaged)
    for name in ("foreign", "cut", "damaged"):
        with pytest.raises(ModelFileError, match="not a complete model"):
            load_model(tmp_path / f"{name}.skops")
    newer = card["versions"] | {"numpy": "1.0"}
    save_model(model, tmp_path / "newer.skops", card | {"versions": newer})
    with pytest.warns(UserWarning, match=r"numpy 1\.0"):
        load_model(tmp_path / "newer.skops")
    with zipfile.ZipFile(ridge) as archive:
        assert json.loads(archive.read(model_file.CARD)) == card


MODELS = sorted((Path(__file__).parent / "models").glob("*.skops"))


@pytest.mark.filterwarnings("ignore:.*was written with")
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_a_file_of_an_earlier_version_predicts_what_it_did(path):
    """Kept by tools/keep_model.py; with newer packages digits may differ."""
    told = json.loads(path.with_suffix(".json").read_text())
    model, card = load_model(path)
    assert path.stem.startswith(card["versions"]["adakern"])
    found = model.predict(pd.DataFrame(told["rows"]))
    np.testing.assert_allclose(found, told["predicted"], rtol=1e-6)


def test_the_files_of_this_version_are_kept():
    assert {"0.1.0-adaptive", "0.1.0-dank"} <= {path.stem for path in MODELS}


def test_a_class_that_a_spreadsheet_would_compute_is_written_as_text(run, folder):
    classes = np.array(["=cmd|' /C calc'!A0", "+", "-1"])
    x = np.arange(90) % 3
    frame = pd.DataFrame({"x": x + 0.01 * np.arange(90), "y": classes[x]})
    frame.to_csv(folder / "evil.csv", index=False)
    run("fit evil.csv --target y --method sklearn.tree.DecisionTreeClassifier")
    said = run("predict evil.skops evil.csv --proba")
    found = predictions(said)
    assert found["y"].tolist() == [
        f"'{classes[0]}" if k == 0 else classes[k] for k in x
    ]
    assert "start with an apostrophe" in said.err
    assert list(found) == ["y", *(f"y={label}" for label in sorted(classes))]


def test_a_class_that_commands_a_terminal_is_written_without_its_command(run, folder):
    """A file of text holds no such character; a stranger's model may."""
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], ["\x1b[31mred", "\x1b[31mred"])
    card = a_card(
        target="\x1b[2J", targets=["\x1b[2J"], estimator="DecisionTreeClassifier"
    )
    save_model(make_pipeline(model), folder / "evil.skops", card)
    (folder / "one.csv").write_text("a,z\n1,2\n")
    said = run("predict evil.skops one.csv")
    assert "red" in said.out and "\x1b" not in said.out + said.err


def test_an_ascii_terminal_takes_names_of_other_letters(folder):
    """Python of the C locale would not even read its own arguments."""
    frame = pd.DataFrame({"Größe": ["größer", "x"] * 30, "dose": np.arange(60) % 7})
    frame.to_csv(folder / "größe.csv", index=False)
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    script = "import sys; from adakern.cli import main; sys.exit(main())"

    def adakern(line, encoding):
        return subprocess.run(
            [sys.executable, "-c", script, *line.split()],
            cwd=folder,
            env=os.environ | ascii_only | {"PYTHONIOENCODING": encoding},
            capture_output=True,
        )

    method = "--method sklearn.naive_bayes.GaussianNB"
    fit = adakern(f"fit größe.csv --target Größe {method}", "ascii")
    assert fit.returncode == 0, fit.stderr
    assert b"'gr??e.skops'" in fit.stdout and not fit.stderr
    predict = adakern("predict größe.skops größe.csv", "ascii")
    assert predict.returncode == 1 and b"PYTHONIOENCODING=utf-8" in predict.stderr
    predict = adakern("predict größe.skops größe.csv", "utf-8")
    assert "größer" in predict.stdout.decode()


def test_a_threshold_is_chosen_by_fit_and_kept_in_the_file(run, folder):
    run("fit my.csv --target outcome --drop cost --preset fast --threshold f1")
    model = load_model(folder / "my.skops")[0]
    rows = pd.read_csv(folder / "new.csv", sep=";", decimal=",")
    second = model.predict_proba(rows)[:, 1] >= model[-1].threshold_
    assert model.predict(rows).tolist() == model.classes_[second.astype(int)].tolist()
    with pytest.raises(SystemExit, match="two classes and the default method"):
        cli.main(["fit", "my.csv", "--target", "cost", "--threshold", "f1"])
