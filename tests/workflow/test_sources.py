"""Stored tables are compared with their entries and the files they were made from."""

from types import SimpleNamespace

import numpy as np
import pytest

from adakern_bench.config import settings
from adakern_bench.config.compose import ConfigError
from adakern_bench.config.schema import Data
from adakern_bench.config.sources import check_tables, placed_by_hand
from adakern_bench.data import DatasetEntry
from script import run_script


@pytest.fixture
def plan(tmp_path):
    """One data set of a mirror, its table made."""
    entry = DatasetEntry(task="regression", files=[{"path": "mine/mine.csv"}])
    data = Data(cache=str(tmp_path / "data"), mirror=str(tmp_path / "mirror"))
    plan = SimpleNamespace(
        config=SimpleNamespace(data=data), table_names=["mine"], entry=lambda _: entry
    )
    plan.file = tmp_path / "mirror/mine/mine.csv"
    plan.file.parent.mkdir(parents=True)
    np.savetxt(plan.file, np.arange(12.0).reshape(4, 3), delimiter=",")
    make(plan)
    return plan


def make(plan):
    target = f"{plan.config.data.cache}/tables/mine.npz"
    source = settings.source(plan, "mine")
    run_script("table", {}, {"table": target}, source=source)


@pytest.mark.parametrize(
    ("statement", "message"), [({"n": 5}, "n is 4, the entry says 5"), ({"n": 4, "d": 2}, "")]
)
def test_a_statement_is_checked_without_making_the_table_again(plan, statement, message):
    before = settings.table(plan, "mine")
    vars(plan.entry("mine")).update(statement)
    assert settings.table(plan, "mine") == before
    if not message:
        check_tables(plan)
        return
    with pytest.raises(ConfigError, match=message):
        check_tables(plan)
    # Another way of reading makes the table again, and its job checks what is stated.
    plan.entry("mine").drop = [0]
    check_tables(plan)


def test_only_what_people_placed_is_watched(plan, tmp_path):
    raw = tmp_path / "data/raw"
    assert placed_by_hand(plan.entry("mine"), raw) == []
    file = raw / "mine/mine.csv"
    file.parent.mkdir(parents=True)
    file.write_text("1,2,3")
    assert placed_by_hand(plan.entry("mine"), raw) == [str(file)]
    file.with_name("mine.csv.record.json").write_text("{}")
    assert placed_by_hand(plan.entry("mine"), raw) == [], "it was fetched"


def test_half_a_table_is_refused(plan, tmp_path):
    table = tmp_path / "data/tables/mine.npz"
    table.write_bytes(table.read_bytes()[:-40])
    with pytest.raises(ConfigError, match=r"mine.npz is not a whole table .*; remove it"):
        check_tables(plan)
