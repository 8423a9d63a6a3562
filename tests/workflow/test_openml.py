"""Data sets, tasks and studies of OpenML, from a server on this machine."""

import shutil

import numpy as np
import pytest

import openml_server as known
from adakern.cli import main
from adakern_bench.base import download
from adakern_bench.config.compose import ConfigError
from adakern_bench.config.entry import DatasetError
from adakern_bench.config.openml import SERVER_VARIABLE
from adakern_bench.config.plan import load_plan
from adakern_bench.data import load_table
from adakern_bench.records.split import make_splits

METHOD = "method=[dummy]"


@pytest.fixture
def server(monkeypatch, tmp_path):
    """OpenML, asked from an empty folder in which data/ is the cache."""
    monkeypatch.setattr(download.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(download, "TIMEOUT", 5)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("ADAKERN_DATA_MIRROR", raising=False)
    monkeypatch.chdir(tmp_path)
    with known.serving() as server:
        monkeypatch.setenv(SERVER_VARIABLE, server.url)
        yield server


def table_of(plan, name):
    return load_table(name, plan.entry(name), cache_dir="data/raw")


def test_a_data_set_is_what_openml_says(server):
    plan = load_plan(["dataset=[openml-31]", METHOD])
    entry = plan.entry("openml-31")
    assert (entry.task, entry.n, entry.d) == ("classification", known.N, 3)
    assert entry.licence == "CC BY 4.0"
    assert "Hofmann, H. Statlog" in entry.citation and "${" not in entry.citation
    table = table_of(plan, "openml-31")
    assert table.feature_names == ["Age in years", "code", "job"]  # no names of rows
    frame = table.frame()
    assert frame["code"].tolist() == [str(code) for code in known.CODE]
    assert frame["job"].tolist() == known.JOB.tolist()
    assert np.isnan(frame["Age in years"][7])
    given = np.delete(np.arange(known.N), 7)
    np.testing.assert_array_equal(frame["Age in years"][given], known.AGE[given])
    np.testing.assert_array_equal(table.y, known.GOOD)


def test_numbers_come_as_parquet(server):
    plan = load_plan(["dataset=[openml-561]", METHOD])
    table = table_of(plan, "openml-561")
    assert table.task == "regression"
    np.testing.assert_array_equal(table.X, known.SIZES[["a", "b", "c"]])
    np.testing.assert_array_equal(table.y, known.SIZES["price"])


def test_a_task_is_tested_on_its_own_splits(server):
    plan = load_plan(["dataset=[openml-task-59]", METHOD, "protocol=published"])
    assert plan.n_repeats("openml-task-59") == 5
    table = table_of(plan, "openml-task-59")
    keys = ("kind", "repeats", "test_size", "n_splits", "stratify", "seed")
    protocol = {key: getattr(plan.config.protocol, key) for key in keys}
    drawn = make_splits(table, published=True, **protocol)
    for (train, test), (known_train, known_test) in zip(
        drawn, known.folds(), strict=True
    ):
        assert set(train) == set(known_train) and set(test) == set(known_test)


def test_a_study_is_a_suite(server):
    suite = ["dataset=[]", "suite=openml-99", METHOD]
    plan = load_plan(suite)
    assert plan.datasets == ["openml-task-59", "openml-task-61", "openml-task-63"]
    assert plan.n_repeats("openml-task-63") > 1  # of the protocol
    chosen = load_plan([*suite, "suite.only=[openml-task-61]"])
    assert chosen.datasets == ["openml-task-61"]
    # Of 561 it is not known how many rows there are.
    assert load_plan([*suite, "suite.max_rows=50"]).datasets == ["openml-task-61"]
    with pytest.raises(DatasetError, match=r"'wine' is not in OpenML's study 99"):
        load_plan([*suite, "suite.only=[wine]"])


def test_what_is_stated_wins(server):
    settings = ["dataset=[openml-31]", METHOD, "++dataset.openml-31.target=job"]
    entry = load_plan(settings).entry("openml-31")
    assert entry.target == "job" and entry.d == 3
    entry = load_plan([*settings[:2], "dataset.openml-31.title=Mine"])
    assert entry.entry("openml-31").title == "Mine"


def test_a_second_run_and_another_machine_ask_nobody(server, tmp_path, monkeypatch):
    settings = ["dataset=[openml-task-59,openml-561]", METHOD]
    plan = load_plan(settings)
    first = [table_of(plan, name).fingerprint for name in plan.datasets]
    asked = len(set(server.requests))
    assert len(server.requests) == asked
    assert len(list(tmp_path.rglob("*.record.json"))) == asked  # each with its hash
    again = load_plan(settings)
    assert [table_of(again, name).fingerprint for name in again.datasets] == first
    shutil.copytree(tmp_path / "data", tmp_path / "elsewhere" / "data")
    monkeypatch.chdir(tmp_path / "elsewhere")
    there = load_plan(settings)
    assert [table_of(there, name).fingerprint for name in there.datasets] == first
    assert len(server.requests) == asked


def test_a_spoilt_answer_is_asked_for_again(server, tmp_path):
    load_plan(["dataset=[openml-31]", METHOD])
    answer = tmp_path / "data/raw/openml/data/31.json"
    answer.write_text(answer.read_text().replace("class", "job"))
    server.requests.clear()
    load_plan(["dataset=[openml-31]", METHOD])
    assert server.requests == ["/api/v1/json/data/31"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "openml-9999",
            r"data 9999 could not be downloaded: .*412 \(Unknown: no such thing\)",
        ),
        (
            "openml-task-9999",
            r"task 9999 could not be downloaded: .*Unknown: no such thing",
        ),
        ("openml-40", "data set 40 has no numeric or categorical columns"),
        (
            "openml-41",
            r"41 names no target; set .*dataset.openml-41.target .* to one of a, b",
        ),
        ("openml-42", "data set 42 is sparse"),
        ("openml-task-62", "task 62 is of type .Clustering.; only"),
    ],
)
def test_what_cannot_be_compared_is_said_before_anything_runs(server, name, said):
    with pytest.raises(DatasetError, match=said) as error:
        load_plan([f"dataset=[{name}]", METHOD])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["openml:study-99"], "adakern run EXPERIMENT suite=openml-99"),
        (["OpenML:62"], "412 "),
        *(
            (["OpenML:31", "--target", name], f"no column {name!r} to predict")
            for name in ("a,b", "[job", "job'", "null", "0", "größe: 1")
        ),
    ],
)
def test_what_is_wrong_on_the_command_line_is_said(server, typed, said):
    with pytest.raises(SystemExit) as error:
        main(["compare", *typed])
    assert said in error.value.code and "\n" not in error.value.code


@pytest.mark.parametrize(
    ("part", "fault", "said"),
    [
        ("data/31", 404, "HTTP status 404"),
        ("data/features/31", "moved", "redirects to http://localhost:1/"),
        ("data/31", "half", r"data 31 could not be downloaded: .*IncompleteRead"),
        ("data/31", "slow", r"data 31 could not be downloaded: .*timed out"),
    ],
)
def test_what_is_wrong_with_an_answer(server, monkeypatch, part, fault, said):
    monkeypatch.setattr(download, "TIMEOUT", 0.3)
    monkeypatch.setattr(download, "RETRIES", 1)
    load_plan(["dataset=[openml-561]", METHOD])
    server.faults[f"json/{part}"] = fault
    with pytest.raises(DatasetError, match=said) as error:
        load_plan(["dataset=[openml-31,openml-561]", METHOD])
    assert "\n" not in str(error.value)
    server.faults.clear()
    server.requests.clear()
    load_plan(["dataset=[openml-31,openml-561]", METHOD])  # it goes on from there
    assert not [path for path in server.requests if "561" in path]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (404, "HTTP status 404"),
        ("moved", "a host that is not in the entry"),
        ("half", "IncompleteRead"),
        ("changed", r"expected MD5 \w+, got"),
        ("slow", "timed out"),
    ],
)
def test_what_is_wrong_with_the_rows(server, monkeypatch, fault, said):
    monkeypatch.setattr(download, "TIMEOUT", 0.3)
    monkeypatch.setattr(download, "RETRIES", 1)
    plan = load_plan(["dataset=[openml-31]", METHOD])
    server.faults["download"] = fault
    with pytest.raises(DatasetError, match=said):
        table_of(plan, "openml-31")
    server.faults.clear()
    assert len(table_of(plan, "openml-31").y) == known.N


def test_a_task_without_splits_keeps_its_rows(server):
    plan = load_plan(["dataset=[openml-task-60]", METHOD])
    with pytest.raises(DatasetError, match=r"HTTP status 412 \(no split\)"):
        table_of(plan, "openml-task-60")
    server.requests.clear()
    table_of(load_plan(["dataset=[openml-31]", METHOD]), "openml-31")
    assert server.requests == []


def test_answers_that_are_none(server):
    server.answers["/api/v1/json/data/31"] = b"<html>Log in, please</html>"
    with pytest.raises(DatasetError, match="not a valid response of OpenML"):
        load_plan(["dataset=[openml-31]", METHOD])
    server.answers["/api/v1/json/data/31"] = b"[" * 100_000
    with pytest.raises(DatasetError, match="not a valid response of OpenML"):
        load_plan(["dataset=[openml-31]", METHOD])
    server.answers["/api/v1/json/data/31"] = {"data_set_description": ["31"]}
    with pytest.raises(DatasetError, match="not a valid response of OpenML"):
        load_plan(["dataset=[openml-31]", METHOD])


def test_an_answer_leads_to_no_other_host(server):
    about = server.answers["/api/v1/json/data/31"]["data_set_description"]
    about["url"] = "http://127.0.0.2/credit.arff"
    with pytest.raises(DatasetError, match="so it is not downloaded"):
        load_plan(["dataset=[openml-31]", METHOD])


def test_nothing_is_written_outside_the_project(server, tmp_path):
    settings = ["dataset=[openml-31]", METHOD, "data.cache=../elsewhere"]
    with pytest.raises(ConfigError, match="leaves the project"):
        load_plan(settings)
    assert not server.requests and not (tmp_path.parent / "elsewhere").exists()


def test_from_a_number_to_a_report_and_again_without_a_network(project):
    quick = ["--cores", "2", "protocol.repeats=2", "tracking.enabled=false"]
    command = ["compare", "openml:31", *quick, "method=[dummy,knn]"]
    study = ["run", "small", "name=study", "dataset=[]", "suite=openml-99"]
    study += ["method=[dummy]", "protocol=published", "suite.only=[openml-task-59]"]
    study += ["--cores", "2", "tracking.enabled=false"]
    with known.serving() as server:
        project.environment |= {"NO_PROXY": "127.0.0.1", SERVER_VARIABLE: server.url}
        said = project.adakern(*command).stdout
        assert "set-31: 60 rows, 3 features, classification" in said
        project.adakern(*study)
    report = project.root / "results/openml-31/report.html"
    text = report.read_text()
    assert "CC BY 4.0" in text and "Statlog (German Credit Data)" in text
    records = project.records("openml-task-59", "dummy", "study")
    assert [record["n_test"] for record in records] == [12] * 5
    report.unlink()
    assert "knn" in project.adakern(*command).stdout  # the server is gone
    assert report.exists()
    project.adakern("describe", "openml-31")
    lost = ["run", "small", "dataset=[openml-561]", "--cores", "1"]
    said = project.adakern(*lost, status=1)
    assert "OpenML's data 561 could not be downloaded" in said.stderr + said.stdout
