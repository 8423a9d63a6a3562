"""`adakern compare` on a user's own file."""

import argparse
import io
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import mlflow
import numpy as np
import pandas as pd
import pytest
import yaml

from adakern import cli
from adakern._utils.dotted import resolve
from adakern.datasets import read_table
from adakern.model_file import estimator_of, load_model, written
from adakern_bench.base.paths import CONF
from adakern_bench.cli import compare as compare_module
from adakern_bench.cli.choose import choose, slowness
from adakern_bench.cli.compare import adopt, comparison_of
from adakern_bench.cli.main import main
from adakern_bench.config.compose import ConfigError, load_config
from adakern_bench.config.entry import check_entry
from adakern_bench.config.plan import load_plan
from adakern_bench.config.recipes import method_named
from adakern_bench.config.schema import Method, Recipe
from adakern_bench.data.parsers import parse
from adakern_bench.data.table import Table
from adakern_bench.records.split import load_split
from adakern_bench.report.use import model_lines, out_of_time
from mirror import read_entry

REPOSITORY = Path(__file__).resolve().parents[2]
RIDGE = {"_target_": "sklearn.linear_model.Ridge"}
QUICK = ["method=[svm-cv,krr-cv]", "protocol.repeats=2", "search.step=5"]


def make_study(n=80):
    rng = np.random.default_rng(0)
    dose, ward = rng.normal(size=n), rng.choice(["north", "south"], size=n)
    frame = pd.DataFrame(
        {"dose": dose, "ward": ward, "outcome": np.where(dose > 0, "ill", "well")}
    )
    frame.loc[4, "dose"] = np.nan
    return frame


@pytest.fixture
def project_and_file(project, tmp_path_factory):
    """A project in which the command runs, and a file outside it."""
    path = tmp_path_factory.mktemp("own") / "My study.csv"
    make_study().to_csv(path)
    return project, path


def test_compare_writes_a_report_and_parses_once(project_and_file):
    project, path = project_and_file
    calls = project.count(
        "adakern.tables.files.cells_of_file",
        "adakern_bench.config.compose.load_config",
        "adakern_bench.config.validate.validate",
        "adakern_bench.records.read.read_records",
    )
    command = [
        "compare",
        str(path),
        "--target",
        "outcome",
        "--cores",
        "2",
        "--minutes",
        "30",
    ]
    output = project.adakern(*command, *QUICK, "tracking.enabled=false").stdout
    # Each is called once in all processes from the file to the report.
    assert sorted(calls.read_text().split()) == [
        "cells_of_file",
        "load_config",
        "read_records",
        "validate",
    ]
    assert re.search(r"The first repeat took .*: 2 repeats in all", output)
    assert "80 rows, 2 features, classification of 'outcome'" in output
    assert "dropped 'Unnamed: 0': it numbers the rows" in output
    assert "Written to conf/dataset/my-my-study.yaml" in output
    assert "only svm-cv was run" in output  # krr-cv is only for regression
    results = project.root / "results" / "my-my-study"
    assert (results / "report.html").as_uri() in output
    assert "My study.csv" in (results / "report.html").read_text()
    records = pd.read_parquet(results / "records.parquet")
    assert (records["status"] == "ok").all() and len(records) == 2
    assert len([*results.glob("records/*/svm-cv/?-?.json")]) == 2  # one job per repeat
    again = project.adakern("show", "my-my-study", *QUICK).stdout
    assert (results / "report.html").as_uri() in again


@pytest.mark.long
def test_make_run_on_a_file_and_printed_commands(project_and_file, tmp_path):
    """``make run DATA=... TARGET=...``, then the commands that it prints."""
    project, path = project_and_file
    shutil.copy(REPOSITORY / "Makefile", project.root)
    methods = "method=[krr-cv,linear] protocol.repeats=2 search.step=5"
    command = [
        *("make", "--no-print-directory", f"BIN={Path(sys.executable).parent}"),
        *("-o", ".venv/workflow.done"),
        *("run", f"DATA={path}", "TARGET=dose", "CORES=2"),
        f"OVERRIDES={methods} tracking.models=true tracking.uri=sqlite:///mlflow.db "
        "tracking.register=dose",
    ]
    run_output = subprocess.run(
        command,
        cwd=project.root,
        env=project.environment,
        text=True,
        capture_output=True,
    )
    assert run_output.returncode == 0, run_output.stdout + run_output.stderr
    fit, predict = (shlex.split(line) for line in run_output.stdout.splitlines()[-2:])
    assert fit[:3] == ["adakern", "fit", str(path)] and "--method" in fit
    page = (project.root / "results" / "my-my-study" / "report.html").read_text()
    assert "adakern fit data/raw/my-my-study/My-study.csv --target dose" in page

    new = make_study(7).drop(columns=["dose"])
    new.to_csv(project.root / "new.csv", index=False)
    assert "Written to my-study.skops" in project.adakern(*fit[1:]).stdout
    output = project.adakern(*predict[1 : predict.index(">")]).stdout
    predicted = pd.read_csv(io.StringIO(output))["dose"]
    moved = shutil.move(project.root / "my-study.skops", tmp_path / "moved.skops")
    np.testing.assert_allclose(load_model(moved)[0].predict(new), predicted, rtol=1e-12)

    client = mlflow.MlflowClient(f"sqlite:///{project.root}/mlflow.db")
    (version,) = client.search_model_versions("name = 'dose'")
    run = client.get_run(version.run_id).data
    assert run.tags["repeat"] == "0" and run.tags["method"] in version.description
    assert float(version.tags["test/rmse"]) == pytest.approx(run.metrics["test/rmse"])
    champion = client.get_model_version_by_alias("dose", "champion")
    assert champion.version == version.version

    # As `mlflow ui` serves them, but without the server.
    models = sorted(project.root.glob("mlartifacts/my-my-study/models/*/artifacts"))
    assert len(models) == 4  # two repeats of two methods
    for folder in models:
        served = mlflow.pyfunc.load_model(str(folder))
        assert {"ward", "outcome"} <= {
            *served.metadata.get_input_schema().input_names()
        }
        served_predictions = served.predict(new)
        assert np.abs(served_predictions - predicted).max() < 1.0
        loaded = mlflow.sklearn.load_model(
            shutil.copytree(folder, tmp_path / "a" / folder.parts[-2])
        )
        np.testing.assert_array_equal(loaded.predict(new), served_predictions)


def check_scores_of_two_targets(project, table, output):
    """For a method that supports several targets, and for one fitted to each."""
    assert table.targets == ["y", "far"] and table.y.shape == (118, 2)
    records = [
        record
        for method in ("krr-cv", "svr-cv")
        for record in project.records("my-my-study", method, "my-my-study")
    ]
    assert len(records) == 4
    for record in records:
        assert record["status"] == "ok", record["reason"]
        scores = [record["targets"][name]["r2"] for name in table.targets]
        assert scores[0] > 0.8 > 0.2 > scores[1]
        assert record["metrics"]["test"]["r2"] == pytest.approx(np.mean(scores))
        assert {*record["best_params"]} <= {"C", "alpha", "epsilon", "gamma"}
    page = (project.root / "results" / "my-my-study" / "report.html").read_text()
    assert "R² of each target of my-my-study" in page
    assert "Several targets (my-my-study)" in page
    assert "Target &#39;y&#39;, the first of 2" in page
    assert "--target y,far" in output and "--target y,far" in page


@pytest.mark.parametrize("kind", ["group-holdout", "time"])
def test_split_follows_groups_or_times(project_and_file, kind):
    """A panel of 12 people on 10 days, with rows in random order."""
    project, path = project_and_file
    rng = np.random.default_rng(1)
    days = pd.date_range("2024-01-25", periods=10).strftime("%d.%m.%Y")
    panel = pd.DataFrame({"patient": np.repeat(np.arange(12) + 300, 10)})
    panel["day"], panel["x"] = np.tile(days, 12), rng.normal(size=120)
    panel["y"] = panel["x"] + 0.1 * rng.normal(size=120)
    target = "y"
    options = []
    if kind == "time":  # and two targets with different units and missing values
        target = "y,far"
        panel["far"] = 1e6 * rng.normal(size=120)
        panel.loc[[3, 50], "far"] = np.nan
        options = ["--time", "day", "--metric", "r2", "method=[krr-cv,svr-cv]"]
    panel.sample(frac=1, random_state=0).to_csv(path, index=False)
    command = [
        "compare",
        str(path),
        "--target",
        target,
        "--cores",
        "2",
        *QUICK,
        *options,
    ]
    output = project.adakern(*command, "tracking.enabled=false").stdout
    assert (
        "Regression: R²," if options else "Regression: Root mean squared error,"
    ) in output
    table = Table.load(project.root / "data" / "tables" / "my-my-study.npz")
    assert table.feature_names == ["day", "x"]
    if kind == "time":
        check_scores_of_two_targets(project, table, output)
    (split,) = project.root.glob("results/my-my-study/**/my-my-study.npz")
    sides = table.X[:, 0] if kind == "time" else table.groups
    for repeat in range(2):
        train, test = load_split(split, repeat)
        if kind == "time":
            assert sides[train].max() <= sides[test].min()
        else:
            assert not set(sides[train]) & set(sides[test])


def adopt_and_load(path, root, **options):
    overrides = adopt(path, options.pop("target", "outcome"), root, **options)
    entry = root / "conf" / "dataset" / f"{overrides[1].removeprefix('name=')}.yaml"
    return overrides, yaml.safe_load(entry.read_text()), entry


@pytest.fixture
def root_and_file(tmp_path):
    """A folder for entries, and a file outside it."""
    (tmp_path / "root" / "conf" / "dataset").mkdir(parents=True)
    make_study().to_csv(tmp_path / "my.csv", index=False)
    return tmp_path / "root", tmp_path / "my.csv"


def test_adopt_again_with_other_options(root_and_file, capsys):
    root, path = root_and_file
    _, entry, _ = adopt_and_load(path, root)
    assert "drop" not in entry
    columns = root / "data" / "raw" / "my-my" / "how_columns_were_read.csv"
    roles = pd.read_csv(columns).set_index("column")["use"]
    assert roles["outcome"].startswith("target") and roles["ward"] == "feature"
    _, again, file = adopt_and_load(path, root)
    assert again == entry and "Using conf/dataset/" in capsys.readouterr().out
    _, entry, _ = adopt_and_load(path, root, drop=["ward"])
    assert (
        entry["drop"] == ["ward"]
        and "--drop ward (it was not given)" in capsys.readouterr().out
    )
    overrides, entry, _ = adopt_and_load(path, root, group="ward")
    assert entry["groups"] == "ward" and "protocol.kind=group-holdout" in overrides
    file.write_text(file.read_text().replace("title: my.csv", "title: Mine"))
    with pytest.raises(ConfigError, match="was edited, and this call has --group not"):
        adopt_and_load(path, root)
    _, entry, _ = adopt_and_load(path, root, group="ward")
    assert entry["title"] == "Mine" and not columns.exists()
    _, entry, _ = adopt_and_load(path, root, again=True)
    assert entry["title"] == "my.csv" and "groups" not in entry and columns.exists()
    with pytest.raises(
        ConfigError, match=r"another column, .* --target dose \(it was outcome"
    ):
        adopt_and_load(path, root, target="dose")


def parse_printed_command(entry, root, path):
    """Arguments of the `adakern fit` command that a comparison prints."""
    recipe = {"estimator": RIDGE}
    config = {
        "dataset": {"my-my": asdict(entry)},
        "method": {"ridge": {"regressor": recipe, "classifier": recipe}},
    }
    (root / "ranks.csv").write_text("method\nridge\n")
    run = {"dataset": "my-my", "method": "ridge", "status": "ok", "chosen": "{}"}
    pd.DataFrame([run]).to_parquet(root / "records.parquet")
    fit, _ = model_lines(root, config, path)
    parser = argparse.ArgumentParser()
    commands = cli.add_commands(parser.add_subparsers())
    return cli.parsed(parser, commands, shlex.split(fit)[1:])


def test_keep_and_form_options_agree_in_all_interfaces(root_and_file, capsys):
    """read_table, the entry and the printed command give the same table."""
    root, path = root_and_file
    days = [f"{1 + k % 12:02d}/{1 + k % 11:02d}/2020" for k in range(60)]
    rows = [f"{day};{k + 1}.{100 + k};{'ab'[k % 2]};{k}" for k, day in enumerate(days)]
    lines = ["day;price;size;y", *rows, "03/04/2021;7.125;media;9"]
    path.write_text("\n".join(lines) + "\n")
    first = read_table(path, "y")
    assert (len(first.y), first.X["price"].max()) == (60, 60159.0)
    options = {"keep": ["rows:totals"], "form": {"day": "%m/%d/%Y", "price": "."}}
    table = read_table(path, "y", **options)
    assert (len(table.y), table.X["price"].iloc[-1]) == (61, 7.125)
    assert table.X["day"].iloc[-1] == pd.Timestamp("2021-03-04")
    _, settings, file = adopt_and_load(path, root, target="y", **options)
    output = capsys.readouterr().out
    assert "day" in output and "%m/%d/%Y" in output  # how each column was read
    assert settings["keep"] == ["rows:totals"] and settings["form"] == options["form"]
    entry = read_entry(file)
    assert not check_entry("my-my", entry)
    frame = parse(path.read_bytes(), entry, entry.files[0])
    pd.testing.assert_frame_equal(frame[list(table.X)], table.X)
    arguments = parse_printed_command(entry, root, path)
    again = read_table(path, arguments.target, **cli.named_columns(arguments))
    pd.testing.assert_frame_equal(again.X, table.X)


@pytest.mark.parametrize("target", ["-2", "2.0", "=", "$y"])
def test_printed_command_names_columns_given_by_position(root_and_file, target):
    """Other columns have these positions as names, and the header looks like data."""
    root, path = root_and_file
    frame = make_study().rename(columns={"outcome": target})
    names = [str(i) for i in range(1, frame.shape[1])]
    others = [name for name in frame if name != target]
    frame = frame.rename(columns=dict(zip(others, names, strict=True)))
    frame.to_csv(path, index=False)
    _, _, file = adopt_and_load(path, root, target=target)
    entry = read_entry(file)
    assert isinstance(entry.target, int)
    entry.form = {0: "."}  # as a user may write it
    arguments = parse_printed_command(entry, root, path)
    assert arguments.form == [("1", ".")]
    table = read_table(path, arguments.target, **cli.named_columns(arguments))
    assert table.y.name == target and not set(table.X) - set(names)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": {"dose": ",kg"}}, "no cell of the form ',kg', but cells such as"),
        ({"form": {"dose": "%Q"}}, "no cell of the form '%Q'"),
        ({"form": {"dose": "%d%d"}}, "no cell of the form '%d%d'"),
        ({"form": {"dos": "."}}, "Did you mean 'dose'"),
        ({"form": {"dose": "."}, "categorical": ["dose"]}, "a form and be categorical"),
        ({"keep": ["rows:total"]}, "no column 'rows:total'"),
    ],
)
def test_invalid_form_or_keep_raises(root_and_file, options, message):
    root, path = root_and_file
    with pytest.raises(ConfigError, match=message):
        adopt_and_load(path, root, **options)
    with pytest.raises(SystemExit):
        main(["compare", str(path), "--target", "outcome", "--form", "dose"])


def test_files_with_equal_names_are_different_tables(root_and_file, capsys):
    """In other folders and scripts; a copy with the same rows is the same table."""
    root, path = root_and_file
    names = {}
    for k, relative in enumerate(
        ["a/train.csv", "b/train.csv", "c/b/train.csv", "a/データ.csv", "a/売上.csv"]
    ):
        file = path.parent / relative
        file.parent.mkdir(parents=True, exist_ok=True)
        make_study(80 + k).to_csv(file, index=False)
        names[relative] = adopt_and_load(file, root)[0][1]
    assert len(set(names.values())) == len(names)
    assert "my-train is the table of" in capsys.readouterr().out
    for relative, name in names.items():
        overrides, entry, _ = adopt_and_load(path.parent / relative, root)
        assert overrides[1] == name
        kept = root / "data" / "raw" / entry["files"][0]["path"]
        assert kept.read_bytes() == (path.parent / relative).read_bytes()
    make_study(80).to_csv(path.parent / "train.csv", index=False)
    assert adopt_and_load(path.parent / "train.csv", root)[0][1] == names["a/train.csv"]


def test_changed_file_is_reported_and_read(root_and_file, capsys):
    root, path = root_and_file
    adopt_and_load(path, root)
    make_study(90).to_csv(path, index=False)
    _, entry, file = adopt_and_load(path, root)
    assert entry["n"] == 90 and "has changed" in capsys.readouterr().out
    copy = root / "data" / "raw" / "my-my" / "my.csv"
    assert copy.read_bytes() == path.read_bytes()
    file.write_text(file.read_text().replace("title: my.csv", "title: Mine"))
    make_study(70).to_csv(path, index=False)
    _, entry, _ = adopt_and_load(path, root)
    assert entry["title"] == "Mine" and "n" not in entry
    assert "was edited and is kept" in capsys.readouterr().out
    adopt_and_load(path, root)
    assert "has changed" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "name", ["x" * 245 + ".csv", "${oc.env:HOME}.csv", "???", "é ü.csv"]
)
def test_unusual_file_names(root_and_file, name):
    root, path = root_and_file
    path = path.rename(path.with_name(name))
    overrides, entry, file = adopt_and_load(path, root)
    text = file.read_text(encoding="utf-8")
    assert len(file.name) < 100 and "${" not in text and "???" not in text
    assert (root / "data" / "raw" / entry["files"][0]["path"]).is_file()
    assert comparison_of(file.stem, root) == overrides
    assert re.fullmatch(r"name=my-[a-z0-9-]+", overrides[1])


def test_methods_get_the_columns_they_support(root_and_file):
    root, path = root_and_file
    shutil.copytree(CONF, root / "conf", dirs_exist_ok=True)
    methods = "method=[adaptive,boosting-default,lightgbm-default,krr-cv]"
    plan = load_plan([*adopt(path, "outcome", root), methods], conf=root / "conf")
    kept = {method: plan.columns_kept("my-my", method) for method in plan.methods}
    # scikit-learn's boosting takes 255 categories and has a bin for missing values.
    assert kept == {
        "adaptive": {"raw": True},
        "boosting-default": {"max_categories": 255},
        "lightgbm-default": {"max_categories": 10_000},
        "krr-cv": {},
    }


def test_invalid_compare_arguments_raise(root_and_file, capsys):
    root, path = root_and_file
    with pytest.raises(ConfigError, match="there is no file nowhere"):
        adopt("nowhere.csv", "y", root)
    with pytest.raises(SystemExit):
        main(["compare", str(path), "--target", "outcome", "--minutes", "0"])
    assert "argument --minutes: 0 must be above 0" in capsys.readouterr().err
    with pytest.raises(
        ConfigError, match=r"my.csv: .*'outcom' among 3. Did you mean 'outcome'"
    ):
        adopt(path, "outcom", root)


@pytest.mark.parametrize(
    ("n_timeouts", "is_most", "start"),
    [(0, False, ""), (1, False, "1 of 3"), (2, True, "2 of 3"), (3, True, "3 of 3")],
)
def test_timeouts_are_reported(tmp_path, n_timeouts, is_most, start):
    status = ["timeout"] * n_timeouts + ["ok"] * (3 - n_timeouts)
    pd.DataFrame({"status": status}).to_parquet(tmp_path / "records.parquet")
    actual, sentence = out_of_time(tmp_path)
    assert (
        actual is is_most
        and sentence.startswith(start)
        and bool(sentence) == bool(n_timeouts)
    )
    assert ("are not compared" in sentence) == (0 < n_timeouts < 3)


def test_method_named_returns_a_savable_estimator():
    """Also a pipeline, whose parameters may come from a search."""
    model = method_named("nystrom-krr", "regression")
    assert [*model.named_steps] == ["select", "ridge"]
    assert estimator_of(written(model))[-1].get_params() == model[-1].get_params()
    with pytest.warns(UserWarning, match="krr-cv is fitted with its defaults"):
        method_named("krr-cv", "regression")
    with pytest.raises(ValueError, match="svm-cv is not a method for regression"):
        method_named("svm-cv", "regression")
    with pytest.raises(ValueError, match=r"Did you mean 'krr-cv'.*sklearn\.svm\.SVC"):
        method_named("krr-vc", "regression")


def test_method_by_name_needs_the_workflow(monkeypatch):
    project = tomllib.loads((REPOSITORY / "workflow" / "pyproject.toml").read_text())
    (entry_point,) = project["project"]["entry-points"]["adakern.methods"].values()
    assert resolve(entry_point.replace(":", ".")) is method_named
    monkeypatch.setattr(cli, "entry_points", lambda group: [])
    with pytest.raises(ValueError, match=r"--method krr-cv: .*`make env`"):
        cli._method_named("krr-cv", "regression")


BASELINES = "dummy linear forest-default lightgbm-default catboost boosting-default"
METHODS = f"adaptive {BASELINES} svm-cv nystrom-krr knpl"


def methods_of_compare(*more):
    """Name -> method of the experiment ``compare``."""
    config = load_config(["experiment=compare", *more])
    return config.method


@pytest.mark.parametrize(
    ("n", "minutes", "methods", "said"),
    [
        (300, None, f"dank {METHODS}", "on 2 cores for 5 repeats of 11 methods"),
        (54_000, None, f"dank-decomposed {BASELINES}", "left out: dank (about 6"),
        (54_000, 3, BASELINES, "left out: svm-cv (about"),
        (3000, 0.2, BASELINES, "left out: nystrom-krr (about"),
    ],
)
def test_chosen_methods_fit_the_time_limit(n, minutes, methods, said):
    limits = {"minutes": minutes, "cores": 2, "memory": 16e9}
    chosen, flagship_params, messages = choose(
        methods_of_compare(), n, 9, "classification", **limits
    )
    names = set(chosen)
    assert set(methods.split()) <= names and "adaptive" in names
    assert ("dank" in names) == (n == 300) and not {"dank", "dank-decomposed"} <= names
    assert any(said in sentence for sentence in messages)
    assert flagship_params.get("preset") == ("fast" if minutes else None)
    if minutes:
        assert flagship_params["time_limit"] <= max(60 * minutes, 20)
    plan = load_plan(
        ["experiment=compare", "dataset=[sk-wine]", f"method=[{','.join(chosen)}]"]
    )
    assert {method for _, method in plan.cells} == names - {"catboost"} | (
        names & {"catboost"} if find_spec("catboost") else set()
    )


def test_constant_group_column_raises(tmp_path):
    path = tmp_path / "my.csv"
    make_study().assign(clinic="one").to_csv(path, index=False)
    (tmp_path / "conf" / "dataset").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"'clinic' is 'one' in every.*--group none"):
        adopt(path, "outcome", tmp_path, group="clinic")


def test_ten_minutes_suffice_for_five_repeats_of_all_methods():
    limits = {"minutes": 10, "cores": 2, "memory": 16e9}
    for n in (300, 1000, 2000):
        *_, messages = choose(methods_of_compare(), n, 9, "classification", **limits)
        assert not any("left out" in sentence for sentence in messages)
        assert "for 5 repeats of 11 methods" in messages[0]


def test_estimate_is_for_the_repeats_of_the_settings(capsys):
    typed = SimpleNamespace(minutes=None, cores=1)
    for repeats in (2, 7):
        given = ["experiment=compare", f"protocol.repeats={repeats}"]
        compare_module._chosen((300, 9), given, typed, 1.0, 1.0, load_config(given))
        assert f" for {repeats} repeats of 1" in capsys.readouterr().out


def test_slowness_excludes_time_of_other_programs(monkeypatch):
    monkeypatch.setattr(np.linalg, "svd", lambda matrix: time.sleep(0.1))
    slower, busy = slowness()
    assert slower == 1.0 and busy > 2  # it slept

    *_, messages = choose(methods_of_compare(), 300, 9, "regression", memory=16e9)
    *_, messages_busy = choose(
        methods_of_compare(), 300, 9, "regression", memory=16e9, busy=4.0
    )
    (extra,) = {*messages_busy} - {*messages}
    assert "the run may take 4 times as long" in extra


@pytest.mark.parametrize("first", [["dummy", "linear", "adaptive"], []])
def test_baselines_and_flagship_run_first(tmp_path, monkeypatch, first):
    """The time limit may be reached before every method has run once."""
    methods = ["dank", *first, "krr-cv", "krr-cv@alpha=1"]
    plan = SimpleNamespace(
        datasets=["mine"],
        results=tmp_path,
        cells=[("mine", method) for method in methods],
        config=SimpleNamespace(method=load_config(["experiment=compare"]).method),
        batches=lambda name: ["0-0", "1-1"],
        limited=lambda *limits: plan,
    )
    commands = []

    def record_command(command):
        commands.append(command)
        return SimpleNamespace(wait=lambda: 1)

    monkeypatch.setattr(subprocess, "Popen", record_command)
    monkeypatch.setattr("adakern_bench.cli.run.started", lambda plan: [])
    assert compare_module._first_repeats(plan, 1, time.time())[0] == 1
    (command,) = commands
    rest = command.index("--")
    assert len(command[rest + 1 :]) == len(methods)
    assert ("--prioritize" in command) == bool(first)  # it needs at least one file
    if first:
        files = command[command.index("--prioritize") + 1 : rest]
        assert [Path(file).parent.name for file in files] == first


def test_custom_method_without_known_cost_is_compared():
    """It needs only a file and an entry in compare.yaml."""
    methods = methods_of_compare() | {"mine": Method(classifier=Recipe())}
    for minutes in (None, 3):
        chosen, _, messages = choose(
            methods, 3000, 9, "classification", minutes=minutes, memory=16e9
        )
        assert "mine" in chosen
        assert any("no known cost): mine" in sentence for sentence in messages)
    assert "mine" not in choose(methods, 300, 9, "regression")[0]
