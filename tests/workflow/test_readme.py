"""Examples of README and the documentation run and print what is shown."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs/guide.md").read_text(encoding="utf-8")
WORKFLOW = (ROOT / "docs/workflow.md").read_text(encoding="utf-8")


def yaml_blocks():
    """YAML examples by group and name."""
    blocks = re.findall(r"```yaml\n(# @package (\w+)\.(\w+)\n.*?)```", WORKFLOW, re.S)
    experiments = re.findall(
        r"```yaml\n(# @package _global_\n.*?^name: (\w+)\n.*?)```",
        WORKFLOW,
        re.S | re.M,
    )
    examples = {(group, name): text for text, group, name in blocks}
    return examples | {("experiment", name): text for text, name in experiments}


def test_readme_has_at_most_600_words_and_both_commands():
    assert len(README.split()) <= 600
    assert "make run " in README and "make test " in README


def test_readme_example_prints_documented_output(capsys):
    (flagship,) = re.findall(r"```python\n(.*?)```", README, re.S)
    exec(compile(flagship, "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split() == ["member", "weight", "score", "seconds"]


def test_guide_example_prints_documented_output(capsys):
    blocks = re.findall(r"```python\n(.*?)```", GUIDE, re.S)
    (bandwidths,) = (block for block in blocks if "make_sin_2x3" in block)
    exec(compile(bandwidths, "guide.md", "exec"), {})
    expected = comments(bandwidths)
    assert capsys.readouterr().out.splitlines() == expected
    scikit_learn, adakern = (float(line.split()[-1]) for line in expected)
    assert 1 - adakern < (1 - scikit_learn) / 10


def comments(code):
    return [line[2:] for line in code.splitlines() if line.startswith("# ")]


def test_files_linked_in_readme_exist():
    linked = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert len(linked) > 10
    for path in linked:
        assert (ROOT / path).exists(), path


@pytest.fixture
def project_with_examples(project):
    """The workflow with the documented examples and their data file."""
    for (group, name), text in yaml_blocks().items():
        project.write(f"conf/{group}/{name}.yaml", text)
    X = np.random.default_rng(0).normal(size=(60, 3))
    file = project.write("data/raw/mine/mine.csv", "")
    np.savetxt(file, np.column_stack([X, X[:, 0] > 0]), delimiter=",", fmt="%.5g")
    return project


def test_documented_data_set_method_and_sweep_run(project_with_examples):
    assert set(yaml_blocks()) == {
        ("dataset", "mine"),
        ("method", "nearest"),
        ("method", "old"),  # runs in the tests of environments
        ("experiment", "neighbours"),
    }
    project_with_examples.run(
        *("--until", "figure", "summary_table"),
        config=["experiment=neighbours"],
        overrides="name=neighbours protocol.repeats=2 search.step=5 search.folds=2 "
        "sweep.nearest.n_neighbors=[1,9]",
    )
    results = project_with_examples.root / "results" / "neighbours"
    table = pd.read_csv(results / "tables" / "neighbours.csv")
    swept = table[table["method"] == "nearest"]
    assert swept["n_neighbors"].tolist() == [1, 9]
    assert (table["n"] == 2).all() and len(table) == 3
    (record, _) = project_with_examples.records(
        "mine", "nearest@n_neighbors=9", "neighbours"
    )
    assert record["params"]["n_neighbors"] == 9
    assert record["metrics"]["test"]["accuracy"] > 0.7
    assert record["sweep"] == {"n_neighbors": 9}
    figure = (results / "figures" / "neighbours.svg").read_text()
    assert "n_neighbors" in figure and "Accuracy (%)" in figure and "mine" in figure
