"""The console command: its live line, its errors, what it passes on."""

import io
import json
import logging
import re
import sys
from types import SimpleNamespace

import pytest
import yaml
from snakemake_interface_logger_plugins.common import LogEvent

from adakern_bench.cli import main as main_module
from adakern_bench.cli.main import main
from adakern_bench.cli.progress import Line
from adakern_bench.report.compare import compare
from adakern_bench.report.upcoming import Upcoming
from project import Run
from record_factory import demo_records, write_records
from snakemake_logger_plugin_adakern import LogHandler


def test_the_share_is_that_of_the_work():
    line = Line(io.StringIO())
    line.plan({1: {"": 1.0}, 2: {"dank": 3.0}, 3: {"svm": 10.0, "dank": 6.0}})
    shares = []
    for job in (99, 1, 2, 3):
        line.finish(job)
        shares.append(str(line.bar)[:5])
    line.end()
    assert shares == ["  0 %", "  5 %", " 20 %", "100 %"]


def test_what_is_left_is_said_by_method_to_other_terminals_too(tmp_path):
    """At the pace so far: 4 of 20 took 60 s."""
    line, file = Line(io.StringIO()), tmp_path / "progress"
    line.plan({1: {"": 4.0}, 2: {"dank": 3.0}, 3: {"svm": 10.0, "dank": 3.0}}, file)
    line.bar.start_t -= 60
    line.bar.last_print_t -= 60
    line.begin(1, "table: heart")
    assert line.left() == ""
    line.finish(1)
    assert re.fullmatch(r"svm 2 min 3\d s, dank 1 min 3\d s", line.left())
    line.begin(3, "cells: group 0")
    told = r"20 % · 01:0\d · about 04:\d\d left, cells: group 0; left: svm 2 min .*"
    assert re.fullmatch(told, file.read_text())
    # A job that has run for ten minutes is no reason to expect more of the others.
    line.bar.start_t -= 600
    assert re.match(r"20 % · 11:0\d · about 04:\d\d left", str(line.bar).strip())
    line.end()
    assert not file.exists()


def test_what_is_kept_of_another_experiment_is_said_and_not_counted(tmp_path):
    """The time of a repeat is that of those which are there: 2 s and 4 s."""
    file = tmp_path / "other" / "records" / "heart" / "dank" / "0-1.json"
    file.parent.mkdir(parents=True)
    one = {"status": "ok", "code_version": "c", "search_seconds": None}
    there = [one | {"repeat": k, "run_seconds": 2.0 + 2 * k} for k in (0, 1)]
    file.write_text(json.dumps(there))
    for repeats, said, missing in [
        (4, "dank 2 fits (about 6.0 s, 2 kept)", [2, 3]),
        (2, "0 fits (2 kept)", []),
    ]:
        told = Upcoming(tmp_path)
        told.add("heart", "dank", range(repeats), 9.0, "c")
        assert str(told).endswith(said)
        assert told.missing("heart", "dank", range(repeats), "c") == missing
    assert told.missing("heart", "dank", range(2), "other") == [0, 1]
    assert told.missing("heart", "dank", range(2), None) == [0, 1]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_the_line_tells_share_time_and_what_is_at_work(stream):
    line = Line(stream)
    line.plan({1: {"": 1.0}})
    line.begin(1, "solve: heart / dank")
    line.finish(1)
    assert re.search(r"^100 % .* left, solve: heart / dank$", str(line.bar))
    line.fail(7, ["logs/solve.log"])
    line.end()
    drawn = stream.getvalue()
    assert "Failed: job 7\n  Its log: logs/solve.log\n" in drawn
    assert ("\r" in drawn) == ("100 %" in drawn) == stream.isatty()


def record(message, level=logging.INFO, **facts):
    made = logging.LogRecord("snakemake", level, "", 0, message, None, None)
    vars(made).update(facts)
    return made


def test_snakemakes_events_are_a_line_and_its_errors_stay(capsys, tmp_path):
    handler = LogHandler(None, None)
    planned = {"planned": {2: {"": 1.0}}, "progress": tmp_path / "p"}
    handler.emit(record("To run: svm", **planned))
    facts = {"jobid": 2, "rule_msg": "search: sk-wine", "output": [], "log": ["a.log"]}
    handler.emit(record("Select jobs to execute..."))
    handler.emit(record("", event=LogEvent.JOB_INFO, **facts))
    where = 'WorkflowError in file "Snakefile", line 9:\nno such setting\n  File "x"'
    handler.emit(record(where, logging.ERROR))
    handler.emit(record("", logging.ERROR, event=LogEvent.JOB_ERROR, **facts))
    handler.emit(record("At least one job did not complete.", logging.ERROR))
    handler.close()
    said = [
        "To run: svm",
        "no such setting",
        "Failed: search: sk-wine",
        "  Its log: a.log",
    ]
    assert capsys.readouterr().err.splitlines() == said


def test_a_dry_run_of_ones_own_method_prints_the_command(project):
    """The class is found in methods/ from any folder, without the project on Python's
    path.
    """
    project.write(
        "methods/mine.py", "from sklearn.svm import SVC\nclass Mine(SVC):\n    pass\n"
    )
    project.add_classifier("mine", "{estimator: {_target_: methods.mine.Mine}}")
    paths = f"{project.root}/src:{project.root}/workflow"
    overrides = ["dataset=[sk-wine, clowns]", "method=[mine]", "tracking.enabled=false"]
    command = [
        sys.executable,
        "-m",
        "adakern_bench.cli.main",
        "run",
        "--dry-run",
        "--cores",
        "1",
    ]
    environment = project.environment | {"PYTHONPATH": paths}
    run = Run([*command, *overrides], project.root / "data", environment).ends()
    shown = "snakemake --cores 1 --config experiment=quickstart"
    assert f"{shown} 'overrides=dataset=[sk-wine,clowns] method=[mine]" in run.output
    assert not (project.root / "results").exists()


def test_wrong_settings_end_in_one_line(project):
    said = project.adakern("run", "quickstart", "dataset=[a,", status=1).stderr
    assert (
        "without blanks after commas: dataset=[a,b]" in said and "Traceback" not in said
    )
    with pytest.raises(SystemExit, match=r"no results in .* yet\. .* adakern run"):
        main(["show", "dank_uci", "protocol.seed=99", "results=nowhere"])
    project.write(
        "conf/dataset/mine.yaml", "task: classification\nfiles: [{path: mine.data}]\n"
    )
    said = project.adakern("run", "small", "dataset=[mine]", status=1).stderr
    assert "mine.data" in said and "Snakefile" not in said


def test_a_file_with_an_equals_sign_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a=b.csv").write_text("a,y\n1,2\n")
    with pytest.raises(
        SystemExit, match="--target, the column to predict, is required"
    ):
        main(["compare", "a=b.csv"])


def test_a_leaderboard_of_what_was_run(tmp_path, capsys):
    results = tmp_path / "quickstart"
    records = [record | {"search_seconds": 1.0} for record in demo_records()]
    compare(write_records(results, records), results)
    command = ["leaderboard", f"results={tmp_path}", "--allow-outside"]
    assert main([*command, "quickstart"]) == 0
    shown = capsys.readouterr().out
    for name, times in {
        "Classification": 1,
        "Regression": 1,
        "svm-cv": 2,
        "dank": 2,
    }.items():
        assert shown.count(name) == times
    _, heading, *rows = shown.strip().split("\n\n")[0].splitlines()
    columns = heading.split()
    ranks = [row.split()[columns.index("mean_rank")] for row in rows]
    assert ranks == sorted(ranks)
    assert all(re.fullmatch(r"\d\.\d{3}", rank) for rank in ranks)
    assert "source" not in columns  # nothing published is ranked
    with pytest.raises(SystemExit, match=r"no results in .* yet"):
        main([*command, "dank_uci"])
    with pytest.raises(SystemExit, match="results/gone is not a folder with results"):
        main(["leaderboard", "results/gone"])


def test_results_are_shown_by_the_name_that_the_run_was_given(tmp_path, monkeypatch):
    for name, experiment in {"mine": "dank_uci", "dank_uci": "quickstart"}.items():
        folder = tmp_path / "results" / name
        folder.mkdir(parents=True)
        config = {"experiment": experiment, "overrides": [f"name={name}"]}
        (folder / "run.yaml").write_text(yaml.safe_dump(config))
    monkeypatch.setattr(main_module, "ROOT", tmp_path)
    asked = SimpleNamespace(experiment="mine")
    found = main_module._selected(asked, ["metric=auc"])
    assert found == ["experiment=dank_uci", "name=mine", "metric=auc"]
    for name in ("dank_uci", "unknown"):
        asked = SimpleNamespace(experiment=name)
        assert main_module._selected(asked, []) == [f"experiment={name}"]
    # A folder of results is what ran there, whatever its name.
    asked = SimpleNamespace(experiment="results/dank_uci")
    found = main_module._selected(asked, [])
    assert found == ["experiment=quickstart", "name=dank_uci"]
    (tmp_path / "results" / "mine" / "run.yaml").write_text(
        yaml.safe_dump({"experiment": "dank_uci", "overrides": [], "name": "dank_uci"})
    )
    asked = SimpleNamespace(experiment="results/mine")  # which was copied
    assert main_module._selected(asked, []) == ["experiment=dank_uci", "name=mine"]
    asked = SimpleNamespace(experiment="results/../results/mine")
    with pytest.raises(SystemExit, match="is not a folder with results"):
        main_module._selected(asked, [])


def test_what_is_published_of_ones_own_table_is_what_ran(tmp_path, monkeypatch):
    """With the metric and the methods that were chosen; a new run asks the entry."""
    entry = tmp_path / "conf" / "dataset" / "my-t.yaml"
    kept = tmp_path / "results" / "my-t" / "run.yaml"
    for file, content in {
        entry: {"groups": "patient"},
        kept: {"experiment": "compare", "overrides": ["name=my-t", "metric=auc"]},
    }.items():
        file.parent.mkdir(parents=True)
        file.write_text(yaml.safe_dump(content))
    monkeypatch.setattr(main_module, "ROOT", tmp_path)
    asked = SimpleNamespace(experiment="my-t")
    finished = main_module._selected(asked, [])
    assert finished == ["experiment=compare", "name=my-t", "metric=auc"]
    assert "protocol.kind=group-holdout" in main_module._selected(
        asked, [], is_to_run=True
    )
