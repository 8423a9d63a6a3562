"""The command line: progress, errors and the commands that it runs."""

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


def test_progress_is_weighted_by_cost():
    line = Line(io.StringIO())
    line.plan({1: {"": 1.0}, 2: {"dank": 3.0}, 3: {"svm": 10.0, "dank": 6.0}})
    shares = []
    for job in (99, 1, 2, 3):
        line.finish(job)
        shares.append(str(line.bar)[:5])
    line.end()
    assert shares == ["  0 %", "  5 %", " 20 %", "100 %"]


def test_remaining_time_per_method_is_shown_and_written(tmp_path):
    """Extrapolated from the pace so far: 4 of 20 units took 60 s."""
    line, file = Line(io.StringIO()), tmp_path / "progress"
    line.plan({1: {"": 4.0}, 2: {"dank": 3.0}, 3: {"svm": 10.0, "dank": 3.0}}, file)
    line.bar.start_t -= 60
    line.bar.last_print_t -= 60
    line.begin(1, "table: heart")
    assert line.left() == ""
    line.finish(1)
    assert re.fullmatch(r"svm 2 min 3\d s, dank 1 min 3\d s", line.left())
    line.begin(3, "cells: group 0")
    expected = r"20 % · 01:0\d · about 04:\d\d left, cells: group 0; left: svm 2 min .*"
    assert re.fullmatch(expected, file.read_text())
    # A job that runs for ten minutes does not change the estimate for the others.
    line.bar.start_t -= 600
    assert re.match(r"20 % · 11:0\d · about 04:\d\d left", str(line.bar).strip())
    line.end()
    assert not file.exists()


def test_reused_fits_are_announced_and_not_counted(tmp_path):
    """The cost of a repeat is the mean of the existing ones: 2 s and 4 s."""
    file = tmp_path / "other" / "records" / "heart" / "dank" / "0-1.json"
    file.parent.mkdir(parents=True)
    record = {"status": "ok", "code_version": "c", "search_seconds": None}
    records = [record | {"repeat": k, "run_seconds": 2.0 + 2 * k} for k in (0, 1)]
    file.write_text(json.dumps(records))
    for repeats, summary, missing in [
        (4, "\n  dank: 2 fits (about 6.0 s, 2 kept)", [2, 3]),
        (2, "\n  dank: 0 fits (2 kept)", []),
    ]:
        upcoming = Upcoming(tmp_path)
        upcoming.add("heart", "dank", range(repeats), 9.0, "c")
        assert str(upcoming).endswith(summary)
        assert upcoming.missing("heart", "dank", range(repeats), "c") == missing
    assert upcoming.missing("heart", "dank", range(2), "other") == [0, 1]
    assert upcoming.missing("heart", "dank", range(2), None) == [0, 1]


def test_announcement_of_many_methods(tmp_path):
    upcoming = Upcoming(tmp_path)
    for k in range(1, 15):
        upcoming.add("heart", f"m{k}", range(2), k / 100, "c")
    first, slowest, *_, last = str(upcoming).splitlines()
    assert first == "To run: 28 fits (about 2.1 s)"
    assert slowest == "  m14: 2 fits (about 0.3 s)"
    assert last == "  4 more methods: 8 fits (about 0.2 s)"
    upcoming.add("heart", "new", [0], float("nan"), "c")
    assert str(upcoming).splitlines()[1] == "  new: 1 fit (time unknown)"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_progress_line_shows_percentage_time_and_current_job(stream):
    line = Line(stream)
    line.plan({1: {"": 1.0}})
    line.begin(1, "solve: heart / dank")
    line.finish(1)
    assert re.search(r"^100 % .* left, solve: heart / dank$", str(line.bar))
    line.fail(7, ["logs/solve.log"])
    line.end()
    output = stream.getvalue()
    assert "Failed: job 7\n  Its log: logs/solve.log\n" in output
    assert ("\r" in output) == ("100 %" in output) == stream.isatty()


def log_record(message, level=logging.INFO, **attributes):
    record = logging.LogRecord("snakemake", level, "", 0, message, None, None)
    vars(record).update(attributes)
    return record


def test_snakemake_events_update_the_line_and_errors_are_kept(capsys, tmp_path):
    handler = LogHandler(None, None)
    planned = {"planned": {2: {"": 1.0}}, "progress": tmp_path / "p"}
    handler.emit(log_record("To run: svm", **planned))
    facts = {"jobid": 2, "rule_msg": "search: sk-wine", "output": [], "log": ["a.log"]}
    handler.emit(log_record("Select jobs to execute..."))
    handler.emit(log_record("", event=LogEvent.JOB_INFO, **facts))
    where = 'WorkflowError in file "Snakefile", line 9:\nno such setting\n  File "x"'
    handler.emit(log_record(where, logging.ERROR))
    handler.emit(log_record("", logging.ERROR, event=LogEvent.JOB_ERROR, **facts))
    handler.emit(log_record("At least one job did not complete.", logging.ERROR))
    handler.close()
    expected = [
        "To run: svm",
        "no such setting",
        "Failed: search: sk-wine",
        "  Its log: a.log",
    ]
    assert capsys.readouterr().err.splitlines() == expected


def test_dry_run_of_custom_method_prints_the_command(project):
    """A class in methods/ is found from any folder, without the project on sys.path."""
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
    snakemake = "snakemake --cores 1 --config experiment=quickstart"
    assert (
        f"{snakemake} 'overrides=dataset=[sk-wine,clowns] method=[mine]" in run.output
    )
    assert not (project.root / "results").exists()


def test_wrong_settings_raise_one_line_errors(project):
    message = project.adakern("run", "quickstart", "dataset=[a,", status=1).stderr
    assert (
        "without blanks after commas: dataset=[a,b]" in message
        and "Traceback" not in message
    )
    with pytest.raises(SystemExit, match=r"no results in .* yet\. .* adakern run"):
        main(["show", "dank_uci", "protocol.seed=99", "results=nowhere"])
    project.write(
        "conf/dataset/mine.yaml", "task: classification\nfiles: [{path: mine.data}]\n"
    )
    message = project.adakern("run", "small", "dataset=[mine]", status=1).stderr
    assert "mine.data" in message and "Snakefile" not in message


def test_file_name_with_equals_sign_is_not_an_override(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a=b.csv").write_text("a,y\n1,2\n")
    with pytest.raises(
        SystemExit, match="--target, the column to predict, is required"
    ):
        main(["compare", "a=b.csv"])


def test_leaderboard_of_an_experiment(tmp_path, capsys):
    results = tmp_path / "quickstart"
    records = [record | {"search_seconds": 1.0} for record in demo_records()]
    compare(write_records(results, records), results)
    command = ["leaderboard", f"results={tmp_path}", "--allow-outside"]
    assert main([*command, "quickstart"]) == 0
    output = capsys.readouterr().out
    for name, times in {
        "Classification": 1,
        "Regression": 1,
        "svm-cv": 2,
        "dank": 2,
    }.items():
        assert output.count(name) == times
    _, heading, *rows = output.strip().split("\n\n")[0].splitlines()
    columns = heading.split()
    ranks = [row.split()[columns.index("mean_rank")] for row in rows]
    assert ranks == sorted(ranks)
    assert all(re.fullmatch(r"\d\.\d{3}", rank) for rank in ranks)
    assert "source" not in columns  # no published results are ranked
    with pytest.raises(SystemExit, match=r"no results in .* yet"):
        main([*command, "dank_uci"])
    with pytest.raises(SystemExit, match="results/gone is not a folder with results"):
        main(["leaderboard", "results/gone"])


def test_show_selects_results_by_run_name(tmp_path, monkeypatch):
    for name, experiment in {"mine": "dank_uci", "dank_uci": "quickstart"}.items():
        folder = tmp_path / "results" / name
        folder.mkdir(parents=True)
        config = {"experiment": experiment, "overrides": [f"name={name}"]}
        (folder / "run.yaml").write_text(yaml.safe_dump(config))
    monkeypatch.setattr(main_module, "ROOT", tmp_path)
    arguments = SimpleNamespace(experiment="mine")
    selected = main_module._selected(arguments, ["metric=auc"])
    assert selected == ["experiment=dank_uci", "name=mine", "metric=auc"]
    for name in ("dank_uci", "unknown"):
        arguments = SimpleNamespace(experiment=name)
        assert main_module._selected(arguments, []) == [f"experiment={name}"]
    # For a folder of results its run.yaml counts, not its name.
    arguments = SimpleNamespace(experiment="results/dank_uci")
    selected = main_module._selected(arguments, [])
    assert selected == ["experiment=quickstart", "name=dank_uci"]
    (tmp_path / "results" / "mine" / "run.yaml").write_text(
        yaml.safe_dump({"experiment": "dank_uci", "overrides": [], "name": "dank_uci"})
    )
    arguments = SimpleNamespace(experiment="results/mine")  # a copied folder
    assert main_module._selected(arguments, []) == ["experiment=dank_uci", "name=mine"]
    arguments = SimpleNamespace(experiment="results/../results/mine")
    with pytest.raises(SystemExit, match="is not a folder with results"):
        main_module._selected(arguments, [])


def test_publish_of_own_table_uses_the_settings_of_its_run(tmp_path, monkeypatch):
    """With the metric and methods of that run; a new run uses the settings of the
    entry.
    """
    entry = tmp_path / "conf" / "dataset" / "my-t.yaml"
    run_file = tmp_path / "results" / "my-t" / "run.yaml"
    for file, content in {
        entry: {"groups": "patient"},
        run_file: {"experiment": "compare", "overrides": ["name=my-t", "metric=auc"]},
    }.items():
        file.parent.mkdir(parents=True)
        file.write_text(yaml.safe_dump(content))
    monkeypatch.setattr(main_module, "ROOT", tmp_path)
    arguments = SimpleNamespace(experiment="my-t")
    finished = main_module._selected(arguments, [])
    assert finished == ["experiment=compare", "name=my-t", "metric=auc"]
    assert "protocol.kind=group-holdout" in main_module._selected(
        arguments, [], is_to_run=True
    )
