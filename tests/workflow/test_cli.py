"""The console command: its live line, its errors, what it passes on."""

import io
import re
import sys

import pytest

from adakern_bench.cli.main import main
from adakern_bench.cli.progress import Work, follow, sizes_of
from adakern_bench.cli.run import snakemake_command, start
from adakern_bench.config.plan import load_plan
from adakern_bench.report.compare import compare
from record_factory import demo_records, write_records

TALK = """
import sys
print('''%s''')
sys.exit(%d)
"""


def told(lines, status=0, plan=None):
    stream = io.StringIO()
    plan = plan or load_plan(["experiment=quickstart", "dataset=[sk-wine]"])
    talk = TALK % (lines, status)
    with start([sys.executable, "-c", talk]) as process:
        assert follow(process, plan, stream) == status
    return stream.getvalue()


def test_the_share_is_that_of_the_work():
    work = Work(
        {
            ("search", "iris", "svm-cv", "0-4"): 0.0,
            ("search", "heart", "svm-cv", "0-4"): 10.0,
            ("search", "sonar", "svm-cv", "0-4"): 30.0,
            ("search", "heart", "dank", "0-4"): 10.0,
        }
    )
    assert work.share is None
    work.finish(("search", "iris", "svm-cv", "0-4"), 2.0)
    work.finish(("search", "heart", "svm-cv", "0-4"), 7.0)
    # 2 s to start a job and 0.5 s a unit: 17 s for sonar, and 7 s for dank, as fast
    # as svm-cv for want of better knowledge.
    assert work.share == pytest.approx(9 / 33)
    work.finish(("search", "heart", "dank", "0-4"), 32.0)
    assert work.share == pytest.approx(41 / (41 + 17))
    work.finish(("search", "unknown", "x", "0-4"), 99.0)
    work.finish(("search", "sonar", "svm-cv", "0-4"), 15.0)
    assert work.share == 1.0


def test_the_comparison_and_the_report_are_work_too():
    work = Work({("solve", "iris", "svm-cv", "0-4"): 1.0}, n_closing=2)
    work.finish(("solve", "iris", "svm-cv", "0-4"), 2.0)
    assert work.share == pytest.approx(2 / (2 + 2 * 3 * 2))
    work.close(6.0)
    assert work.share == pytest.approx(8 / 14)
    work.close(5.0)
    assert work.share == 1.0


def test_nothing_is_foretold_before_enough_is_known():
    """The start of small jobs is not the speed of a method."""
    small = {("solve", f"s{k}", "svm-cv", "0-4"): 0.1 for k in range(20)}
    large = {("solve", f"d{k}", "dank", "0-4"): 50.0 for k in range(20)}
    work = Work(small | large)
    for key in small:
        work.finish(key, 3.0)
        assert work.share is None  # three hours by the start-up of small jobs
    work.finish(("solve", "d0", "dank", "0-4"), 53.0)
    assert work.share == pytest.approx((60 + 53) / (60 + 53 + 19 * 53))


def test_sizes_follow_the_grid_and_the_rows(tmp_path):
    plan = load_plan(
        [
            "experiment=quickstart",
            "dataset=[sk-wine,sk-breast-cancer]",
            "method=[svm-cv,dank]",
            f"results={tmp_path}",
            "--allow-outside",
        ]
    )
    sizes = sizes_of(plan)
    assert len(sizes) == 6  # dank takes over the searches of svm-cv
    search = sizes["search", "sk-wine", "svm-cv", "0-2"]
    assert search == pytest.approx(
        sizes["solve", "sk-wine", "svm-cv", "0-2"] * 3 * 6 * 6
    )
    assert sizes["search", "sk-breast-cancer", "svm-cv", "0-2"] > search
    record = plan.results / "records" / "sk-wine" / "dank" / "0-2.json"
    record.parent.mkdir(parents=True)
    record.touch()
    assert len(sizes_of(plan)) == 5


def test_work_that_goes_well_is_a_line_at_every_twentieth():
    text = told(
        """Building DAG of jobs...
Job stats:
job        count
-------  -------
search         1
solve          1
total          2

[Sun Nov 22 01:00:00 2026]
Job 2: search: sk-wine / svm-cv repeats 0-2
Reason: Missing output files
Finished jobid: 2 (Rule: search)
1 of 2 steps (50%) done
Job 3: solve: sk-wine / svm-cv repeats 0-2
Reason: Missing output files
Finished jobid: 3 (Rule: solve)
Job 4: compare: results/quickstart/summary.csv
Finished jobid: 4 (Rule: compare)
Job 5: report: results/quickstart/report.html
Finished jobid: 5 (Rule: report)
5 of 5 steps (100%) done""",
        plan=load_plan(
            [
                *("experiment=quickstart", "dataset=[sk-wine]", "method=[svm-cv]"),
                "tracking.enabled=false",
            ]
        ),
    )
    # Nothing after the search: nobody knows what a solve takes. Not all after the
    # solve: the comparison and the report are to come.
    *before, last = text.splitlines()
    assert re.match(r"100 % · \d+ s$", last)
    assert len(before) <= 2 and not any("100 %" in line for line in before)


def test_on_a_terminal_the_clock_runs_while_a_job_says_nothing():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    talk = "import time; print('Job 2: split: sk-wine', flush=True); time.sleep(2.5)"
    plan = load_plan(["experiment=quickstart", "dataset=[sk-wine]"])
    with start([sys.executable, "-c", talk]) as process:
        assert follow(process, plan, stream) == 0
    drawn = stream.getvalue().split("\r\033[K")
    clocks = {match[1] for d in drawn if (match := re.match(r"(\d+) s · split", d))}
    assert len(clocks) >= 2
    assert not any("%" in d or "left" in d for d in drawn)


def test_an_explained_error_stands_without_snakemakes_echo():
    text = told(
        """
FileNotFoundError in table: no mirror and no url has it

Error in rule table:
    message: data: heart
    jobid: 5
    output: data/tables/heart.npz
    log: data/tables/logs/heart.log (check log file(s) for error details)

RuleException:
CalledProcessError in file "/x/data.smk", line 22:
Command 'set -euo pipefail;  python x.py' returned non-zero exit status 1.
Exiting because a job execution failed. Look below for error messages
WorkflowError:
At least one job did not complete successfully.""",
        status=1,
    )
    assert text.splitlines() == [
        "FileNotFoundError in table: no mirror and no url has it",
        "  Its log: data/tables/logs/heart.log",
        "Stopped. What is finished is kept: the same command goes on from there. "
        "Snakemake's own account is in .snakemake/log.",
    ]


def test_an_error_that_nobody_explained_is_shown_in_full():
    text = told("Error in rule table:\\n    jobid: 5\\nMissingInputException", status=1)
    assert "Error in rule table:" in text and "jobid: 5" in text


def test_the_command_is_snakemakes():
    command = snakemake_command(["dataset=[a, b]", "protocol.repeats=3"], 2)
    assert command[1:5] == ["--cores", "2", "--config", "experiment=quickstart"]
    assert command[5] == "overrides=dataset=[a,b] protocol.repeats=3"


def test_a_dry_run_prints_the_command(project, monkeypatch, capfd):
    monkeypatch.setattr("adakern_bench.cli.main.CONF", project.root / "conf")
    overrides = ["dataset=[sk-wine]", "method=[svm-cv]", "tracking.enabled=false"]
    assert main(["run", "--dry-run", "--cores", "1", *overrides]) == 0
    shown = capfd.readouterr().out
    assert "snakemake --cores 1 --config experiment=quickstart" in shown
    assert not (project.root / "results").exists()


def test_wrong_settings_end_in_one_line(monkeypatch):
    with pytest.raises(SystemExit) as stopped:
        main(["run", "quickstart", "protocol.repeat=3"])
    assert "'repeat' is not a setting" in str(stopped.value)
    with pytest.raises(SystemExit, match=r"no blank after a comma: dataset=\[a,b\]"):
        main(["run", "quickstart", "dataset=[a,", "b]"])
    with pytest.raises(SystemExit, match=r"no results in .* yet\. .* adakern run"):
        main(["show", "dank_uci", "protocol.seed=99", "results=nowhere"])


def test_without_a_command_it_helps(capsys):
    assert main([]) == 0
    shown = capsys.readouterr().out
    for command in ("compare", "run", "show", "describe", "track", "publish"):
        assert command in shown


def test_a_leaderboard_of_what_was_run(tmp_path, capsys):
    results = tmp_path / "quickstart"
    records = [record | {"search_seconds": 1.0} for record in demo_records()]
    compare(write_records(results, records), results)
    assert (
        main(["leaderboard", "quickstart", f"results={tmp_path}", "--allow-outside"])
        == 0
    )
    shown = capsys.readouterr().out
    assert "Classification" in shown and "Regression" in shown
    for method in ("svm-cv", "krr-cv", "dank"):
        assert shown.count(method) == 2
    with pytest.raises(SystemExit, match=r"no results in .* yet"):
        main(["leaderboard", "dank_uci", f"results={tmp_path}", "--allow-outside"])
