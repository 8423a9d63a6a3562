"""Each result is logged to MLflow once, completely, in the right experiment."""

import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from mlflow import MlflowClient
from mlflow.entities import ViewType

from adakern_bench.cli.main import main
from adakern_bench.records.read import find_records, read_records, to_frame
from adakern_bench.records.repeats import repeats_there
from adakern_bench.tracking import store
from adakern_bench.tracking.track import log_records, track
from mlflow_server import free_port, start_logging
from record_factory import failed, make_record, write_records

RECORDS = [make_record(method=m, repeat=k) for m in ("svm-cv", "dank") for k in (0, 1)]


@pytest.fixture
def log(uri):
    """Log records of the experiment "demo" to the database of the test."""
    return partial(log_records, experiment="demo", tracking_uri=uri)


@pytest.mark.slow
def test_kill_during_database_creation(tmp_path):
    database = tmp_path / "mlflow.db"
    code = "from adakern_bench.tracking.store import opened; import sys\n"
    code += "with opened('demo', sys.argv[1]): pass"
    command = [sys.executable, "-c", code, f"sqlite:///{database}"]
    process = subprocess.Popen(command, cwd=tmp_path)
    while not any(path.stat().st_size for path in tmp_path.glob(".mlflow.db-*.db")):
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert not database.exists()
    subprocess.run(command, cwd=tmp_path, check=True)
    assert database.exists()


def test_unusual_folder_name(tmp_path, monkeypatch):
    results = tmp_path / "a 'b' \"c\" :d `e` $f ü %s?#;&" / "results" / "demo"
    write_records(results, RECORDS)
    monkeypatch.chdir(results.parents[1])
    assert track(results, tracking_uri="sqlite:///mlflow.db").written == 6
    assert Path("mlartifacts", "demo").is_dir() and not Path("mlruns").exists()
    assert track(results, tracking_uri="sqlite:///mlflow.db").written == 0


def find_runs(
    uri, experiment="demo", view=ViewType.ACTIVE_ONLY, kinds=("solve", "summary")
):
    client = MlflowClient(uri)
    match = client.get_experiment_by_name(experiment)
    runs = client.search_runs([match.experiment_id], run_view_type=view)
    return [run for run in runs if run.data.tags["kind"] in kinds]


def find_method_runs(uri):
    """Runs of the methods by name, and the runs nested in each."""
    cells = {run.data.tags["method"]: run for run in find_runs(uri, kinds=["method"])}
    below = {method: [] for method in cells}
    for run in find_runs(uri):
        method = run.data.tags["method"]
        assert run.data.tags["mlflow.parentRunId"] == cells[method].info.run_id
        below[method].append(run)
    return cells, below


def download_artifacts(uri, run, folder):
    """Name -> text of the artifacts of a run, without a server."""
    client, number = MlflowClient(uri), run.info.run_id
    names = [file.path for file in client.list_artifacts(number)]
    paths = [client.download_artifacts(number, name, str(folder)) for name in names]
    return {
        n: Path(path).read_text("utf-8") for n, path in zip(names, paths, strict=True)
    }


def test_run_contains_its_record(uri, log, tmp_path):
    params = {"C": 2.0, "eta": "svm", "deep": {"b": 1}}
    search = {"best_params": {"C": 2.0}, "rank": 5, "search_seconds": 12.0}
    record = make_record(params=params, started_at=1_700_000_000.0, **search)
    log([record], config="name: demo\n")
    (run,) = find_runs(uri)
    assert run.info.status == "FINISHED"
    params = {
        "C": "2.0",
        "eta": "svm",
        "deep": '{"b": 1}',
        "n_train": "60",
        "seed": "7",
    }
    assert params.items() <= run.data.params.items()
    scores = record["metrics"]
    expected = {
        f"{part}/{name}": scores[part][name] for part in scores for name in scores[part]
    }
    expected |= {"time/fit_seconds": record["fit_seconds"], "work/rank": 5}
    expected |= {"work/peak_memory_bytes": record["peak_memory_bytes"]}
    for name, value in expected.items():
        assert run.data.metrics[name] == float(f"{value:.6g}")
    assert "work/n_iter" not in run.data.metrics  # the record has none
    for name in ("experiment", "dataset", "method", "task", "status"):
        assert run.data.tags[name] == record[name]
    assert run.info.start_time == 1_700_000_000_000
    seconds = 12 + record["fit_seconds"] + record["predict_seconds"]
    assert run.info.end_time - run.info.start_time == pytest.approx(
        1000 * seconds, abs=2
    )
    (dataset_input,) = run.inputs.dataset_inputs
    assert (
        dataset_input.dataset.name == "heart: 100 rows, 13 features"
        and dataset_input.dataset.digest == "def"
    )
    artifacts = download_artifacts(uri, run, tmp_path)
    # Without the resolved configuration, which has megabytes for thousands of cells.
    assert artifacts.keys() == {"record.json"}
    assert json.loads(artifacts["record.json"]) == record


def test_moved_folder_is_logged_again(tmp_path, schema):
    """MLflow stores absolute paths of artifacts; the result files
    contain everything.
    """
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    (old / "mlflow.db").write_bytes(schema)
    log_records(RECORDS, experiment="demo", tracking_uri=f"sqlite:///{old}/mlflow.db")
    old.rename(new)
    uri = f"sqlite:///{new}/mlflow.db"
    for expected in ((6, 0, 0), (0, 6, 0)):
        assert log_records(RECORDS, experiment="demo", tracking_uri=uri) == expected
    assert all(run.info.artifact_uri.startswith(new.as_uri()) for run in find_runs(uri))


def test_repeats_are_nested_in_the_run_of_their_method(uri, log, tmp_path):
    config = yaml.safe_dump(
        {"method": {"dank": {"description": "DANK", "reference": "JMLR"}}}
    )
    log(RECORDS, config=config)
    cells, below = find_method_runs(uri)
    means = {}
    for method, cell in cells.items():
        first, second = (run.data.metrics["test/accuracy"] for run in below[method])
        means[method] = (first + second) / 2
        metrics, spread = cell.data.metrics, abs(first - second) / 2**0.5
        assert metrics["test/accuracy_mean"] == pytest.approx(means[method], rel=1e-5)
        assert metrics["test/accuracy_std"] == pytest.approx(spread, rel=1e-5)
        assert metrics["test/n"] == 2
        assert cell.data.params["C"] == "2.0" and "seed" not in cell.data.params
    assert cells[max(means, key=means.get)].data.metrics["test/rank"] == 1
    tags = cells["dank"].data.tags
    assert tags["mlflow.note.content"] == "DANK. JMLR"
    assert len(tags["mlflow.source.git.commit"]) == 40
    artifacts = download_artifacts(uri, cells["dank"], tmp_path)
    assert artifacts.keys() == {"repeats.csv", "scores.svg"}
    assert all(
        f">{shown}<" in artifacts["scores.svg"] for shown in ("heart", "dank", "svm-cv")
    )
    # A new repeat changes the mean; all repeats are nested in the new run.
    log([*RECORDS, make_record(method="dank", repeat=2)], config=config)
    _, below = find_method_runs(uri)
    assert (len(below["dank"]), len(below["svm-cv"])) == (3, 2)


def test_only_new_or_changed_runs_are_written(uri, log):
    assert log(RECORDS) == (6, 0, 0)
    before = {run.info.run_id for run in find_runs(uri)}
    assert log(RECORDS[::-1]) == (0, 6, 0)
    assert {run.info.run_id for run in find_runs(uri)} == before
    changed = [RECORDS[0] | {"fit_seconds": 99.0}, *RECORDS[1:]]
    assert log(changed) == (2, 4, 2), "the run of the repeat and that of its method"
    assert (
        sorted(run.data.metrics["time/fit_seconds"] for run in find_runs(uri))[-1]
        == 99.0
    )
    # Changed back: the first record is logged again, not restored from the deleted run.
    assert log(RECORDS) == (2, 4, 2)
    others = [make_record("sonar", "dank", k) for k in (0, 1)]
    assert log(others) == (3, 0, 0), "runs of other data sets stay"
    assert log([*others, *RECORDS]) == (0, 9, 0)
    # The new repeat and its method, and the other method if its rank changed.
    assert log([*RECORDS, make_record(repeat=2)])[:2] in ((2, 5), (3, 4))
    assert log(RECORDS[:3], prune=True).removed >= 5 and len(find_runs(uri)) == 3


def test_fitted_models_are_logged_and_registered(uri, tmp_path):
    """Each with its scores and the run of its method; a new fit
    replaces the old model.
    """
    for record in RECORDS:
        folder = tmp_path / f"{record['method']}{record['repeat']}"
        (folder / "code").mkdir(parents=True)
        for name in ("MLmodel", "code/a.py"):
            (folder / name).write_text(f"# {folder.name}\n")

    def folder_of(record):
        return tmp_path / f"{record['method']}{record['repeat']}"

    def log(records):
        return log_records(
            records, experiment="demo", tracking_uri=uri, models=folder_of, prune=True
        )

    log(RECORDS)
    client = MlflowClient(uri)
    number = client.get_experiment_by_name("demo").experiment_id
    cells, below = find_method_runs(uri)
    models = {m.source_run_id: m for m in client.search_logged_models([number])}
    assert len(models) == 4
    for method, runs in below.items():
        logged = [models[run.info.run_id] for run in runs]
        assert {m.model_id for m in logged} == {
            output.model_id for output in cells[method].outputs.model_outputs
        }
        for model, run in zip(logged, runs, strict=True):
            repeat = run.data.tags["repeat"]
            dataset = run.data.tags["dataset"]
            assert model.name == f"{dataset} {method} repeat {repeat}"
            scores = {m.key: m.value for m in model.metrics}
            assert scores == run.data.metrics
            folder = Path(urlsplit(model.artifact_location).path)
            assert (folder / "code" / "a.py").read_text() == f"# {method}{repeat}\n"

    results = tmp_path / "results" / "demo"
    results.mkdir(parents=True)
    (results / "ranks.csv").write_text("method,rank\ndank,1\nsvm-cv,2\n")
    for _ in range(2):  # registered once
        store.register(results, "good", uri)
    (version,) = client.search_model_versions("name = 'good'")
    best = next(run for run in below["dank"] if run.data.tags["repeat"] == "0")
    assert version.run_id == best.info.run_id
    assert (
        client.get_model_version_by_alias("good", "champion").version == version.version
    )
    assert "dank" in client.get_registered_model("good").description
    assert float(version.tags["test/accuracy"]) == best.data.metrics["test/accuracy"]

    log(RECORDS[:3])
    remaining = {m.source_run_id for m in client.search_logged_models([number])}
    assert (
        remaining == {run.info.run_id for run in find_runs(uri)} and len(remaining) == 3
    )


def test_failed_fit_is_a_failed_run_with_reason(uri, log):
    log([failed("heart", "dank", 0, reason="out of memory")])
    (run,) = find_runs(uri)
    assert run.info.status == "FAILED" and run.data.tags["reason"] == "out of memory"
    assert run.data.tags["status"] == "failed"


def test_experiments_are_separate_and_deleted_ones_are_restored(uri, log):
    log(RECORDS)
    log([record | {"experiment": "other"} for record in RECORDS], experiment="other")
    assert len(find_runs(uri)) == len(find_runs(uri, "other")) == 4
    assert not find_runs(uri, "Default")
    assert {run.data.tags["experiment"] for run in find_runs(uri, "other")} == {"other"}
    client = MlflowClient(uri)
    client.delete_experiment(client.get_experiment_by_name("demo").experiment_id)
    log(RECORDS)
    assert len(find_runs(uri)) == 4


def test_interrupted_run_is_written_again(uri, log, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(store, "_log_data", killed)
        with pytest.raises(KeyboardInterrupt):
            log(RECORDS[:1])
    interrupted = find_runs(uri, kinds=["method", "solve"])
    assert [run.info.status for run in interrupted] == ["RUNNING"] and log(
        RECORDS[:1]
    ) == (
        2,
        0,
        1,
    )
    assert [run.info.status for run in find_runs(uri)] == ["FINISHED"]


def test_more_params_than_one_mlflow_call_accepts(uri, log):
    params = {f"p{k}": k for k in range(250)} | {"long": "x" * 10_000}
    log([make_record(params=params, best_params={})])
    (run,) = find_runs(uri)
    assert len(run.data.params) == 255  # and the constants
    assert run.data.params["p249"] == "249" and len(run.data.params["long"]) == 6000


def test_single_summary_run_has_the_figures(uri, log, tmp_path):
    figure = tmp_path / "a.svg"
    for text, expected in (
        ("<svg/>", (1, 0, 0)),
        ("<svg/>", (0, 1, 0)),
        ("<svg>2", (1, 0, 1)),
    ):
        figure.write_text(text)
        assert log([], summary={"figures/a.svg": figure}) == expected
    log(RECORDS, prune=True)
    (run,) = find_runs(uri, kinds=["summary"])
    path = MlflowClient(uri).download_artifacts(run.info.run_id, "figures/a.svg")
    assert Path(path).read_text() == "<svg>2"


def test_name_of_swept_method_is_valid_in_mlflow(uri, tmp_path):
    results = tmp_path / "results" / "demo"
    records = [make_record(method=f"dank@eta={e}") for e in (0.1, 10.0)]
    write_records(results, [r | {"best_params": {"a=b": 1}} for r in records])
    assert track(results, tracking_uri=uri).written == 4


def test_copied_folder_is_a_separate_experiment(uri, tmp_path):
    for name in ("demo", "demo-backup"):
        write_records(tmp_path / name, RECORDS)
        assert track(tmp_path / name, tracking_uri=uri) == (6, 0, 0)
    assert track(tmp_path / "demo", tracking_uri=uri) == (0, 6, 0)


def test_records_of_removed_method_are_no_longer_tracked(uri, tmp_path):
    """Regression test: they are of the table before it changed, which was refused."""
    results = tmp_path / "demo"
    write_records(results, RECORDS)
    assert track(results, tracking_uri=uri) == (6, 0, 0)
    changed = [r | {"data_fingerprint": "new"} for r in RECORDS[:2]]
    write_records(results, changed)
    config = {"name": "demo", "compared": ["svm-cv"], "dataset": {"heart": {}}}
    (results / "run.yaml").write_text(yaml.safe_dump(config))
    track(results, tracking_uri=uri)
    names = sorted(run.info.run_name for run in find_runs(uri))
    assert names == ["demo: summary", "repeat 0", "repeat 1"]


def test_temporary_file_of_killed_writer_is_ignored(uri, tmp_path):
    """A kill between writing and renaming leaves a hidden file."""
    write_records(tmp_path / "demo", RECORDS)
    record_file = tmp_path / "demo" / "records" / "heart" / "dank" / "0-9.json"
    record_file.with_name(".0-9.json-nz_qky1l.json").write_text(record_file.read_text())
    (tmp_path / "demo" / ".ranks.csv-gyspwmm_.csv").write_text("task")
    assert record_file in find_records(tmp_path / "demo")
    assert track(tmp_path / "demo", tracking_uri=uri) == (6, 0, 0)
    assert len([*repeats_there(tmp_path, "records", "heart", "dank")]) == 2


def test_track_command_synchronises_mlflow_with_files(
    uri, tmp_path, capsys, monkeypatch
):
    results = tmp_path / "results" / "demo"
    write_records(results, RECORDS)
    (results / "summary.csv").write_text("task\n")
    assert track(results, tracking_uri=uri) == (7, 0, 0)
    assert track(results, tracking_uri=uri) == (0, 7, 0)
    (results / "records" / "heart" / "dank" / "0-9.json").unlink()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    main(["track", str(tmp_path / "results")])
    assert "demo: 1 run written, 3 up to date, 4 removed" in capsys.readouterr().out
    assert len(find_runs(uri)) == 3
    with pytest.raises(SystemExit, match="contains no records"):
        main(["track", str(tmp_path / "nothing")])


def test_unreachable_server_raises():
    address = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(OSError, match=rf"{address}.*saved in their files"):
        log_records(RECORDS, experiment="demo", tracking_uri=address)


def _another_version(path):
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("update alembic_version set version_num = 'ffffffffffff'")


def _cut_off(path):
    path.write_bytes(path.read_bytes()[:100_000])


def _folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_another_version, "another version of MLflow.*mlflow db upgrade"),
        (_cut_off, "is damaged: move it away"),
        (
            lambda path: path.write_bytes(b"not a table\n" * 500),
            "not an MLflow database",
        ),
        (_folder, "cannot be opened: name a file in a writable folder, and run"),
    ],
)
def test_invalid_database_prints_one_line(
    tmp_path, schema, monkeypatch, capsys, damage, message
):
    database = tmp_path / "mlflow.db"
    database.write_bytes(schema)
    damage(database)
    write_records(tmp_path / "results" / "demo", RECORDS)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{database}")
    with pytest.raises(
        SystemExit, match=f"{database} .*{message}.*saved in their files"
    ):
        main(["track", str(tmp_path / "results" / "demo")])
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.slow
def test_locked_database_prints_one_line(tmp_path, schema):
    database = tmp_path / "mlflow.db"
    database.write_bytes(schema)
    write_records(tmp_path / "demo", RECORDS)
    command = [sys.executable, "-m", "adakern_bench.cli.main", "track", tmp_path]
    env = os.environ | {"MLFLOW_TRACKING_URI": f"sqlite:///{database}"}
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as held:
        held.execute("begin exclusive")
        run = subprocess.run(command, capture_output=True, text=True, env=env)
    assert run.returncode == 1
    assert "is locked by another program" in run.stderr
    assert "Traceback" not in run.stderr and run.stderr.count("\n") < 3


def test_too_large_numbers_in_records(uri, tmp_path):
    results = tmp_path / "demo"
    write_records(results, RECORDS)
    numbers = {"seed": "9" * 20, "n_train": "-" + "9" * 30, "started_at": "9" * 200}
    for name, number in {**numbers, "rank": "9" * 5000}.items():
        for path in results.glob("records/heart/*/*.json"):
            records = json.loads(path.read_text())
            records[0][name] = f"<{number}>"
            text = re.sub(r'"<(-?9+)>"', r"\1", json.dumps(records))
            path.write_text(text)
            to_frame(read_records([path])).to_parquet(tmp_path / "records.parquet")
    assert track(results, tracking_uri=uri).written == 6


def test_results_of_deleted_experiment_are_outdated(uri, log, tmp_path):
    log(RECORDS)
    client, mark = MlflowClient(uri), tmp_path / "track.json"
    number = client.get_experiment_by_name("demo").experiment_id
    content = json.dumps({"tracking_uri": uri, "experiment_id": number})
    for remains, change in (
        (True, lambda: None),
        (False, lambda: client.delete_experiment(number)),
        (True, lambda: client.restore_experiment(number)),
        (False, Path(uri.removeprefix("sqlite:///")).unlink),
    ):
        mark.write_text(content)
        change()
        store.forget_lost(tmp_path)
        assert mark.exists() == remains


def test_import_of_tracking_does_not_import_mlflow():
    code = "import adakern_bench.tracking.track, sys; sys.exit('mlflow' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_two_processes_create_the_database(tmp_path):
    """Without a lock, concurrent migrations fail in every run."""
    records = tmp_path / "records.json"
    records.write_text(json.dumps(RECORDS))
    uri = f"sqlite:///{tmp_path / 'new' / 'mlflow.db'}"
    processes = [start_logging(records, uri) for _ in range(2)]
    assert [process.wait(120) for process in processes] == [0, 0]
    keys = sorted(run.data.tags["adakern.key"] for run in find_runs(uri))
    assert keys == ["heart/dank/0", "heart/dank/1", "heart/svm-cv/0", "heart/svm-cv/1"]
    assert len(find_method_runs(uri)[0]) == 2 and not find_runs(
        uri, view=ViewType.DELETED_ONLY
    )
