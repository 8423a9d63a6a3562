"""One command from a file of one's own to its comparison."""

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
from adakern_bench.config.plan import load_plan
from adakern_bench.config.recipes import method_named
from adakern_bench.config.schema import Method, Recipe
from adakern_bench.data import Table, check_entry
from adakern_bench.data.parsers import parse
from adakern_bench.records.split import load_split
from adakern_bench.report.use import model_lines, out_of_time
from mirror import read_entry

REPOSITORY = Path(__file__).resolve().parents[2]
RIDGE = {"_target_": "sklearn.linear_model.Ridge"}
QUICK = ["method=[svm-cv,krr-cv]", "protocol.repeats=2", "search.step=5"]


def study(n=80):
    rng = np.random.default_rng(0)
    dose, ward = rng.normal(size=n), rng.choice(["north", "south"], size=n)
    frame = pd.DataFrame(
        {"dose": dose, "ward": ward, "outcome": np.where(dose > 0, "ill", "well")}
    )
    frame.loc[4, "dose"] = np.nan
    return frame


@pytest.fixture
def own(project, tmp_path_factory):
    """A project that the command works in, and a file outside of it."""
    path = tmp_path_factory.mktemp("own") / "My study.csv"
    study().to_csv(path)
    return project, path


def test_a_file_becomes_a_report_of_its_own(own):
    project, path = own
    done = project.count(
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
    shown = project.adakern(*command, *QUICK, "tracking.enabled=false").stdout
    # Once each, by all processes from the file to the report.
    assert sorted(done.read_text().split()) == [
        "cells_of_file",
        "load_config",
        "read_records",
        "validate",
    ]
    assert re.search(r"The first repeat took .*: 2 repeats in all", shown)
    assert "80 rows, 2 features, classification of 'outcome'" in shown
    assert "dropped 'Unnamed: 0': it numbers the rows" in shown
    assert "Written to conf/dataset/my-my-study.yaml" in shown
    assert "only svm-cv was run" in shown  # krr-cv is for regressions
    results = project.root / "results" / "my-my-study"
    assert (results / "report.html").as_uri() in shown
    assert "My study.csv" in (results / "report.html").read_text()
    records = pd.read_parquet(results / "records.parquet")
    assert (records["status"] == "ok").all() and len(records) == 2
    assert (
        len([*results.glob("records/*/svm-cv/?-?.json")]) == 2
    )  # a job each, the first first
    again = project.adakern("show", "my-my-study", *QUICK).stdout
    assert (results / "report.html").as_uri() in again


@pytest.mark.long
def test_from_a_file_to_a_model_in_use(own, tmp_path):
    """``make run DATA=... TARGET=...``, then the commands that it ends with."""
    project, path = own
    shutil.copy(REPOSITORY / "Makefile", project.root)
    methods = "method=[krr-cv,linear] protocol.repeats=2 search.step=5"
    command = [
        *("make", "--no-print-directory", f"BIN={Path(sys.executable).parent}"),
        *("-o", ".venv/workflow.done"),
        *("run", f"DATA={path}", "TARGET=dose", "CORES=2"),
        f"OVERRIDES={methods} tracking.models=true tracking.uri=sqlite:///mlflow.db "
        "tracking.register=dose",
    ]
    shown = subprocess.run(
        command,
        cwd=project.root,
        env=project.environment,
        text=True,
        capture_output=True,
    )
    assert shown.returncode == 0, shown.stdout + shown.stderr
    fit, predict = (shlex.split(line) for line in shown.stdout.splitlines()[-2:])
    assert fit[:3] == ["adakern", "fit", str(path)] and "--method" in fit
    page = (project.root / "results" / "my-my-study" / "report.html").read_text()
    assert "adakern fit data/raw/my-my-study/My-study.csv --target dose" in page

    new = study(7).drop(columns=["dose"])
    new.to_csv(project.root / "new.csv", index=False)
    assert "Written to my-study.skops" in project.adakern(*fit[1:]).stdout
    printed = project.adakern(*predict[1 : predict.index(">")]).stdout
    predicted = pd.read_csv(io.StringIO(printed))["dose"]
    moved = shutil.move(project.root / "my-study.skops", tmp_path / "moved.skops")
    np.testing.assert_allclose(load_model(moved)[0].predict(new), predicted, rtol=1e-12)

    client = mlflow.MlflowClient(f"sqlite:///{project.root}/mlflow.db")
    (version,) = client.search_model_versions("name = 'dose'")
    run = client.get_run(version.run_id).data
    assert run.tags["repeat"] == "0" and run.tags["method"] in version.description
    assert float(version.tags["test/rmse"]) == pytest.approx(run.metrics["test/rmse"])
    champion = client.get_model_version_by_alias("dose", "champion")
    assert champion.version == version.version

    # As `mlflow ui` would serve them, here without the server.
    models = sorted(project.root.glob("mlartifacts/my-my-study/models/*/artifacts"))
    assert len(models) == 4  # two repeats of two methods
    for folder in models:
        served = mlflow.pyfunc.load_model(str(folder))
        assert {"ward", "outcome"} <= {
            *served.metadata.get_input_schema().input_names()
        }
        found = served.predict(new)
        assert np.abs(found - predicted).max() < 1.0
        kept = mlflow.sklearn.load_model(
            shutil.copytree(folder, tmp_path / "a" / folder.parts[-2])
        )
        np.testing.assert_array_equal(kept.predict(new), found)


def check_scores_of_two_targets(project, table, shown):
    """Of one method that takes both at once, and of one that is fitted to each."""
    assert table.targets == ["y", "far"] and table.y.shape == (118, 2)
    records = [
        record
        for method in ("krr-cv", "svr-cv")
        for record in project.records("my-my-study", method, "my-my-study")
    ]
    assert len(records) == 4
    for record in records:
        assert record["status"] == "ok", record["reason"]
        of_each = [record["targets"][name]["r2"] for name in table.targets]
        assert of_each[0] > 0.8 > 0.2 > of_each[1]
        assert record["metrics"]["test"]["r2"] == pytest.approx(np.mean(of_each))
        assert {*record["best_params"]} <= {"C", "alpha", "epsilon", "gamma"}
    page = (project.root / "results" / "my-my-study" / "report.html").read_text()
    assert "R² of each target of my-my-study" in page
    assert "Several targets (my-my-study)" in page
    assert "Target &#39;y&#39;, the first of 2" in page
    assert "--target y,far" in shown and "--target y,far" in page


@pytest.mark.parametrize("kind", ["group-holdout", "time"])
def test_groups_and_times_decide_the_split(own, kind):
    """A panel whose file is in no order: days first, 12 people on 10 days each."""
    project, path = own
    rng = np.random.default_rng(1)
    days = pd.date_range("2024-01-25", periods=10).strftime("%d.%m.%Y")
    panel = pd.DataFrame({"patient": np.repeat(np.arange(12) + 300, 10)})
    panel["day"], panel["x"] = np.tile(days, 12), rng.normal(size=120)
    panel["y"] = panel["x"] + 0.1 * rng.normal(size=120)
    target = "y"
    named = []
    if kind == "time":  # and two targets, in units of their own, not all known
        target = "y,far"
        panel["far"] = 1e6 * rng.normal(size=120)
        panel.loc[[3, 50], "far"] = np.nan
        named = ["--time", "day", "--metric", "r2", "method=[krr-cv,svr-cv]"]
    panel.sample(frac=1, random_state=0).to_csv(path, index=False)
    command = ["compare", str(path), "--target", target, "--cores", "2", *QUICK, *named]
    shown = project.adakern(*command, "tracking.enabled=false").stdout
    assert (
        "Regression: R²," if named else "Regression: Root mean squared error,"
    ) in shown
    table = Table.load(project.root / "data" / "tables" / "my-my-study.npz")
    assert table.feature_names == ["day", "x"]
    if kind == "time":
        check_scores_of_two_targets(project, table, shown)
    (split,) = project.root.glob("results/my-my-study/**/my-my-study.npz")
    sides = table.X[:, 0] if kind == "time" else table.groups
    for repeat in range(2):
        train, test = load_split(split, repeat)
        if kind == "time":
            assert sides[train].max() <= sides[test].min()
        else:
            assert not set(sides[train]) & set(sides[test])


def adopted(path, root, **options):
    overrides = adopt(path, options.pop("target", "outcome"), root, **options)
    entry = root / "conf" / "dataset" / f"{overrides[1].removeprefix('name=')}.yaml"
    return overrides, yaml.safe_load(entry.read_text()), entry


@pytest.fixture
def place(tmp_path):
    """A folder with room for entries, and a file outside of it."""
    (tmp_path / "root" / "conf" / "dataset").mkdir(parents=True)
    study().to_csv(tmp_path / "my.csv", index=False)
    return tmp_path / "root", tmp_path / "my.csv"


def test_a_second_call_with_other_options_is_no_repetition(place, capsys):
    root, path = place
    _, entry, _ = adopted(path, root)
    assert "drop" not in entry
    columns = root / "data" / "raw" / "my-my" / "how_columns_were_read.csv"
    became = pd.read_csv(columns).set_index("column")["became"]
    assert became["outcome"].startswith("target") and became["ward"] == "feature"
    _, again, file = adopted(path, root)
    assert again == entry and "Using conf/dataset/" in capsys.readouterr().out
    _, entry, _ = adopted(path, root, drop=["ward"])
    assert (
        entry["drop"] == ["ward"]
        and "--drop ward (it was not given)" in capsys.readouterr().out
    )
    overrides, entry, _ = adopted(path, root, group="ward")
    assert entry["groups"] == "ward" and "protocol.kind=group-holdout" in overrides
    file.write_text(file.read_text().replace("title: my.csv", "title: Mine"))
    with pytest.raises(ConfigError, match="was edited, and this call has --group not"):
        adopted(path, root)
    _, entry, _ = adopted(path, root, group="ward")
    assert entry["title"] == "Mine" and not columns.exists()
    _, entry, _ = adopted(path, root, again=True)
    assert entry["title"] == "my.csv" and "groups" not in entry and columns.exists()
    with pytest.raises(
        ConfigError, match=r"another column, .* --target dose \(it was outcome"
    ):
        adopted(path, root, target="dose")


def printed_arguments(entry, root, path):
    """Arguments of the `adakern fit` that a comparison on the table prints."""
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


def test_what_is_told_of_rows_and_forms_goes_every_way(place, capsys):
    """The file, its entry, and the command at the end give one table."""
    root, path = place
    days = [f"{1 + k % 12:02d}/{1 + k % 11:02d}/2020" for k in range(60)]
    rows = [f"{day};{k + 1}.{100 + k};{'ab'[k % 2]};{k}" for k, day in enumerate(days)]
    lines = ["day;price;size;y", *rows, "03/04/2021;7.125;media;9"]
    path.write_text("\n".join(lines) + "\n")
    first = read_table(path, "y")
    assert (len(first.y), first.X["price"].max()) == (60, 60159.0)
    told = {"keep": ["rows:totals"], "form": {"day": "%m/%d/%Y", "price": "."}}
    found = read_table(path, "y", **told)
    assert (len(found.y), found.X["price"].iloc[-1]) == (61, 7.125)
    assert found.X["day"].iloc[-1] == pd.Timestamp("2021-03-04")
    _, stated, file = adopted(path, root, target="y", **told)
    shown = capsys.readouterr().out
    assert "day" in shown and "%m/%d/%Y" in shown  # how each column was read
    assert stated["keep"] == ["rows:totals"] and stated["form"] == told["form"]
    entry = read_entry(file)
    assert not check_entry("my-my", entry)
    frame = parse(path.read_bytes(), entry, entry.files[0])
    pd.testing.assert_frame_equal(frame[list(found.X)], found.X)
    arguments = printed_arguments(entry, root, path)
    again = read_table(path, arguments.target, **cli.named_columns(arguments))
    pd.testing.assert_frame_equal(again.X, found.X)


@pytest.mark.parametrize("target", ["-2", "2.0", "=", "$y"])
def test_printed_command_names_columns_that_the_entry_has_by_position(place, target):
    """Another column is called by that position, and the header looks like data."""
    root, path = place
    frame = study().rename(columns={"outcome": target})
    names = [str(i) for i in range(1, frame.shape[1])]
    others = [name for name in frame if name != target]
    frame = frame.rename(columns=dict(zip(others, names, strict=True)))
    frame.to_csv(path, index=False)
    _, _, file = adopted(path, root, target=target)
    entry = read_entry(file)
    assert isinstance(entry.target, int)
    entry.form = {0: "."}  # as somebody may write it
    arguments = printed_arguments(entry, root, path)
    assert arguments.form == [("1", ".")]
    found = read_table(path, arguments.target, **cli.named_columns(arguments))
    assert found.y.name == target and not set(found.X) - set(names)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"form": {"dose": ",kg"}}, "no cell of the form ',kg', but cells such as"),
        ({"form": {"dose": "%Q"}}, "no cell of the form '%Q'"),
        ({"form": {"dose": "%d%d"}}, "no cell of the form '%d%d'"),
        ({"form": {"dos": "."}}, "Did you mean 'dose'"),
        ({"form": {"dose": "."}, "categorical": ["dose"]}, "a form and be categorical"),
        ({"keep": ["rows:total"]}, "no column 'rows:total'"),
    ],
)
def test_wrong_forms_and_rows_are_said(place, wrong, said):
    root, path = place
    with pytest.raises(ConfigError, match=said):
        adopted(path, root, **wrong)
    with pytest.raises(SystemExit):
        main(["compare", str(path), "--target", "outcome", "--form", "dose"])


def test_files_of_one_name_are_tables_of_their_own(place, capsys):
    """Of other folders and other scripts; a copy of the same rows is the same table."""
    root, path = place
    names = {}
    for k, place_of in enumerate(
        ["a/train.csv", "b/train.csv", "c/b/train.csv", "a/データ.csv", "a/売上.csv"]
    ):
        file = path.parent / place_of
        file.parent.mkdir(parents=True, exist_ok=True)
        study(80 + k).to_csv(file, index=False)
        names[place_of] = adopted(file, root)[0][1]
    assert len(set(names.values())) == len(names)
    assert "my-train is the table of" in capsys.readouterr().out
    for place_of, name in names.items():
        overrides, entry, _ = adopted(path.parent / place_of, root)
        assert overrides[1] == name
        kept = root / "data" / "raw" / entry["files"][0]["path"]
        assert kept.read_bytes() == (path.parent / place_of).read_bytes()
    study(80).to_csv(path.parent / "train.csv", index=False)
    assert adopted(path.parent / "train.csv", root)[0][1] == names["a/train.csv"]


def test_a_changed_file_is_said_and_read(place, capsys):
    root, path = place
    adopted(path, root)
    study(90).to_csv(path, index=False)
    _, entry, file = adopted(path, root)
    assert entry["n"] == 90 and "has changed" in capsys.readouterr().out
    copy = root / "data" / "raw" / "my-my" / "my.csv"
    assert copy.read_bytes() == path.read_bytes()
    file.write_text(file.read_text().replace("title: my.csv", "title: Mine"))
    study(70).to_csv(path, index=False)
    _, entry, _ = adopted(path, root)
    assert entry["title"] == "Mine" and "n" not in entry
    assert "was edited and is kept" in capsys.readouterr().out
    adopted(path, root)
    assert "has changed" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "name", ["x" * 245 + ".csv", "${oc.env:HOME}.csv", "???", "é ü.csv"]
)
def test_any_name_of_a_file_will_do(place, name):
    root, path = place
    path = path.rename(path.with_name(name))
    overrides, entry, file = adopted(path, root)
    text = file.read_text(encoding="utf-8")
    assert len(file.name) < 100 and "${" not in text and "???" not in text
    assert (root / "data" / "raw" / entry["files"][0]["path"]).is_file()
    assert comparison_of(file.stem, root) == overrides
    assert re.fullmatch(r"name=my-[a-z0-9-]+", overrides[1])


def test_each_method_gets_the_columns_that_it_takes(place):
    root, path = place
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


def test_what_cannot_be_adopted_is_said(place, capsys):
    root, path = place
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
    ("cut", "most", "said"),
    [(0, False, ""), (1, False, "1 of 3"), (2, True, "2 of 3"), (3, True, "3 of 3")],
)
def test_runs_that_ran_out_of_time_are_said(tmp_path, cut, most, said):
    status = ["timeout"] * cut + ["ok"] * (3 - cut)
    pd.DataFrame({"status": status}).to_parquet(tmp_path / "records.parquet")
    found, words = out_of_time(tmp_path)
    assert found is most and words.startswith(said) and bool(words) == bool(cut)
    assert ("are not compared" in words) == (0 < cut < 3)


def test_a_method_by_its_name_is_the_one_that_is_written():
    """A pipeline, too: its parameters, which a search may have found, are
    written out."""
    model = method_named("nystrom-krr", "regression")
    assert [*model.named_steps] == ["select", "ridge"]
    assert estimator_of(written(model))[-1].get_params() == model[-1].get_params()
    with pytest.warns(UserWarning, match="krr-cv is fitted with its defaults"):
        method_named("krr-cv", "regression")
    with pytest.raises(ValueError, match="svm-cv is not a method for regression"):
        method_named("svm-cv", "regression")
    with pytest.raises(ValueError, match=r"Did you mean 'krr-cv'.*sklearn\.svm\.SVC"):
        method_named("krr-vc", "regression")


def test_a_method_of_one_word_needs_the_workflow(monkeypatch):
    project = tomllib.loads((REPOSITORY / "workflow" / "pyproject.toml").read_text())
    (named,) = project["project"]["entry-points"]["adakern.methods"].values()
    assert resolve(named.replace(":", ".")) is method_named
    monkeypatch.setattr(cli, "entry_points", lambda group: [])
    with pytest.raises(ValueError, match=r"--method krr-cv: .*`make env`"):
        cli._method_named("krr-cv", "regression")


BASELINES = "dummy linear forest-default lightgbm-default catboost boosting-default"
METHODS = f"adaptive {BASELINES} svm-cv nystrom-krr knpl"


def compared(*more):
    """Name -> method of the experiment ``compare``, and of others."""
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
def test_a_comparison_is_estimated_and_fits_its_time(n, minutes, methods, said):
    limits = {"minutes": minutes, "cores": 2, "memory": 16e9}
    chosen, of_flagship, told = choose(compared(), n, 9, "classification", **limits)
    names = set(chosen)
    assert set(methods.split()) <= names and "adaptive" in names
    assert ("dank" in names) == (n == 300) and not {"dank", "dank-decomposed"} <= names
    assert any(said in sentence for sentence in told)
    assert of_flagship.get("preset") == ("fast" if minutes else None)
    if minutes:
        assert of_flagship["time_limit"] <= max(60 * minutes, 20)
    plan = load_plan(
        ["experiment=compare", "dataset=[sk-wine]", f"method=[{','.join(chosen)}]"]
    )
    assert {method for _, method in plan.cells} == names - {"catboost"} | (
        names & {"catboost"} if find_spec("catboost") else set()
    )


def test_a_group_that_is_the_same_in_every_row_is_told(tmp_path):
    path = tmp_path / "my.csv"
    study().assign(clinic="one").to_csv(path, index=False)
    (tmp_path / "conf" / "dataset").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"'clinic' is 'one' in every.*--group none"):
        adopt(path, "outcome", tmp_path, group="clinic")


def test_ten_minutes_are_enough_for_five_repeats_of_all_methods():
    limits = {"minutes": 10, "cores": 2, "memory": 16e9}
    for n in (300, 1000, 2000):
        *_, told = choose(compared(), n, 9, "classification", **limits)
        assert not any("left out" in sentence for sentence in told)
        assert "for 5 repeats of 11 methods" in told[0]


def test_time_that_other_programs_take_makes_no_machine_slow(monkeypatch):
    monkeypatch.setattr(np.linalg, "svd", lambda matrix: time.sleep(0.1))
    slower, busy = slowness()
    assert slower == 1.0 and busy > 2  # it slept

    *_, told = choose(compared(), 300, 9, "regression", memory=16e9)
    *_, told_busy = choose(compared(), 300, 9, "regression", memory=16e9, busy=4.0)
    (more,) = {*told_busy} - {*told}
    assert "the run may take 4 times as long" in more


@pytest.mark.parametrize("first", [["dummy", "linear", "adaptive"], []])
def test_what_others_are_compared_with_runs_first(tmp_path, monkeypatch, first):
    """The time may be over before all methods ran once."""
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

    def started(command):
        commands.append(command)
        return SimpleNamespace(wait=lambda: 1)

    monkeypatch.setattr(subprocess, "Popen", started)
    monkeypatch.setattr("adakern_bench.cli.run.started", lambda plan: [])
    assert compare_module._first_repeats(plan, 1, time.time())[0] == 1
    (command,) = commands
    rest = command.index("--")
    assert len(command[rest + 1 :]) == len(methods)
    assert ("--prioritize" in command) == bool(first)  # it needs one file at least
    if first:
        files = command[command.index("--prioritize") + 1 : rest]
        assert [Path(file).parent.name for file in files] == first


def test_a_method_of_ones_own_is_compared_without_a_cost():
    """Only its file, and its name in compare.yaml, are needed."""
    methods = compared() | {"mine": Method(classifier=Recipe())}
    for minutes in (None, 3):
        chosen, _, said = choose(
            methods, 3000, 9, "classification", minutes=minutes, memory=16e9
        )
        assert "mine" in chosen
        assert any("no known cost): mine" in sentence for sentence in said)
    assert "mine" not in choose(methods, 300, 9, "regression")[0]
