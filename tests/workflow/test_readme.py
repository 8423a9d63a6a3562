"""What README says about adding a data set and a method is what works."""

import re
import shutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from adakern._utils.files import read_json
from adakern.bench.config.compose import CONF
from adakern.bench.config.plan import load_plan

README = Path(__file__).parents[2] / "README.md"


def yaml_blocks():
    """The YAML examples, by the name in their package line."""
    blocks = re.findall(
        r"```yaml\n(# @package (\w+)\.(\w+)\n.*?)```", README.read_text(), re.S
    )
    return {(group, name): text for text, group, name in blocks}


@pytest.fixture
def newcomer(tmp_path):
    """A configuration folder with the examples added, and the data file they name."""
    shutil.copytree(CONF, tmp_path / "conf")
    for (group, name), text in yaml_blocks().items():
        (tmp_path / "conf" / group / f"{name}.yaml").write_text(text)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    rows = np.column_stack([X, X[:, 0] > 0])
    file = tmp_path / "data" / "raw" / "mine" / "mine.csv"
    file.parent.mkdir(parents=True)
    np.savetxt(file, rows, delimiter=",", fmt="%.5g")
    return tmp_path


def test_a_data_set_and_a_method_join_the_comparison(newcomer):
    assert set(yaml_blocks()) == {("dataset", "mine"), ("method", "nearest")}
    plan = load_plan(
        [
            "dataset=[mine]",
            "method=[svm-cv,nearest]",
            "protocol.repeats=2",
            "search.step=5",
            f"data.cache={newcomer}/data",
            f"results={newcomer}/results",
        ],
        conf=newcomer / "conf",
    )
    for stage in ("data", "split", "search", "solve"):
        for inputs, outputs, settings in plan.jobs(stage):
            import_module(f"adakern.bench.stages.{stage}").run(
                inputs, outputs, settings
            )
    records = [record for path in plan.records() for record in read_json(path)]
    assert len(records) == 4
    assert {record["method"] for record in records} == {"svm-cv", "nearest"}
    for record in records:
        assert record["status"] == "ok", record["reason"]
        assert record["metrics"]["test"]["accuracy"] > 0.7
