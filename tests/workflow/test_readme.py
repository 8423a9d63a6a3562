"""What README says about adding a data set, a method and a sweep is what works."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

README = Path(__file__).parents[2] / "README.md"


def yaml_blocks():
    """The YAML examples, by the name in their package line."""
    blocks = re.findall(r"```yaml\n(# @package (\w+)\.(\w+)\n.*?)```", README.read_text(), re.S)
    experiments = re.findall(
        r"```yaml\n(# @package _global_\n.*?^name: (\w+)\n.*?)```", README.read_text(), re.S | re.M
    )
    found = {(group, name): text for text, group, name in blocks}
    return found | {("experiment", name): text for text, name in experiments}


@pytest.fixture
def example(request, capsys):
    """What a Python example prints, and what README says that it prints."""
    code = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)[request.param]
    exec(compile(code, "README.md", "exec"), {})
    said = [line[2:] for line in code.splitlines() if line.startswith("# ")]
    return capsys.readouterr().out.splitlines(), said


@pytest.mark.parametrize("example", [0], indirect=True)
def test_the_flagship_prints_what_readme_says(example):
    printed, said = example
    assert printed[0].split() == ["member", "weight", "score", "seconds"]
    (said, printed) = (float(lines[-1].split("%")[0]) for lines in (said, printed))
    assert printed == pytest.approx(said, abs=3)  # trees differ between versions


@pytest.mark.parametrize("example", [1], indirect=True)
def test_the_bandwidths_print_what_readme_says(example):
    printed, said = example
    assert printed == said
    scikit_learn, adakern = (float(line.split()[-1]) for line in said)
    assert 1 - adakern < (1 - scikit_learn) / 10


def test_what_readme_shows_is_there():
    for path in re.findall(r"\]\(((?:docs|src|data)/[^)]+)\)", README.read_text()):
        assert (README.parent / path).exists(), path


@pytest.fixture
def newcomer(project):
    """The workflow with the examples added, and the data file they name."""
    for (group, name), text in yaml_blocks().items():
        project.write(f"conf/{group}/{name}.yaml", text)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    rows = np.column_stack([X, X[:, 0] > 0])
    file = project.write("data/raw/mine/mine.csv", "")
    np.savetxt(file, rows, delimiter=",", fmt="%.5g")
    return project


def test_a_data_set_a_method_and_a_sweep_join_the_comparison(newcomer):
    assert set(yaml_blocks()) == {
        ("dataset", "mine"),
        ("method", "nearest"),
        ("experiment", "neighbours"),
    }
    run = newcomer.run(
        "--until",
        *("figure", "summary_table"),
        config=["experiment=neighbours"],
        overrides="name=neighbours protocol.repeats=2 search.step=5 search.folds=2 "
        "sweep.nearest.n_neighbors=[1,9]",
        timeout=540,
    )
    assert run.returncode == 0, run.output
    results = newcomer.root / "results" / "neighbours"
    table = pd.read_csv(results / "tables" / "neighbours.csv")
    swept = table[table["method"] == "nearest"]
    assert swept["n_neighbors"].tolist() == [1, 9]
    assert (table["n"] == 2).all() and len(table) == 3
    (record, _) = newcomer.records("mine", "nearest@n_neighbors=9", "neighbours")
    assert record["params"]["n_neighbors"] == 9
    assert record["metrics"]["test"]["accuracy"] > 0.7
    assert record["sweep"] == {"n_neighbors": 9}
    figure = (results / "figures" / "neighbours.svg").read_text()
    assert "n_neighbors" in figure and "Accuracy (%)" in figure and "mine" in figure
