"""Data sets, tasks and studies of OpenML, from a local server."""

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
from adakern_bench.data.fetch import load_table
from adakern_bench.records.split import make_splits

METHOD = "method=[dummy]"


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A local OpenML server, used from an empty folder in which data/ is the cache."""
    monkeypatch.setattr(download.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(download, "TIMEOUT", 5)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("ADAKERN_DATA_MIRROR", raising=False)
    monkeypatch.chdir(tmp_path)
    with known.serving() as server:
        monkeypatch.setenv(SERVER_VARIABLE, server.url)
        yield server


def load(plan, name):
    return load_table(name, plan.entry(name), cache_dir="data/raw")


def test_data_set_has_the_description_of_openml(server):
    plan = load_plan(["dataset=[openml-31]", METHOD])
    entry = plan.entry("openml-31")
    assert (entry.task, entry.n, entry.d) == ("classification", known.N, 3)
    assert entry.licence == "CC BY 4.0"
    assert "Hofmann, H. Statlog" in entry.citation and "${" not in entry.citation
    table = load(plan, "openml-31")
    assert table.feature_names == [
        "Age in years",
        "code",
        "job",
    ]  # without the row identifiers
    frame = table.frame()
    assert frame["code"].tolist() == [str(code) for code in known.CODE]
    assert frame["job"].tolist() == known.JOB.tolist()
    assert np.isnan(frame["Age in years"][7])
    present = np.delete(np.arange(known.N), 7)
    np.testing.assert_array_equal(frame["Age in years"][present], known.AGE[present])
    np.testing.assert_array_equal(table.y, known.GOOD)


def test_parquet_data_set(server):
    plan = load_plan(["dataset=[openml-561]", METHOD])
    table = load(plan, "openml-561")
    assert table.task == "regression"
    np.testing.assert_array_equal(table.X, known.SIZES[["a", "b", "c"]])
    np.testing.assert_array_equal(table.y, known.SIZES["price"])


def test_task_uses_its_published_splits(server):
    plan = load_plan(["dataset=[openml-task-59]", METHOD, "protocol=published"])
    assert plan.n_repeats("openml-task-59") == 5
    table = load(plan, "openml-task-59")
    keys = ("kind", "repeats", "test_size", "n_splits", "stratify", "seed")
    protocol = {key: getattr(plan.config.protocol, key) for key in keys}
    splits = make_splits(table, published=True, **protocol)
    for (train, test), (known_train, known_test) in zip(
        splits, known.folds(), strict=True
    ):
        assert set(train) == set(known_train) and set(test) == set(known_test)


def test_study_is_a_suite(server):
    suite = ["dataset=[]", "suite=openml-99", METHOD]
    plan = load_plan(suite)
    assert plan.datasets == ["openml-task-59", "openml-task-61", "openml-task-63"]
    assert plan.n_repeats("openml-task-63") > 1  # given by the protocol
    chosen = load_plan([*suite, "suite.only=[openml-task-61]"])
    assert chosen.datasets == ["openml-task-61"]
    # The number of rows of 561 is unknown.
    assert load_plan([*suite, "suite.max_rows=50"]).datasets == ["openml-task-61"]
    with pytest.raises(DatasetError, match=r"'wine' is not in OpenML's study 99"):
        load_plan([*suite, "suite.only=[wine]"])


def test_settings_override_the_description_of_openml(server):
    settings = ["dataset=[openml-31]", METHOD, "++dataset.openml-31.target=job"]
    entry = load_plan(settings).entry("openml-31")
    assert entry.target == "job" and entry.d == 3
    entry = load_plan([*settings[:2], "dataset.openml-31.title=Mine"])
    assert entry.entry("openml-31").title == "Mine"


def test_cached_data_need_no_request(server, tmp_path, monkeypatch):
    settings = ["dataset=[openml-task-59,openml-561]", METHOD]
    plan = load_plan(settings)
    first = [load(plan, name).fingerprint for name in plan.datasets]
    n_requests = len(set(server.requests))
    assert len(server.requests) == n_requests
    assert len(list(tmp_path.rglob("*.record.json"))) == n_requests  # each with a hash
    again = load_plan(settings)
    assert [load(again, name).fingerprint for name in again.datasets] == first
    shutil.copytree(tmp_path / "data", tmp_path / "elsewhere" / "data")
    monkeypatch.chdir(tmp_path / "elsewhere")
    elsewhere = load_plan(settings)
    assert [load(elsewhere, name).fingerprint for name in elsewhere.datasets] == first
    assert len(server.requests) == n_requests


def test_corrupt_cached_response_is_requested_again(server, tmp_path):
    load_plan(["dataset=[openml-31]", METHOD])
    response = tmp_path / "data/raw/openml/data/31.json"
    response.write_text(response.read_text().replace("class", "job"))
    server.requests.clear()
    load_plan(["dataset=[openml-31]", METHOD])
    assert server.requests == ["/api/v1/json/data/31"]


@pytest.mark.parametrize(
    ("name", "message"),
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
def test_unsupported_data_set_raises_before_any_run(server, name, message):
    with pytest.raises(DatasetError, match=message) as error:
        load_plan([f"dataset=[{name}]", METHOD])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["openml:study-99"], "adakern run EXPERIMENT suite=openml-99"),
        (["OpenML:62"], "412 "),
        *(
            (["OpenML:31", "--target", name], f"no column {name!r} to predict")
            for name in ("a,b", "[job", "job'", "null", "0", "größe: 1")
        ),
    ],
)
def test_invalid_command_line_raises(server, arguments, message):
    with pytest.raises(SystemExit) as error:
        main(["compare", *arguments])
    assert message in error.value.code and "\n" not in error.value.code


@pytest.mark.parametrize(
    ("part", "fault", "message"),
    [
        ("data/31", 404, "HTTP status 404"),
        ("data/features/31", "moved", "redirects to http://localhost:1/"),
        ("data/31", "half", r"data 31 could not be downloaded: .*IncompleteRead"),
        ("data/31", "slow", r"data 31 could not be downloaded: .*timed out.*name the"),
    ],
)
def test_faulty_response_raises_and_download_resumes(
    server, monkeypatch, part, fault, message
):
    monkeypatch.setattr(download, "TIMEOUT", 0.3)
    monkeypatch.setattr(download, "RETRIES", 1)
    load_plan(["dataset=[openml-561]", METHOD])
    server.faults[f"json/{part}"] = fault
    with pytest.raises(DatasetError, match=message) as error:
        load_plan(["dataset=[openml-31,openml-561]", METHOD])
    assert "\n" not in str(error.value)
    server.faults.clear()
    server.requests.clear()
    load_plan(["dataset=[openml-31,openml-561]", METHOD])  # resumes
    assert not [path for path in server.requests if "561" in path]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (404, "HTTP status 404"),
        ("moved", "a host that is not in the entry"),
        ("half", "IncompleteRead"),
        ("changed", r"expected MD5 \w+, got"),
        ("slow", "timed out"),
    ],
)
def test_faulty_data_file_raises(server, monkeypatch, fault, message):
    monkeypatch.setattr(download, "TIMEOUT", 0.3)
    monkeypatch.setattr(download, "RETRIES", 1)
    plan = load_plan(["dataset=[openml-31]", METHOD])
    server.faults["download"] = fault
    with pytest.raises(DatasetError, match=message):
        load(plan, "openml-31")
    server.faults.clear()
    assert len(load(plan, "openml-31").y) == known.N


def test_task_without_splits_raises_but_keeps_the_data(server):
    plan = load_plan(["dataset=[openml-task-60]", METHOD])
    with pytest.raises(DatasetError, match=r"HTTP status 412 \(no split\)"):
        load(plan, "openml-task-60")
    server.requests.clear()
    load(load_plan(["dataset=[openml-31]", METHOD]), "openml-31")
    assert server.requests == []


def test_invalid_response_raises(server):
    server.answers["/api/v1/json/data/31"] = b"<html>Log in, please</html>"
    with pytest.raises(DatasetError, match="not a valid response of OpenML"):
        load_plan(["dataset=[openml-31]", METHOD])
    server.answers["/api/v1/json/data/31"] = b"[" * 100_000
    with pytest.raises(DatasetError, match="not a valid response of OpenML"):
        load_plan(["dataset=[openml-31]", METHOD])
    server.answers["/api/v1/json/data/31"] = {"data_set_description": ["31"]}
    with pytest.raises(DatasetError, match="not a valid response of OpenML"):
        load_plan(["dataset=[openml-31]", METHOD])


def test_response_naming_another_host_raises(server):
    about = server.answers["/api/v1/json/data/31"]["data_set_description"]
    about["url"] = "http://127.0.0.2/credit.arff"
    with pytest.raises(DatasetError, match="so it is not downloaded"):
        load_plan(["dataset=[openml-31]", METHOD])


def test_cache_outside_the_project_raises(server, tmp_path):
    settings = ["dataset=[openml-31]", METHOD, "data.cache=../elsewhere"]
    with pytest.raises(ConfigError, match="is outside the project"):
        load_plan(settings)
    assert not server.requests and not (tmp_path.parent / "elsewhere").exists()


def test_openml_comparison_is_repeatable_without_network(project):
    quick = ["--cores", "2", "protocol.repeats=2", "tracking.enabled=false"]
    command = ["compare", "openml:31", *quick, "method=[dummy,knn]"]
    study = ["run", "small", "name=study", "dataset=[]", "suite=openml-99"]
    study += ["method=[dummy]", "protocol=published", "suite.only=[openml-task-59]"]
    study += ["--cores", "2", "tracking.enabled=false"]
    with known.serving() as server:
        project.environment |= {"NO_PROXY": "127.0.0.1", SERVER_VARIABLE: server.url}
        run = project.adakern(*command).stdout
        assert "set-31: 60 rows, 3 features, classification" in run
        project.adakern(*study)
    report = project.root / "results/openml-31/report.html"
    text = report.read_text()
    assert "CC BY 4.0" in text and "Statlog (German Credit Data)" in text
    records = project.records("openml-task-59", "dummy", "study")
    assert [record["n_test"] for record in records] == [12] * 5
    report.unlink()
    assert "knn" in project.adakern(*command).stdout  # without the server
    assert report.exists()
    project.adakern("describe", "openml-31")
    lost = ["run", "small", "dataset=[openml-561]", "--cores", "1"]
    run = project.adakern(*lost, status=1)
    assert "OpenML's data 561 could not be downloaded" in run.stderr + run.stdout
