"""MLflow holds what the files say: once, whole, in the right experiment."""

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
    """Log records of the experiment that they are of, to the test's database."""
    return partial(log_records, experiment="demo", tracking_uri=uri)


@pytest.mark.slow
def test_a_kill_while_the_tables_are_made(tmp_path):
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


def test_a_folder_may_have_any_name(tmp_path, monkeypatch):
    results = tmp_path / "a 'b' \"c\" :d `e` $f ü %s?#;&" / "results" / "demo"
    write_records(results, RECORDS)
    monkeypatch.chdir(results.parents[1])
    assert track(results, tracking_uri="sqlite:///mlflow.db").written == 6
    assert Path("mlartifacts", "demo").is_dir() and not Path("mlruns").exists()
    assert track(results, tracking_uri="sqlite:///mlflow.db").written == 0


def runs_of(
    uri, experiment="demo", view=ViewType.ACTIVE_ONLY, kinds=("solve", "summary")
):
    client = MlflowClient(uri)
    found = client.get_experiment_by_name(experiment)
    runs = client.search_runs([found.experiment_id], run_view_type=view)
    return [run for run in runs if run.data.tags["kind"] in kinds]


def cells_of(uri):
    """The runs of the methods, by name; and the runs below each."""
    cells = {run.data.tags["method"]: run for run in runs_of(uri, kinds=["method"])}
    below = {method: [] for method in cells}
    for run in runs_of(uri):
        method = run.data.tags["method"]
        assert run.data.tags["mlflow.parentRunId"] == cells[method].info.run_id
        below[method].append(run)
    return cells, below


def artifacts_of(uri, run, folder):
    """Name -> text, as a notebook asks for them, without a server."""
    client, number = MlflowClient(uri), run.info.run_id
    names = [file.path for file in client.list_artifacts(number)]
    paths = [client.download_artifacts(number, name, str(folder)) for name in names]
    return {
        n: Path(path).read_text("utf-8") for n, path in zip(names, paths, strict=True)
    }


def test_a_run_says_what_its_record_says(uri, log, tmp_path):
    params = {"C": 2.0, "eta": "svm", "deep": {"b": 1}}
    found = {"best_params": {"C": 2.0}, "rank": 5, "search_seconds": 12.0}
    record = make_record(params=params, started_at=1_700_000_000.0, **found)
    log([record], config="name: demo\n")
    (run,) = runs_of(uri)
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
    solved = 12 + record["fit_seconds"] + record["predict_seconds"]
    assert run.info.end_time - run.info.start_time == pytest.approx(
        1000 * solved, abs=2
    )
    (used,) = run.inputs.dataset_inputs
    assert (
        used.dataset.name == "heart: 100 rows, 13 features"
        and used.dataset.digest == "def"
    )
    artifacts = artifacts_of(uri, run, tmp_path)
    # Not the resolved configuration, which has megabytes if the cells are thousands.
    assert artifacts.keys() == {"record.json"}
    assert json.loads(artifacts["record.json"]) == record


def test_a_folder_that_was_moved_is_logged_anew(tmp_path, schema):
    """Its artifacts stay where it was; the files of results say all there is."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    (old / "mlflow.db").write_bytes(schema)
    log_records(RECORDS, experiment="demo", tracking_uri=f"sqlite:///{old}/mlflow.db")
    old.rename(new)
    uri = f"sqlite:///{new}/mlflow.db"
    for expected in ((6, 0, 0), (0, 6, 0)):
        assert log_records(RECORDS, experiment="demo", tracking_uri=uri) == expected
    assert all(run.info.artifact_uri.startswith(new.as_uri()) for run in runs_of(uri))


def test_repeats_stand_below_a_run_of_their_method(uri, log, tmp_path):
    config = yaml.safe_dump(
        {"method": {"dank": {"description": "DANK", "reference": "JMLR"}}}
    )
    log(RECORDS, config=config)
    cells, below = cells_of(uri)
    means = {}
    for method, cell in cells.items():
        first, second = (run.data.metrics["test/accuracy"] for run in below[method])
        means[method] = (first + second) / 2
        found, spread = cell.data.metrics, abs(first - second) / 2**0.5
        assert found["test/accuracy_mean"] == pytest.approx(means[method], rel=1e-5)
        assert found["test/accuracy_std"] == pytest.approx(spread, rel=1e-5)
        assert found["test/n"] == 2
        assert cell.data.params["C"] == "2.0" and "seed" not in cell.data.params
    assert cells[max(means, key=means.get)].data.metrics["test/rank"] == 1
    tags = cells["dank"].data.tags
    assert tags["mlflow.note.content"] == "DANK. JMLR"
    assert len(tags["mlflow.source.git.commit"]) == 40
    artifacts = artifacts_of(uri, cells["dank"], tmp_path)
    assert artifacts.keys() == {"repeats.csv", "scores.svg"}
    assert all(
        f">{shown}<" in artifacts["scores.svg"] for shown in ("heart", "dank", "svm-cv")
    )
    # A new repeat makes the mean another one; all repeats move below the new run.
    log([*RECORDS, make_record(method="dank", repeat=2)], config=config)
    _, below = cells_of(uri)
    assert (len(below["dank"]), len(below["svm-cv"])) == (3, 2)


def test_only_what_is_new_or_changed_is_written(uri, log):
    assert log(RECORDS) == (6, 0, 0)
    before = {run.info.run_id for run in runs_of(uri)}
    assert log(RECORDS[::-1]) == (0, 6, 0)
    assert {run.info.run_id for run in runs_of(uri)} == before
    changed = [RECORDS[0] | {"fit_seconds": 99.0}, *RECORDS[1:]]
    assert log(changed) == (2, 4, 2), "the run of the repeat and that of its method"
    assert (
        sorted(run.data.metrics["time/fit_seconds"] for run in runs_of(uri))[-1] == 99.0
    )
    # And back: the first record is logged anew, not taken from the deleted run.
    assert log(RECORDS) == (2, 4, 2)
    others = [make_record("sonar", "dank", k) for k in (0, 1)]
    assert log(others) == (3, 0, 0), "runs of other data sets stay"
    assert log([*others, *RECORDS]) == (0, 9, 0)
    # The new repeat and its method; the other one where its rank moved.
    assert log([*RECORDS, make_record(repeat=2)])[:2] in ((2, 5), (3, 4))
    assert log(RECORDS[:3], prune=True).removed >= 5 and len(runs_of(uri)) == 3


def test_fitted_models_are_reached_from_the_experiment_and_registered(uri, tmp_path):
    """Each with its scores and its method's run; what a new fit replaces goes."""
    parts = {}
    for record in RECORDS:
        folder = tmp_path / f"{record['method']}{record['repeat']}"
        (folder / "code").mkdir(parents=True)
        for name in ("MLmodel", "code/a.py"):
            (folder / name).write_text(f"# {folder.name}\n")
        parts[folder.name] = {n: folder / n for n in ("MLmodel", "code/a.py")}

    def files_of(record):
        return parts[f"{record['method']}{record['repeat']}"]

    def log(records):
        return log_records(
            records, experiment="demo", tracking_uri=uri, models=files_of, prune=True
        )

    log(RECORDS)
    client = MlflowClient(uri)
    number = client.get_experiment_by_name("demo").experiment_id
    cells, below = cells_of(uri)
    models = {m.source_run_id: m for m in client.search_logged_models([number])}
    assert len(models) == 4
    for method, runs in below.items():
        made = [models[run.info.run_id] for run in runs]
        assert {m.model_id for m in made} == {
            output.model_id for output in cells[method].outputs.model_outputs
        }
        for model, run in zip(made, runs, strict=True):
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
    for _ in range(2):  # once
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
    left = {m.source_run_id for m in client.search_logged_models([number])}
    assert left == {run.info.run_id for run in runs_of(uri)} and len(left) == 3


def test_a_failed_fit_is_a_failed_run_with_its_reason(uri, log):
    log([failed("heart", "dank", 0, reason="out of memory")])
    (run,) = runs_of(uri)
    assert run.info.status == "FAILED" and run.data.tags["reason"] == "out of memory"
    assert run.data.tags["status"] == "failed"


def test_no_run_goes_to_another_experiment_and_a_deleted_one_comes_back(uri, log):
    log(RECORDS)
    log([record | {"experiment": "other"} for record in RECORDS], experiment="other")
    assert len(runs_of(uri)) == len(runs_of(uri, "other")) == 4
    assert not runs_of(uri, "Default")
    assert {run.data.tags["experiment"] for run in runs_of(uri, "other")} == {"other"}
    client = MlflowClient(uri)
    client.delete_experiment(client.get_experiment_by_name("demo").experiment_id)
    log(RECORDS)
    assert len(runs_of(uri)) == 4


def test_a_run_cut_short_is_written_again(uri, log, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(store, "_log_data", killed)
        with pytest.raises(KeyboardInterrupt):
            log(RECORDS[:1])
    cut = runs_of(uri, kinds=["method", "solve"])
    assert [run.info.status for run in cut] == ["RUNNING"] and log(RECORDS[:1]) == (
        2,
        0,
        1,
    )
    assert [run.info.status for run in runs_of(uri)] == ["FINISHED"]


def test_more_than_mlflow_takes_in_one_call(uri, log):
    params = {f"p{k}": k for k in range(250)} | {"long": "x" * 10_000}
    log([make_record(params=params, best_params={})])
    (run,) = runs_of(uri)
    assert len(run.data.params) == 255  # and the constants
    assert run.data.params["p249"] == "249" and len(run.data.params["long"]) == 6000


def test_the_summary_run_has_the_figures_and_is_one(uri, log, tmp_path):
    figure = tmp_path / "a.svg"
    for text, expected in (
        ("<svg/>", (1, 0, 0)),
        ("<svg/>", (0, 1, 0)),
        ("<svg>2", (1, 0, 1)),
    ):
        figure.write_text(text)
        assert log([], summary={"figures/a.svg": figure}) == expected
    log(RECORDS, prune=True)
    (run,) = runs_of(uri, kinds=["summary"])
    kept = MlflowClient(uri).download_artifacts(run.info.run_id, "figures/a.svg")
    assert Path(kept).read_text() == "<svg>2"


def test_a_swept_method_has_a_name_that_mlflow_takes(uri, tmp_path):
    results = tmp_path / "results" / "demo"
    records = [make_record(method=f"dank@eta={e}") for e in (0.1, 10.0)]
    write_records(results, [r | {"best_params": {"a=b": 1}} for r in records])
    assert track(results, tracking_uri=uri).written == 4


def test_a_copied_folder_is_an_experiment_of_its_own(uri, tmp_path):
    for name in ("demo", "demo-backup"):
        write_records(tmp_path / name, RECORDS)
        assert track(tmp_path / name, tracking_uri=uri) == (6, 0, 0)
    assert track(tmp_path / "demo", tracking_uri=uri) == (0, 6, 0)


def test_what_a_killed_writer_left_is_no_result(uri, tmp_path):
    """SIGKILL between writing and renaming leaves a hidden file."""
    write_records(tmp_path / "demo", RECORDS)
    kept = tmp_path / "demo" / "records" / "heart" / "dank" / "0-9.json"
    kept.with_name(".0-9.json-nz_qky1l.json").write_text(kept.read_text())
    (tmp_path / "demo" / ".ranks.csv-gyspwmm_.csv").write_text("task")
    assert kept in find_records(tmp_path / "demo")
    assert track(tmp_path / "demo", tracking_uri=uri) == (6, 0, 0)
    assert len([*repeats_there(tmp_path, "records", "heart", "dank")]) == 2


def test_rebuild_makes_mlflow_say_what_the_files_say(
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
    assert len(runs_of(uri)) == 3
    with pytest.raises(SystemExit, match="contains no records"):
        main(["track", str(tmp_path / "nothing")])


def test_a_server_that_does_not_answer_is_named_at_once():
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
    ("spoil", "words"),
    [
        (_another_version, "another version of MLflow.*mlflow db upgrade"),
        (_cut_off, "is damaged: move it away"),
        (
            lambda path: path.write_bytes(b"not a table\n" * 500),
            "not an MLflow database",
        ),
        (_folder, "cannot be opened: it must be a file"),
    ],
)
def test_a_database_that_is_none_ends_in_a_sentence(
    tmp_path, schema, monkeypatch, capsys, spoil, words
):
    database = tmp_path / "mlflow.db"
    database.write_bytes(schema)
    spoil(database)
    write_records(tmp_path / "results" / "demo", RECORDS)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{database}")
    with pytest.raises(SystemExit, match=f"{database} .*{words}.*saved in their files"):
        main(["track", str(tmp_path / "results" / "demo")])
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.slow
def test_a_locked_database_ends_in_a_sentence(tmp_path, schema):
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


def test_numbers_that_no_table_takes(uri, tmp_path):
    results = tmp_path / "demo"
    write_records(results, RECORDS)
    spoilt = {"seed": "9" * 20, "n_train": "-" + "9" * 30, "started_at": "9" * 200}
    for name, number in {**spoilt, "rank": "9" * 5000}.items():
        for path in results.glob("records/heart/*/*.json"):
            records = json.loads(path.read_text())
            records[0][name] = f"<{number}>"
            text = re.sub(r'"<(-?9+)>"', r"\1", json.dumps(records))
            path.write_text(text)
            to_frame(read_records([path])).to_parquet(tmp_path / "records.parquet")
    assert track(results, tracking_uri=uri).written == 6


def test_results_whose_experiment_was_deleted_are_not_up_to_date(uri, log, tmp_path):
    log(RECORDS)
    client, mark = MlflowClient(uri), tmp_path / "track.json"
    number = client.get_experiment_by_name("demo").experiment_id
    said = json.dumps({"tracking_uri": uri, "experiment_id": number})
    for stays, change in (
        (True, lambda: None),
        (False, lambda: client.delete_experiment(number)),
        (True, lambda: client.restore_experiment(number)),
        (False, Path(uri.removeprefix("sqlite:///")).unlink),
    ):
        mark.write_text(said)
        change()
        store.forget_lost(tmp_path)
        assert mark.exists() == stays


def test_importing_does_not_import_mlflow():
    code = "import adakern_bench.tracking.track, sys; sys.exit('mlflow' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_two_processes_on_a_cold_database(tmp_path):
    """The migration race loses every run where nobody guards it."""
    records = tmp_path / "records.json"
    records.write_text(json.dumps(RECORDS))
    uri = f"sqlite:///{tmp_path / 'new' / 'mlflow.db'}"
    processes = [start_logging(records, uri) for _ in range(2)]
    assert [process.wait(120) for process in processes] == [0, 0]
    keys = sorted(run.data.tags["adakern.key"] for run in runs_of(uri))
    assert keys == ["heart/dank/0", "heart/dank/1", "heart/svm-cv/0", "heart/svm-cv/1"]
    assert len(cells_of(uri)[0]) == 2 and not runs_of(uri, view=ViewType.DELETED_ONLY)
