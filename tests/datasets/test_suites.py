"""Suites: many entries from one file, and their published splits."""

import gzip
import shutil

import numpy as np
import pytest

from adakern_bench.config.compose import load_config
from adakern_bench.config.entry import DatasetEntry, DatasetError, check_entry
from adakern_bench.data.fetch import load_table
from adakern_bench.data.splits import read_splits
from mirror import MIRROR, needs_mirror

SMALL = {"uci121": ["trains", "iris", "lenses"], "uci_regression": ["yacht", "energy"]}


def entries(name, *overrides):
    return load_config([f"suite={name}", "dataset=[]", *overrides]).dataset


@pytest.mark.parametrize("name", SMALL)
def test_suite_entries_exist_in_order(name):
    suite = entries(name)
    assert len(suite) == {"uci121": 66, "uci_regression": 9}[name]
    for set_name, entry in suite.items():
        assert check_entry(set_name, entry) == []
        assert entry.fingerprint and entry.n and entry.d
        assert all("{" not in file.path for file in entry.sources)
        assert entry.n_published_splits in (4, 5, 20)


@needs_mirror
@pytest.mark.parametrize("name", SMALL)
def test_suite_tables_match_entries(name, tmp_path):
    suite = entries(name)
    for short in SMALL[name]:
        set_name = f"{name}-{short}"
        entry = suite[set_name]
        table = load_table(set_name, entry, cache_dir=tmp_path, mirror=MIRROR)
        assert table.published_splits.shape == (entry.n_splits, entry.n)
        assert table.published_splits.any(axis=1).all()
        assert (table.tuning_rows is not None) == (name == "uci121")


@needs_mirror
def test_fingerprint_depends_on_split(tmp_path):
    """The fingerprint covers the folds: swapped lines do not pass."""
    (tmp_path / "uci121").mkdir()
    for file in (MIRROR / "uci121").glob("iris_*"):
        shutil.copy(file, tmp_path / "uci121")
    folds = tmp_path / "uci121" / "iris_kfold.dat.gz"
    lines = gzip.decompress(folds.read_bytes()).decode().splitlines()
    lines[0], lines[1] = lines[1], lines[0]
    folds.write_bytes(gzip.compress("\n".join(lines).encode()))
    entry = entries("uci121")["uci121-iris"]
    with pytest.raises(DatasetError, match="fingerprint"):
        load_table("uci121-iris", entry, cache_dir=tmp_path / "cache", mirror=tmp_path)


def split_entry(n_splits, split_format="row-lists", **facts):
    facts |= {
        "splits": {"path": "folds.txt"},
        "n_splits": n_splits,
        "split_format": split_format,
    }
    return DatasetEntry(task="classification", files=[{"path": "a.csv"}], **facts)


def test_split_formats_agree():
    lists = read_splits(b"2 0 3\n1\n1 3\n0 2\n", split_entry(2), 4)
    marks = read_splits(b"0,1\n1,0\n0,1\n0,0\n", split_entry(2, "test-marks"), 4)
    np.testing.assert_array_equal(lists, marks)


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        (
            "row-lists",
            "0 1\n2\n",
            "split 0 does not partition the 4 rows: each of 0 to 3",
        ),
        ("row-lists", "0 1 2\n2 3\n", "but row 2 is missing, repeated"),
        ("row-lists", "0 1 2 3\n4\n", "but row 4 is missing, repeated"),
        ("row-lists", "0 1 2\n", "has 1 line with row numbers; expected two per split"),
        ("row-lists", "0 1 b\n3\n", "expected row numbers"),
        ("row-lists", "0 1\n2 3\n0 1\n2 3\n", "has 2 splits, expected 1"),
        ("test-marks", "0\n1\n", "each of the 4 rows.* got 2 lines"),
        ("test-marks", "0\n1\n2\n0\n", "both marks, 0 and 1"),
        ("test-marks", "1\n1\n1\n1\n", "both marks, 0 and 1"),
        ("test-marks", "x\n1\n1\n1\n", "expected marks 0 and 1"),
    ],
)
def test_invalid_splits_error(form, text, message):
    with pytest.raises(DatasetError, match=message):
        read_splits(text.encode(), split_entry(1, form), 4)
