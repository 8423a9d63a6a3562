"""What README says about adding a data set and a method is what works."""

import re
from pathlib import Path

import numpy as np
import pytest

README = Path(__file__).parents[2] / "README.md"


def yaml_blocks():
    """The YAML examples, by the name in their package line."""
    blocks = re.findall(
        r"```yaml\n(# @package (\w+)\.(\w+)\n.*?)```", README.read_text(), re.S
    )
    return {(group, name): text for text, group, name in blocks}


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


def test_a_data_set_and_a_method_join_the_comparison(newcomer):
    assert set(yaml_blocks()) == {("dataset", "mine"), ("method", "nearest")}
    run = newcomer.solve(
        overrides="dataset=[mine] method=[svm-cv,nearest] protocol.repeats=2 "
        "search.step=5"
    )
    assert run.returncode == 0, run.output
    records = [
        record
        for method in ("svm-cv", "nearest")
        for record in newcomer.records("mine", method)
    ]
    assert len(records) == 4
    assert {record["method"] for record in records} == {"svm-cv", "nearest"}
    for record in records:
        assert record["status"] == "ok", record["reason"]
        assert record["metrics"]["test"]["accuracy"] > 0.7
