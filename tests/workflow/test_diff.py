"""Comparison of two runs, and its exit status."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy import stats

from adakern.evaluation import FEWEST
from adakern_bench.cli.main import main
from adakern_bench.config.plan import load_plan
from adakern_bench.report.diff import (
    difference,
    read_run,
    sentence,
)
from record_factory import failed, make_record, write_records

DATASETS, REPEATS = ("heart", "sonar", "wine"), 8


def make_runs(change=0.0, slower=1.0, methods=("dank", "svm-cv"), **changes):
    """Records whose accuracy is changed by a slightly different amount each time."""
    records = []
    for dataset in DATASETS:
        for method in methods:
            for repeat in range(REPEATS):
                record = make_record(dataset, method, repeat, **changes)
                noise = np.random.default_rng(repeat).uniform(0.8, 1.2)
                if method == "dank":
                    record["metrics"]["test"]["accuracy"] += change * noise
                    record["fit_seconds"] *= slower**noise
                records.append(record)
    return records


@pytest.fixture
def compare_runs(tmp_path):
    """Return a function that writes two runs, compares them and runs the command."""

    def compare(before, after, *options):
        folders = tmp_path / "before", tmp_path / "after"
        for folder, records in zip(folders, (before, after), strict=True):
            write_records(folder, records)
        status = main(["diff", *map(str, folders), *options])
        differences = difference(*map(read_run, folders), 0.1)
        return differences, differences.cells, differences.methods, status

    return compare


def test_identical_runs_have_no_differences(compare_runs):
    differences, cells, methods, status = compare_runs(make_runs(), make_runs())
    assert status == 0 and len(cells) == 6 and len(methods) == 2
    assert not cells[["better", "worse", "failed", "faster", "slower"]].any(axis=None)
    assert (cells["ratio"] == 1).all()
    assert sentence(differences).startswith(
        "6 combinations of data set and method in both runs: 0 better, 0 worse"
    )


def test_worse_method_is_found_by_corrected_ttest(compare_runs):
    before, after = make_runs(), make_runs(change=-0.05)
    _, cells, _, status = compare_runs(before, after)
    assert status == 1
    assert cells.loc[cells["worse"], "method"].eq("dank").all()
    assert cells["worse"].sum() == 3 and not cells["better"].any()
    # Nadeau and Bengio's test, written out.
    cell = cells.query("dataset == 'heart' and method == 'dank'").iloc[0]
    of_heart = [
        [r["metrics"]["test"]["accuracy"] for r in records if r["dataset"] == "heart"]
        for records in (before, after)
    ]
    d = np.subtract(*of_heart)[:REPEATS]
    t = d.mean() / np.sqrt((1 / REPEATS + 40 / 60) * d.var(ddof=1))
    assert cell["score_pvalue"] == pytest.approx(2 * stats.t.sf(abs(t), REPEATS - 1))
    better = compare_runs(after, before)
    assert better[-1] == 0 and better[1]["better"].sum() == 3


def test_slower_fit_is_reported_beyond_tolerance(compare_runs):
    *_, cells, _, status = compare_runs(make_runs(), make_runs(slower=3.0))
    assert status == 1 and cells["slower"].sum() == 3
    *_, status = compare_runs(make_runs(), make_runs(slower=3.0), "--tolerance", "5")
    assert status == 0


def test_new_failures_and_unpaired_cells(compare_runs):
    after = make_runs(methods=("dank",))
    after[0] = failed("heart", "dank", 0)
    differences, cells, methods, status = compare_runs(make_runs(), after)
    assert status == 1 and cells["failed"].sum() == 1
    assert methods.set_index("method").loc["dank", "failed"]
    assert {method for *_, method in differences.only_before} == {"svm-cv"}
    assert "3 only before" in sentence(differences)


def test_runs_on_different_rows_are_not_paired(compare_runs, capsys):
    changed = make_runs(data_fingerprint="another")
    differences, cells, _, status = compare_runs(make_runs(), changed)
    assert status == 2 and not len(cells) and len(differences.other_splits) == 6
    assert "no data set, method and repeat in common" in capsys.readouterr().out


def test_page_escapes_names(compare_runs, tmp_path):
    before, after = make_runs(methods=("<b>",)), make_runs(methods=("<b>", "dank"))
    compare_runs(before, after, "--page", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<td>&lt;b&gt;</td>" in page and "<td><b></td>" not in page
    assert "Only in" in page and "dank" in page


def test_read_run_from_published_folder_at_commit():
    run = read_run("docs/results/uci121_version7@HEAD")
    assert len(run) == 264


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["diff", "nowhere", "docs/results/srbench"], "no records in nowhere"),
        (["diff", "docs/results/srbench@nothing", "conf"], "git has no nothing"),
        (["diff", "conf", "conf", "--tolerance", "nan"], "at least 0"),
    ],
)
def test_invalid_arguments_raise(arguments, message):
    with pytest.raises(SystemExit, match=message):
        main(arguments)


def test_documented_github_action_compares_its_own_runs():
    page = (Path(__file__).parents[2] / "docs" / "workflow.md").read_text()
    (text,) = re.findall(r"```yaml\n(# \.github.*?)```", page, re.DOTALL)
    (job,) = yaml.safe_load(text)["jobs"].values()
    steps = [step["run"] for step in job["steps"] if "run" in step]
    folders = []
    for step in steps[:2]:
        settings = re.fullmatch(r'make run OVERRIDES="(.*)"', step)[1]
        settings = settings.replace("$COMPARED", job["env"]["COMPARED"]).split()
        plan = load_plan(["experiment=quickstart", *settings])
        assert plan.config.protocol.repeats >= FEWEST and len(plan.methods) > 1
        folders.append(str(plan.results))
    assert steps[2].split()[1:4] == ["diff", *folders]
