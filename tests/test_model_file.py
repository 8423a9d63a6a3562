"""`adakern fit` and `adakern predict`: from a table to a model file to predictions."""

import functools
import json
import operator
import os
import re
import shutil
import signal
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
from joblib import cpu_count
from scipy.sparse import csr_matrix
from sklearn.base import is_classifier
from sklearn.cluster import KMeans
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import MiniBatchNMF
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
    VotingClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.kernel_approximation import PolynomialCountSketch
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    KNeighborsTransformer,
    LocalOutlierFactor,
    RadiusNeighborsClassifier,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, export_graphviz

from adakern import cli, left_out, model_contents, model_file
from adakern.adaptive import (
    MEMBERS,
    AdaptiveKernelClassifier,
    AdaptiveKernelRegressor,
)
from adakern.adaptive.members import REGISTRY
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
    """A table with categories, dates and missing values, and new rows."""
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
    """Run the command in the folder; returns its output."""
    monkeypatch.chdir(folder)

    def run(line):
        capsys.readouterr()
        assert cli.main(line.split()) == 0
        return capsys.readouterr()

    return run


@pytest.fixture
def ridge_file(run):
    """A model file that is written quickly."""
    run("fit my.csv --target cost --drop outcome --method sklearn.linear_model.Ridge")
    return "my.skops"


@pytest.fixture
def new_rows(folder):
    """New rows, read from their file."""
    return pd.read_csv(folder / "new.csv", sep=";", decimal=",")


def make_card(**facts):
    """A minimal card of a model."""
    card = {"target": "y", "kinds": {"a": "numeric"}, "forms": {}}
    return card | {"categories": {}, "versions": versions()} | facts


def read_predictions(printed):
    return pd.read_csv(StringIO(printed.out))


def test_regression_with_intervals_and_moved_file(run, new_rows, folder, tmp_path):
    settings = "--preset fast --group patient_id --minutes 5 --output a.skops"
    printed = run(f"fit my.csv --target cost --drop outcome {settings}")
    for text in (
        "On rows left out: R² 0.9",
        "member ",
        "Permutation importances",
        "a.skops new.csv",
    ):
        assert text in printed.out
    assert printed.out.count("member ") == 1  # the table is printed once
    printed = run("predict a.skops new.csv --interval 0.9")
    predicted = read_predictions(printed)
    assert list(predicted) == ["cost", "cost_low", "cost_high"]
    assert (predicted["cost_low"] <= predicted["cost_high"]).all() and len(
        predicted
    ) == 6
    model, card = load_model(shutil.move(folder / "a.skops", tmp_path / "b.skops"))
    np.testing.assert_allclose(model.predict(new_rows), predicted["cost"], rtol=1e-12)
    low, high = model.predict_interval(new_rows[new_rows.columns[::-1]], 0.9).T
    np.testing.assert_allclose([low, high], predicted[["cost_low", "cost_high"]].T)
    assert card["score"]["r2"] > 0.9 and card["versions"] == versions()
    assert card["kinds"]["dose"] == "numeric" and card["kinds"]["admitted"] == "date"
    assert card["categories"] == {"ward": ["north", "south"]}


def test_classification_with_probabilities_of_another_method(run):
    method = "--method sklearn.ensemble.RandomForestClassifier"
    printed = run(f"fit my.csv --target outcome --drop cost --time admitted {method}")
    assert (
        "On the 18 latest rows: accuracy" in printed.out
        and "largest class" in printed.out
    )
    predicted = read_predictions(run("predict my.skops new.csv --proba"))
    assert set(predicted["outcome"]) <= {"ill", "well"}
    np.testing.assert_allclose(
        predicted[["outcome=ill", "outcome=well"]].sum(axis=1), 1
    )


def test_method_is_written_as_python_expression(run):
    """As `adakern compare` prints its best method: nested, with parameters."""
    model = Pipeline(
        [("poly", PolynomialFeatures(2)), ("ridge", Ridge(alpha=np.float64(0.5)))]
    )
    text = written(model)
    assert '["ridge", sklearn.linear_model.Ridge(alpha=0.5)]' in text
    model = OneVsRestClassifier(
        LogisticRegression(class_weight={"a": 2, "b": 1}), n_jobs=2
    )
    for expression in (text, written(model)):
        assert written(model_file.estimator_of(expression)) == expression
    option = "--method sklearn.linear_model.Ridge(alpha=0.5)"
    run(f"fit my.csv --target cost --drop outcome {option}")
    pipeline = load_model("my.skops")[0]
    assert pipeline[-1].regressor_.alpha == 0.5
    # The target is standardised as in `adakern compare`.
    assert abs(pipeline[-1].regressor_.intercept_) < 1e-12


def test_rare_class_scores(capsys):
    """Computed by hand: 2 of 20 rows are positive, the first and
    third by probability.
    """
    p = np.array([0.6, 0.5, 0.4, *np.linspace(0.3, 0.01, 17)])
    y = pd.Series(["no"] * 20)
    y[[0, 2]] = "yes"
    shares = y.value_counts(normalize=True)
    scores = left_out.rare_class_scores(y, np.c_[1 - p, p], shares)
    assert scores["rare_class"] == "yes" and scores["rare_share"] == 0.1
    assert scores["average_precision"] == pytest.approx((1 + 2 / 3) / 2)
    # One of the first two rows is positive, one of two positive rows is found.
    assert (scores["threshold"], scores["precision"], scores["recall"]) == (
        0.5,
        0.5,
        0.5,
    )
    plain = {"accuracy": 0.9, "balanced_accuracy": 0.5, "largest_class": 0.9}
    left_out.print_score(
        {"of": "rows left out", "auc": 0.97, "brier": 0.1, **plain, **scores}
    )
    output = capsys.readouterr().out
    for text in ("the largest class alone: 90.0%", "ROC curve 97.0%", "Brier score"):
        assert text in output
    assert "'yes' (10.0% of the rows): average precision 83.3%" in output


def test_card_contains_groups_times_and_limits_of_use(tmp_path):
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
    # Errors of 1 in the north and 2 in the south, which has one row less.
    error = np.where(np.arange(19) % 2, 2.0, 1.0)
    rows = np.arange(19)
    errors = left_out.errors_by_category(table, rows, table.y.to_numpy()[:19] - error)
    assert errors["ward"]["north"] == {"rows": 10, "error": pytest.approx(1.0)}
    assert errors["ward"]["south"] == {"rows": 9, "error": pytest.approx(2.0)}
    assert list(errors["ward"]) == ["south", "north"]  # sorted by decreasing error
    assert errors["patient"]["0"] == {"rows": 4, "error": pytest.approx(2.5**0.5)}
    assert len(errors["patient"]) == 5


def test_large_errors_are_printed_without_decimals(capsys):
    left_out.print_score({"of": "rows left out", "r2": 0.5, "rmse": 48_012.3})
    assert "root mean squared error 48,010" in capsys.readouterr().out


def test_method_with_keyword_parameters_is_written():
    lightgbm = pytest.importorskip("lightgbm")
    expression = written(lightgbm.LGBMRegressor(max_cat_to_onehot=30))
    assert expression == "lightgbm.sklearn.LGBMRegressor(max_cat_to_onehot=30)"
    assert model_file.estimator_of(expression).get_params()["max_cat_to_onehot"] == 30


def test_boosting_gets_categories_and_missing_values(run, new_rows):
    method = "sklearn.ensemble.HistGradientBoostingRegressor(max_iter=3)"
    run(f"fit my.csv --target cost --drop outcome --method {method}")
    pipeline = load_model("my.skops")[0]
    assert list(pipeline.named_steps) == ["columns", "categories", "model"]
    transformed = pipeline[:-1].transform(new_rows)
    assert (transformed.dtypes == "category").any() and transformed.isna().any(
        axis=None
    )
    assert np.isfinite(pipeline.predict(new_rows)).all()


def test_too_short_time_limit_warns_and_latest_class_is_learned(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    outcome = [*rng.permutation(["up", "down"] * 15), "new", "new"]
    rows = {"day": range(32), "x": rng.normal(size=32), "outcome": outcome}
    pd.DataFrame(rows).to_csv("my.csv", index=False)
    options = "--target outcome --time day --keep day --minutes 1e-9 --preset fast"
    assert cli.main(["fit", "my.csv", *options.split()]) == 0
    printed = capsys.readouterr()
    assert "--minutes 1e-09 is over before the fit begins" in printed.err
    assert "On the 19 latest rows: accuracy" in printed.out
    model = load_model("my.skops")[0]
    assert model.classes_.tolist() == ["down", "new", "up"]
    # Only the last block has this class, but the model of all rows predicts it.
    new = model.predict_proba(pd.DataFrame({"day": [0, 31], "x": [0.0, 0.0]}))[:, 1]
    assert new[1] > new[0]


@pytest.mark.parametrize(
    ("line", "message"),
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
        ("fit my.csv --target cost --output my.csv/a/b", "is not a writable folder"),
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
def test_invalid_arguments_print_one_line(ridge_file, line, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(line.split())
    assert message in str(stopped.value.code) + capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.rename(columns={"dose": "doses"}), "Did you mean 'doses'?"),
        (lambda rows: rows.head(0), "no rows"),
        (lambda rows: rows.to_numpy(), "no column named 'dose', 'ward'"),
    ],
)
def test_new_rows_without_the_columns_of_the_model_raise(
    ridge_file, new_rows, change, message
):
    with pytest.raises(ModelFileError, match=re.escape(message)):
        load_model(ridge_file)[0].predict(change(new_rows))


def test_columns_of_other_types_are_refused_or_warn(ridge_file, new_rows, folder):
    many = pd.concat([new_rows] * 11).assign(dose="much")
    many.to_csv(folder / "text.csv", index=False)
    with pytest.raises(SystemExit, match="fitted on numbers"):
        cli.main(["predict", ridge_file, "text.csv"])
    new_rows["dose"] = new_rows["dose"].astype(str).where(new_rows.index > 0, "much")
    with pytest.warns(UserWarning, match="treated as missing"):
        load_model(ridge_file)[0].predict(new_rows)


def test_single_column_and_long_file_name(run, folder):
    name = "x" * 245
    frame = pd.DataFrame({"dose": np.arange(30) * 0.7, "cost": np.arange(30) * 1.4})
    frame.to_csv(folder / f"{name}.csv", index=False)
    frame[["dose"]].to_csv(folder / "dose.csv", index=False)
    printed = run(
        f"fit {name}.csv --target cost --method sklearn.linear_model.Ridge(alpha=1e-9)"
    )
    assert "30 rows, 1 feature, regression" in printed.out
    predicted = read_predictions(run(f"predict {name[:100]}.skops dose.csv"))
    np.testing.assert_allclose(predicted["cost"], frame["cost"], atol=1e-6)


def test_model_of_few_distinct_rows(run, folder, rng):
    """Its predictions for known rows use their targets."""
    cells = pd.DataFrame(rng.integers(0, 8, size=(600, 2)), columns=["a", "b"])
    cells["y"] = rng.normal(size=64)[8 * cells["a"] + cells["b"]] + 0.05 * rng.normal(
        size=600
    )
    cells.to_csv(folder / "cells.csv", index=False)
    run("fit cells.csv --target y --preset fast")
    model = load_model("cells.skops")[0]
    assert model[-1].equal_rows_.prior_rows_ < np.inf
    assert np.abs(model.predict(cells) - cells["y"]).max() < 0.5


def test_unknown_categories_are_predicted_with_warning(
    ridge_file, run, new_rows, folder
):
    new_rows.assign(ward="west").to_csv(folder / "west.csv", index=False)
    printed = run(f"predict {ridge_file} west.csv")
    assert "ward: the model does not know the category of 6 of 6" in printed.err
    assert read_predictions(printed)["cost"].notna().all()


def test_model_with_free_text(run, folder, rng):
    """The warning about a new category occurs once, also with intervals."""
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
    printed = run("fit notes.csv --target cost --preset fast")
    assert "text: 'note', read as character n-grams" in printed.out
    model, card = load_model("notes.skops")
    assert card["kinds"] == {"note": "text", "ward": "categorical"}
    assert model[-1].oof_score_ > 0.5
    new = frame.drop(columns="cost").assign(ward="z")
    new.to_csv(folder / "newer.csv", index=False)
    printed = run("predict notes.skops newer.csv --interval 0.9")
    assert printed.err.count("does not know the category of 80 of 80 rows") == 1
    np.testing.assert_allclose(read_predictions(printed)["cost"], model.predict(new))


@pytest.mark.parametrize(
    "line",
    [
        "predict my.skops new.csv",
        "fit my.csv --target cost --method sklearn.linear_model.Ridge --output 2.skops",
    ],
)
def test_closed_output_pipe_is_not_an_error(ridge_file, line):  # such as `| head -1`
    code = f"from adakern.cli import main; exit(main({line.split()}))"
    with Popen([sys.executable, "-c", code], stdout=PIPE, stderr=PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
    assert Path("2.skops").exists() == line.startswith("fit")


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_read_only_folder_is_refused_before_the_fit(run, folder, monkeypatch):
    monkeypatch.setattr(cli, "fit_table", None)  # not reached
    folder.chmod(0o500)
    try:
        with pytest.raises(SystemExit, match="is not a writable folder"):
            cli.main(["fit", "my.csv", "--target", "cost"])
    finally:
        folder.chmod(0o700)


def test_interrupted_fit_prints_one_line_and_keeps_the_existing_file(ridge_file):
    before = Path(ridge_file).read_bytes()
    code = "import sys; from adakern.cli import main; sys.exit(main())"
    command = [sys.executable, "-u", "-c", code, "fit", "my.csv", "--target", "cost"]
    with Popen(
        command,
        stdout=PIPE,
        stderr=PIPE,
        # Tests run by a shell in the background would ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        while not process.stdout.readline().startswith(b"Fitting"):
            pass
        process.send_signal(signal.SIGINT)
        _, error = process.communicate()
    assert process.returncode == 130
    assert error.split(b"\n")[1:] == [
        b"adakern fit: stopped; no incomplete file is left behind",
        b"",
    ]
    assert Path(ridge_file).read_bytes() == before
    assert not list(Path().glob(".my*"))


@pytest.mark.parametrize("name", MEMBERS)
def test_each_member_can_be_saved_and_loaded(name, tmp_path, rng):
    """For example, boosting with categories contains a function of scikit-learn."""
    X = pd.DataFrame({"dose": rng.normal(size=60), "ward": list("xyz") * 20})
    y = X["dose"] + (X["ward"] == "x")
    X["ward"] = X["ward"].astype("category")
    kind = AdaptiveKernelRegressor
    if not REGISTRY[name].regresses:
        kind, y = AdaptiveKernelClassifier, y > y.median()
    model = kind(members=[name], preset="fast", random_state=0)
    pipeline = make_pipeline(model).fit(X, y)
    save_model(pipeline, tmp_path / "m.skops", make_card())
    loaded, _ = load_model(tmp_path / "m.skops")
    np.testing.assert_allclose(loaded.predict(X), pipeline.predict(X), rtol=1e-10)


@pytest.mark.parametrize("field", ["left", "right", "feature_idx"])
def test_tree_with_invalid_node_index_is_refused(field, tmp_path):
    """scikit-learn would crash."""
    X = np.arange(60.0)[:, None]
    model = HistGradientBoostingRegressor(max_iter=1).fit(X, X[:, 0])
    model._predictors[0][0].nodes[field] = 2**31
    save_model(make_pipeline(model), tmp_path / "m.skops", make_card())
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
def test_damaged_card_is_refused(facts, tmp_path):
    save_model(make_pipeline(Ridge()), tmp_path / "m.skops", make_card(**facts))
    with pytest.raises(ModelFileError, match="not a complete model"):
        load_model(tmp_path / "m.skops")


#: Loads a model and prints its predictions; PyTorch cannot be imported.
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
def test_model_fitted_with_pytorch_is_loaded_without_it(model, tmp_path):
    torch = pytest.importorskip("torch")
    X = np.random.default_rng(0).normal(size=(40, 3))
    model.fit(torch.tensor(X), X[:, 0] ** 2)
    expected = model.predict(torch.tensor(X)).numpy()
    save_model(make_pipeline(model), tmp_path / "m.skops", make_card())
    command = [sys.executable, "-c", WITHOUT_TORCH, str(tmp_path / "m.skops")]
    predicted = json.loads(subprocess.check_output(command))
    # NumPy sums in another order, so results differ by rounding.
    np.testing.assert_allclose(predicted, expected, rtol=1e-9, atol=1e-9)
    # The fitted model itself keeps its tensors.
    assert isinstance(model.predict(torch.tensor(X)), torch.Tensor)


def test_written_file_that_cannot_be_loaded_is_an_error(run, monkeypatch):
    def refuse(*_, **__):
        raise ModelFileError("it is refused")

    monkeypatch.setattr(model_file, "load_model", refuse)
    method = "--method sklearn.linear_model.Ridge --output unread.skops"
    with pytest.raises(
        SystemExit, match=r"unread\.skops cannot be used: it is refused"
    ):
        run(f"fit my.csv --target cost --drop outcome {method}")


#: Models with functions that open files, import modules or run programs.
DANGEROUS = {
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


@pytest.mark.parametrize("case", DANGEROUS)
def test_dangerous_functions_are_refused_even_if_trusted(case, tmp_path):
    """A foreign model could execute them and reveal the result in its predictions."""
    try:
        save_model(DANGEROUS[case], tmp_path / "m.skops", make_card())
    except ModelFileError:
        return  # skops does not save it
    with zipfile.ZipFile(tmp_path / "m.skops") as archive:
        names = re.findall(r'"__module__": "([^"]*)"', str(archive.read("schema.json")))
    trust = [*skops.io.get_untrusted_types(file=tmp_path / "m.skops"), *names]
    for trusted in ((), trust):
        with pytest.raises(ModelFileError, match="even with --trust"):
            load_model(tmp_path / "m.skops", trust=trusted)


def test_types_of_dictionary_keys_are_restricted(tmp_path):
    """A key is created by calling its type, so numpy.load would be called."""
    save_model(make_pipeline(Ridge()), tmp_path / "m.skops", make_card())
    for name in ("load", "fromfile", "memmap", "ndarray"):
        changed = altered(
            tmp_path / "m.skops",
            lambda schema, name=name: schema["content"]["key_types"]["content"][
                0
            ].update(__module__="numpy", __class__=name),
        )
        with pytest.raises(ModelFileError, match=rf"numpy\.{name}"):
            load_model(changed)


def test_bit_generators_and_losses_are_restricted(tmp_path):
    """Their names are strings in the file: numpy.random.seed would be called."""
    model = fit_boosting()
    model.loss_of_another = fit_estimator(SGDClassifier)
    save_model(make_pipeline(model), tmp_path / "m.skops", make_card())

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


def test_type_of_another_package_is_loaded_if_trusted(tmp_path):
    pytest.importorskip("lightgbm")
    from lightgbm import LGBMRegressor

    model = make_pipeline(LGBMRegressor(n_estimators=1, verbose=-1))
    X = np.arange(60.0)[:, None]
    try:
        save_model(model.fit(X, X[:, 0]), tmp_path / "m.skops", make_card())
    except ModelFileError:
        pytest.skip("skops does not write it")
    with pytest.raises(ModelFileError, match=r"--trust \S*lightgbm"):
        load_model(tmp_path / "m.skops")
    trust = skops.io.get_untrusted_types(file=tmp_path / "m.skops")
    load_model(tmp_path / "m.skops", trust=trust)


def fit_estimator(kind, **params):
    """An estimator fitted to sixty rows of three columns."""
    X = np.random.default_rng(0).uniform(size=(60, 3))
    y = (3 * X[:, 0]).astype(int) if is_classifier(kind()) else X[:, 0]
    return kind(**params).fit(X, y)


def fit_boosting():
    """Boosting with a categorical column."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=200), rng.integers(0, 5, size=200)])
    y = X[:, 0] + (X[:, 1] == 2)
    model = HistGradientBoostingRegressor(max_iter=2, categorical_features=[1])
    return model.fit(X, y)


def with_attribute(model, name, value):
    """The model with another value of an attribute, given by its dotted name."""
    *path, last = name.split(".")
    part = model
    for step in path:
        part = part[int(step)] if step.isdigit() else getattr(part, step)
    if last.isdigit():
        part[int(last)] = value
    else:
        setattr(part, last, value)
    return model


def fit_small_ensemble(kind):
    """A fitted ensemble of two trees."""
    return fit_estimator(kind, n_estimators=2, random_state=0)


#: Models with inconsistent sizes or indices, which compiled code would use.
INCONSISTENT = {
    "width of a tree": lambda: with_attribute(
        fit_small_ensemble(RandomForestRegressor), "estimators_.0.n_features_in_", 9
    ),
    "width of a forest": lambda: with_attribute(
        fit_small_ensemble(RandomForestRegressor), "n_features_in_", 2
    ),
    "classes of a tree": lambda: with_attribute(
        fit_small_ensemble(RandomForestClassifier), "estimators_.0.n_classes_", 2
    ),
    "no tree": lambda: with_attribute(
        fit_small_ensemble(RandomForestRegressor), "estimators_.1", Ridge()
    ),
    "columns of boosting": lambda: with_attribute(
        fit_small_ensemble(GradientBoostingClassifier), "n_trees_per_iteration_", 1
    ),
    "width of boosting": lambda: with_attribute(fit_boosting(), "n_features_in_", 1),
    "categories beyond the bits": lambda: with_attribute(
        fit_boosting(), "_bin_mapper.bin_thresholds_.0", np.array([1e6])
    ),
    "map of categories": lambda: with_attribute(
        fit_boosting(), "_bin_mapper.is_categorical_", np.zeros(2, dtype=np.uint8)
    ),
    "preprocessor": lambda: with_attribute(
        fit_boosting(),
        "_preprocessor",
        FunctionTransformer(kw_args={"kinds": {}, "forms": {}}),
    ),
    "columns of indicators": lambda: with_attribute(
        OneHotEncoder().fit([[0], [1]]), "_n_features_outs", [1]
    ),
    "support vectors": lambda: with_attribute(
        fit_estimator(SVC), "_n_support", np.array([9999, 1, 1], dtype=np.int32)
    ),
    "coefficients": lambda: with_attribute(
        fit_estimator(SVR), "_dual_coef_", np.zeros((1, 2))
    ),
    "centres": lambda: with_attribute(
        fit_estimator(KMeans), "cluster_centers_", np.zeros((8, 2))
    ),
    "neighbours": lambda: with_attribute(
        fit_estimator(KNeighborsRegressor, algorithm="brute"),
        "_fit_X",
        np.zeros((60, 2)),
    ),
    "classes of neighbours": lambda: with_attribute(
        fit_estimator(KNeighborsClassifier, algorithm="brute", metric="manhattan"),
        "_y",
        np.full(60, 10**9),
    ),
    "number of neighbours' classes": lambda: with_attribute(
        fit_estimator(RadiusNeighborsClassifier, algorithm="brute"),
        "_y",
        np.zeros(1, int),
    ),
    "metric": lambda: with_attribute(
        fit_estimator(KNeighborsRegressor, algorithm="brute", metric="mahalanobis"),
        "effective_metric_params_",
        {"VI": np.ones((1, 1))},
    ),
    "metric of the parameters": lambda: with_attribute(
        fit_estimator(KNeighborsClassifier, algorithm="brute"),
        "metric_params",
        {"V": np.ones(1)},
    ),
    "start of boosting": lambda: with_attribute(
        fit_small_ensemble(GradientBoostingClassifier),
        "init_",
        fit_estimator(DummyClassifier).fit([[0.0], [0.0]], [0, 1]),
    ),
    "start of one row": lambda: with_attribute(
        fit_small_ensemble(GradientBoostingRegressor),
        "init_",
        make_pipeline(
            FunctionTransformer(np.mean, kw_args={"axis": 0, "keepdims": True}),
            fit_estimator(DummyRegressor),
        ),
    ),
    "method of the start": lambda: with_attribute(
        with_attribute(
            fit_small_ensemble(GradientBoostingRegressor),
            "init_",
            fit_estimator(DummyRegressor),
        ),
        "init_.predict",
        functools.partial(np.mean, axis=0),
    ),
    "trees in a preprocessor": lambda: with_attribute(
        fit_boosting(),
        "_preprocessor",
        with_attribute(
            RandomTreesEmbedding(n_estimators=1).fit(np.eye(2)),
            "estimators_.0.tree_.children_left.0",
            10**9,
        ),
    ),
    "cells without a size": lambda: with_attribute(
        fit_estimator(KNeighborsClassifier), "classes_", np.zeros(9, "V0")
    ),
    "outputs of a forest": lambda: with_attribute(
        fit_small_ensemble(RandomForestRegressor), "n_outputs_", 2**28
    ),
    "outputs of a constant": lambda: with_attribute(
        fit_estimator(DummyRegressor), "n_outputs_", 2**28
    ),
    "codes of a vote": lambda: with_attribute(
        with_attribute(
            fit_estimator(partial(VotingClassifier, [("a", DecisionTreeClassifier())])),
            "estimators_.0.classes_",
            np.array([0, 1, 2**31 - 1]),
        ),
        "named_estimators_",  # as fitted, it cannot be loaded
        {},
    ),
    "products": lambda: with_attribute(
        PolynomialFeatures().fit(np.eye(3)), "_n_out_full", 2**28
    ),
    "hashed products": lambda: with_attribute(
        PolynomialCountSketch().fit(np.eye(3)), "degree", 2**28
    ),
    "factors": lambda: with_attribute(
        MiniBatchNMF(n_components=2).fit(np.eye(3)), "_n_components", 2**28
    ),
    "number of neighbours' rows": lambda: with_attribute(
        KNeighborsTransformer().fit(np.eye(6)), "n_samples_fit_", 2**28
    ),
    "no neighbours": lambda: with_attribute(
        with_attribute(
            LocalOutlierFactor(n_neighbors=2, novelty=True).fit(np.eye(6)),
            "_fit_X",
            np.zeros((0, 6)),
        ),
        "n_samples_fit_",
        0,
    ),
    "cache": lambda: Pipeline([("ridge", fit_estimator(Ridge))], memory="/tmp"),
}


@pytest.mark.parametrize("case", INCONSISTENT)
def test_inconsistent_parts_are_refused(case, tmp_path):
    """scikit-learn would read outside its arrays; in some cases the process crashes."""
    save_model(make_pipeline(INCONSISTENT[case]()), tmp_path / "m.skops", make_card())
    with pytest.raises(ModelFileError, match="not a complete model"):
        load_model(tmp_path / "m.skops")


@pytest.mark.parametrize("kind", ["KDTree", "BallTree", "EuclideanDistance64"])
def test_compiled_objects_with_invalid_state_are_refused(kind, tmp_path):
    """scikit-learn restores them from a tuple without checking its length."""
    algorithm = "ball_tree" if kind == "BallTree" else "kd_tree"
    model = fit_estimator(KNeighborsRegressor, algorithm=algorithm)
    save_model(make_pipeline(model), tmp_path / "m.skops", make_card())
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


def test_sizes_are_compared_before_allocation(tmp_path):
    save_model(
        make_pipeline(fit_small_ensemble(RandomForestRegressor)),
        tmp_path / "m.skops",
        make_card(),
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
    shutil.copy(tmp_path / "m.skops", large)
    with zipfile.ZipFile(large, "a", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("zeros.npy", bytes(2**20))
    with pytest.raises(ModelFileError, match="compressed, and not by deflate"):
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


def test_large_json_is_refused_before_parsing(tmp_path):
    """Each empty list takes more than a hundred bytes, and next to none in the file."""
    save_model(make_pipeline(fit_estimator(Ridge)), tmp_path / "m.skops", make_card())
    for name in ("schema.json", model_file.CARD):
        with zipfile.ZipFile(tmp_path / "m.skops") as archive:
            parts = {part: archive.read(part) for part in archive.namelist()}
        parts[name] = b"[" + b"[]," * 600_000 + b"[]]"
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for part, content in parts.items():
                archive.writestr(part, content)
        with pytest.raises(ModelFileError, match=r"has 1,200,002 values, too many"):
            load_model(tmp_path / name)


def test_threads_are_limited_to_those_of_the_computer(tmp_path):
    forest = fit_small_ensemble(RandomForestRegressor).set_params(n_jobs=2**31 - 1)
    centres = with_attribute(fit_estimator(KMeans), "_n_threads", 2**31 - 1)
    for model in (forest, centres):
        save_model(make_pipeline(model), tmp_path / "m.skops", make_card())
        loaded = load_model(tmp_path / "m.skops")[0][-1]
        used = {"n_jobs": 1, "_n_threads": 1} | vars(loaded)
        assert {used["n_jobs"], used["_n_threads"]} <= {1, None, cpu_count()}


def test_model_without_card_raises(tmp_path):
    skops.io.dump(Ridge().fit([[0.0], [1.0]], [0.0, 1.0]), tmp_path / "other.skops")
    with pytest.raises(ModelFileError, match=r"no item named 'card\.json'"):
        load_model(tmp_path / "other.skops")


def test_file_is_checked_before_loading(ridge_file, tmp_path):
    model, card = load_model(ridge_file)
    bank = EasyMKL().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    save_model(
        make_pipeline(bank), tmp_path / "bank.skops", card
    )  # contains a bound method
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
    with zipfile.ZipFile(ridge_file) as archive:
        assert json.loads(archive.read(model_file.CARD)) == card


MODELS = sorted((Path(__file__).parent / "models").glob("*.skops"))


@pytest.mark.filterwarnings("ignore:.*was written with")
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_file_of_earlier_version_predicts_the_same(path):
    """Written by tools/keep_model.py; digits may differ with newer packages."""
    stored = json.loads(path.with_suffix(".json").read_text())
    model, card = load_model(path)
    assert path.stem.startswith(card["versions"]["adakern"])
    predicted = model.predict(pd.DataFrame(stored["rows"]))
    np.testing.assert_allclose(predicted, stored["predicted"], rtol=1e-6)


def test_files_of_this_version_are_stored():
    assert {"0.1.0-adaptive", "0.1.0-dank"} <= {path.stem for path in MODELS}


def test_class_names_are_not_spreadsheet_formulas(run, folder):
    classes = np.array(["=cmd|' /C calc'!A0", "+", "-1"])
    x = np.arange(90) % 3
    frame = pd.DataFrame({"x": x + 0.01 * np.arange(90), "y": classes[x]})
    frame.to_csv(folder / "evil.csv", index=False)
    run("fit evil.csv --target y --method sklearn.tree.DecisionTreeClassifier")
    printed = run("predict evil.skops evil.csv --proba")
    predicted = read_predictions(printed)
    assert predicted["y"].tolist() == [
        f"'{classes[0]}" if k == 0 else classes[k] for k in x
    ]
    assert "start with an apostrophe" in printed.err
    assert list(predicted) == ["y", *(f"y={label}" for label in sorted(classes))]


def test_control_characters_of_class_names_are_removed(run, folder):
    """Text files cannot contain them, but a foreign model can."""
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], ["\x1b[31mred", "\x1b[31mred"])
    card = make_card(
        target="\x1b[2J", targets=["\x1b[2J"], estimator="DecisionTreeClassifier"
    )
    save_model(make_pipeline(model), folder / "evil.skops", card)
    (folder / "one.csv").write_text("a,z\n1,2\n")
    printed = run("predict evil.skops one.csv")
    assert "red" in printed.out and "\x1b" not in printed.out + printed.err


def test_names_of_files_are_neither_options_nor_commands(run, folder):
    """Also in the command that `fit` prints."""
    name = "--trust=\x1b[31m\u202ex"
    (folder / f"{name}.csv").write_text((folder / "my.csv").read_text())
    method = "--method sklearn.linear_model.Ridge"
    printed = run(f"fit ./{name}.csv --target cost --drop outcome {method}")
    assert "\x1b" not in printed.out and "\u202e" not in printed.out
    assert re.search(r"adakern predict '\./--trust=.*x\.skops' new", printed.out)
    assert (folder / f"{name}.skops").is_file()
    for line in (f"predict my.csv {name}.csv new.csv", f"fit new.csv --x{name}"):
        with pytest.raises(SystemExit) as stopped:
            cli.main(line.split())
        assert "\x1b" not in str(stopped.value.code)


def test_non_ascii_names_on_ascii_terminal(folder):
    """With the C locale, Python could not even decode its arguments."""
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


def test_threshold_option_is_stored_in_the_file(run, folder):
    run("fit my.csv --target outcome --drop cost --preset fast --threshold f1")
    model = load_model(folder / "my.skops")[0]
    rows = pd.read_csv(folder / "new.csv", sep=";", decimal=",")
    second = model.predict_proba(rows)[:, 1] >= model[-1].threshold_
    assert model.predict(rows).tolist() == model.classes_[second.astype(int)].tolist()
    with pytest.raises(SystemExit, match="two classes and the default method"):
        cli.main(["fit", "my.csv", "--target", "cost", "--threshold", "f1"])
