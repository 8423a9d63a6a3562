"""Every stage runs by hand as it does in the workflow."""

import subprocess
import sys

import pytest


def by_hand(project, stage, *overrides):
    return subprocess.run(
        [sys.executable, "-m", f"adakern.bench.stages.{stage}", *overrides],
        cwd=project.root,
        env=project.environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_solve_makes_what_it_needs_and_snakemake_agrees(project):
    selection = ["experiment=small", "method=[svm-cv]", "protocol.repeats=1"]
    run = by_hand(project, "solve", *selection)
    assert run.returncode == 0, run.stderr
    (record,) = project.records(method="svm-cv")
    assert record["status"] == "ok" and set(record["best_params"]) == {"C", "gamma"}
    made = run.stdout.split()
    assert [path.split("/")[-1] for path in made] == [
        "clowns.npz",
        "clowns.npz",
        "0-0.json",
        "0-0.cv.csv",
        "0-0.json",
    ]
    # No outputs/ tree of Hydra's, nothing but results and data.
    assert not (project.root / "outputs").exists()

    first = (project.root / "results/small/splits/clowns.npz").stat().st_mtime_ns
    again = by_hand(project, "solve", *selection)
    assert again.stdout.split() == made[-1:], "only the stage itself runs again"
    second = (project.root / "results/small/splits/clowns.npz").stat().st_mtime_ns
    assert first == second
    (same,) = project.records(method="svm-cv")
    assert same["metrics"] == record["metrics"]


@pytest.mark.parametrize("stage", ["solve", "study"])
def test_help(shared_project, stage):
    run = by_hand(shared_project, stage, "--help")
    assert run.returncode == 0
    assert f"Stage ``{stage}``" in run.stdout
    assert "python -m adakern.bench.stages" in run.stdout


def test_a_mistake_is_one_line_and_no_traceback(shared_project):
    run = by_hand(shared_project, "solve", "experiment=small", "method=[plane]")
    assert run.returncode == 1
    assert "Did you mean 'plain'?" in run.stderr
    assert "Traceback" not in run.stderr
