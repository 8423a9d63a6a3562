"""One command from a file of one's own to its comparison."""

import shutil
import subprocess
import sys
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest

from adakern_bench.cli.main import main
from adakern_bench.config.plan import load_plan

REPOSITORY = Path(__file__).resolve().parents[2]
QUICK = ["method=[svm-cv,krr-cv]", "protocol.repeats=2", "search.step=5"]


@pytest.fixture
def own(project, monkeypatch, tmp_path_factory):
    """A project that the command works in, and a file outside of it."""
    monkeypatch.setattr("adakern_bench.cli.main.CONF", project.root / "conf")
    monkeypatch.chdir(project.root)
    for name, value in project.environment.items():
        monkeypatch.setenv(name, value)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "dose": rng.normal(size=80),
            "ward": rng.choice(["north", "south"], size=80),
        }
    )
    frame["outcome"] = np.where(frame["dose"] > 0, "ill", "well")
    frame.loc[4, "dose"] = np.nan
    path = tmp_path_factory.mktemp("own") / "My study.csv"
    frame.to_csv(path)
    return project, path


def test_a_file_becomes_a_report_of_its_own(own, capfd):
    project, path = own
    command = ["compare", str(path), "--target", "outcome", "--cores", "2"]
    assert main([*command, *QUICK, "tracking.enabled=false"]) == 0
    shown = capfd.readouterr().out
    assert "80 rows, 2 features, classification of 'outcome'" in shown
    assert "dropped 'Unnamed: 0': it numbers the rows" in shown
    assert "words: 'ward' has 2" in shown and "gaps: 1 in 1 rows" in shown
    assert "Written to conf/dataset/my-my-study.yaml" in shown
    assert "svm-cv ran alone" in shown  # krr-cv is for regressions
    results = project.root / "results" / "my-my-study"
    assert (results / "report.html").as_uri() in shown
    assert "My study.csv" in (results / "report.html").read_text()
    records = pd.read_parquet(results / "records.parquet")
    assert (records["status"] == "ok").all() and len(records) == 2
    # All repeats of so small a table are one job.
    assert [p.name for p in results.glob("records/*/svm-cv/*.json")] == ["0-1.json"]


@pytest.mark.slow
def test_make_compares_a_table_and_keeps_the_models(own):
    """``make run DATA=... TARGET=...``: MLflow holds models that predict again."""
    project, path = own
    shutil.copy(REPOSITORY / "Makefile", project.root)
    command = [
        *("make", f"BIN={Path(sys.executable).parent}", "-o", ".venv/workflow.done"),
        *("run", f"DATA={path}", "TARGET=outcome", "CORES=2"),
        f"OVERRIDES={' '.join(QUICK)} tracking.models=true tracking.uri=sqlite:///mlflow.db",
    ]
    environment = project.environment
    subprocess.run(command, cwd=project.root, env=environment, check=True)
    # As `mlflow ui` would serve them, here without the server.
    models = sorted(project.root.glob("mlartifacts/my-my-study/*/artifacts/model"))
    assert len(models) == 2
    for folder in models:
        model = mlflow.sklearn.load_model(str(folder))
        rows = np.zeros((2, 3))  # the dose, and a column for each of two wards
        assert set(model.predict(rows)) <= {"ill", "well"}


@pytest.mark.slow
def test_the_entry_is_kept_when_it_was_edited(own, capfd):
    project, path = own
    command = ["compare", str(path), "--target", "outcome", "--dry-run", *QUICK]
    main(command)
    entry = project.root / "conf" / "dataset" / "my-my-study.yaml"
    entry.write_text(entry.read_text().replace("title: My study.csv", "title: Mine"))
    capfd.readouterr()
    main(command)
    assert "Going by conf/dataset/my-my-study.yaml" in capfd.readouterr().out
    plan = load_plan(["dataset=[my-my-study]"], conf=project.root / "conf")
    assert plan.entry("my-my-study").title == "Mine"
    with pytest.raises(
        SystemExit, match="predicts outcome, the command line says dose"
    ):
        main(["compare", str(path), "--target", "dose", "--dry-run"])
    main([*command, "--again"])
    assert "title: My study.csv" in entry.read_text()


def test_what_cannot_be_adopted_is_said(own):
    _, path = own
    with pytest.raises(SystemExit, match="there is no file nowhere"):
        main(["compare", "nowhere.csv", "--target", "y"])
    with pytest.raises(SystemExit, match=r"no column 'outcom'. Did you mean 'outcome'"):
        main(["compare", str(path), "--target", "outcom"])
