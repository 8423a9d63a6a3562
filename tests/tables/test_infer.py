"""From a user's file to its entry and the canonical table."""

import gzip
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from adakern.datasets import read_table
from adakern_bench.config.entry import DatasetEntry, DatasetError
from adakern_bench.config.infer import inferred_yaml
from adakern_bench.data.fetch import load_table
from adakern_bench.data.table import Table
from adakern_bench.records.prepare import prepare
from mirror import read_entry

RNG = np.random.default_rng(0)
N = 60


def make_frame():
    """Numbers, categories, dates and a categorical target."""
    x = RNG.normal(size=N).round(3)
    return pd.DataFrame(
        {
            "height": x,
            "weight": RNG.normal(70, 9, size=N).round(2),
            "city": RNG.choice(["Zürich", "Genève", "Basel"], size=N),
            "visit": pd.date_range("2024-01-01", periods=N, freq="7D").astype(str),
            "outcome": np.where(x > 0, "ill", "well"),
        }
    )


def infer_and_load(tmp_path, content, target="outcome", **options):
    """The entry as written and read back, the table, and the notes."""
    (tmp_path / "raw").mkdir(exist_ok=True)
    file = tmp_path / "raw" / "my.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    text, inferred, _ = inferred_yaml("mine", file, "my.csv", target, **options)
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    entry = read_entry(tmp_path / "mine.yaml")
    return entry, load_table("mine", entry, cache_dir=tmp_path / "raw"), inferred.notes


@pytest.mark.parametrize("has_header", [True, False])
def test_canonical_table_equals_inferred_table(tmp_path, has_header):
    original = make_frame()
    original.loc[[3, 5], "height"] = np.nan
    original.loc[7, "city"] = None
    original.loc[9, "outcome"] = None
    text = original.to_csv(index=False, header=has_header, sep=";", decimal=",")
    content = gzip.compress(text.encode("cp1252"))
    entry, table, notes = infer_and_load(
        tmp_path, content, "outcome" if has_header else "-1"
    )
    expected = read_table(tmp_path / "raw" / "my.csv", entry.target)
    original = original.drop(index=9).reset_index(drop=True)
    assert (
        table.task == "classification"
        and table.X.shape == (N - 1, 4) == expected.X.shape
    )
    assert table.feature_names == list(expected.X)
    np.testing.assert_allclose(table.X[:, 0], original["height"])
    assert (table.frame().iloc[:, 3] == expected.X.iloc[:, 3]).all()
    (categories,) = table.categories.values()
    assert categories == ["Basel", "Genève", "Zürich"]
    codes = table.X[:, 2]
    cities = np.array([*categories, None])[np.nan_to_num(codes, nan=-1).astype(int)]
    assert cities.tolist() == [None if pd.isna(c) else c for c in original["city"]]
    assert (table.y == original["outcome"]).all() and np.isnan(table.X).sum() == 3
    assert "1 row without a target" in "\n".join(notes)
    # A missing value in another place is another table.
    other = replace(table, X=table.X.copy())
    other.X[3, 0], other.X[4, 0] = other.X[4, 0], other.X[3, 0]
    assert other.fingerprint != table.fingerprint


EVIL = [
    "${oc.env:HOME}",
    "cost ${",
    "???",
    "a\nb",
    "a: b # c",
    "no",
    " 1e3",
    "\\${x}",
    "é\x85",
]


@pytest.mark.parametrize("name", EVIL)
def test_interpolations_in_a_file_are_not_resolved(tmp_path, name):
    """As a column name, a constant, a category, a class, and the target."""
    original = make_frame().assign(constant=name, other=[name, "x"] * (N // 2))
    original = original.rename(columns={"height": name, "outcome": f"{name}!"})
    original["class"] = [name, "well"] * (N // 2)
    entry, table, _ = infer_and_load(tmp_path, original.to_csv(index=False), "class")
    text = (tmp_path / "mine.yaml").read_text(encoding="utf-8")
    assert "${" not in text and "???" not in text
    assert set(table.y) == {name.strip(), "well"}
    assert table.feature_names[0] == name.strip()
    assert entry.drop and "constant" in entry.drop
    entry, table, _ = infer_and_load(
        tmp_path, original.to_csv(index=False), name.strip()
    )
    np.testing.assert_allclose(table.y, original[name])
    group = f"{name}!".strip()
    entry, table, _ = infer_and_load(
        tmp_path, original.to_csv(index=False), "class", group=group
    )
    assert len(np.unique(table.groups)) == 2


def test_preparation_does_not_use_test_rows(tmp_path):
    original = make_frame()
    original.loc[:5, "height"] = np.nan
    original.loc[10, "city"] = "only in the test part"
    _, table, _ = infer_and_load(tmp_path, original.to_csv(index=False))
    train = np.setdiff1d(np.arange(N), [0, 1, 10, 11, 12])
    test = np.setdiff1d(np.arange(N), train)
    before = prepare(table, train, test, scale="standard")
    changed = replace(table, X=table.X.copy())
    changed.X[test, :2] = 1e6
    after = prepare(changed, train, test, scale="standard")
    np.testing.assert_array_equal(before.X_train, after.X_train)
    assert (
        before.X_train.shape[1] == 2 + 1 + 3 + 5
    )  # no column for the category of the test part
    assert np.isfinite(before.X_test[list(test).index(10)]).all()
    unscaled = prepare(table, train, test, scale="none").X_train
    assert unscaled[list(train).index(2), 0] == np.nanmedian(table.X[train, 0])


def test_raw_columns(tmp_path):
    original = make_frame()
    original.loc[4, "city"] = None
    _, table, _ = infer_and_load(tmp_path, original.to_csv(index=False))
    data = prepare(table, np.arange(40), np.arange(40, N), scale="standard", raw=True)
    assert list(data.X_train) == table.feature_names and data.steps == []
    assert data.X_train["city"].isna().sum() == 1 and pd.isna(data.X_train["city"][4])
    assert data.X_test["city"].tolist() == original["city"][40:].tolist()
    numbers = Table(
        np.eye(9), np.arange(9.0), "numbers", "regression", list("abcdefghi")
    )
    data = prepare(numbers, np.arange(6), np.arange(6, 9), scale="none", raw=True)
    np.testing.assert_array_equal(data.X_train, np.eye(9)[:6])


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y"])
@pytest.mark.parametrize("kind", ["table", "csv"])
def test_rows_are_ordered_by_time(tmp_path, form, kind):
    original = make_frame()[["height", "weight"]]
    dates = pd.date_range("1950-01-20", periods=N, freq="YE").strftime(form)
    original.insert(0, "when", dates)
    original["y"] = np.arange(N) * 1.5
    shuffled = original.sample(frac=1, random_state=0)
    content = shuffled.to_csv(index=False)
    csv = DatasetEntry(
        task="regression", files=[{"path": "my.csv"}], target="y", time="when"
    )
    entry, table, _ = infer_and_load(tmp_path, content, "y", time="when")
    assert entry.time == "when"
    if kind == "csv":
        table = load_table("mine", csv, cache_dir=tmp_path / "raw")
    assert (np.diff(table.times) > 0).all()
    np.testing.assert_array_equal(table.y, original["y"])
    assert (np.diff(table.X[:, 0]) > 0).all()
    shuffled.assign(when="soon").to_csv(tmp_path / "raw" / "my.csv", index=False)
    with pytest.raises(DatasetError, match=r"must be a date .*, got 'soon'"):
        load_table("mine", csv, cache_dir=tmp_path / "raw")


def test_continuous_target_in_classification_raises(tmp_path):
    measured = make_frame().assign(outcome=RNG.normal(size=N)).to_csv(index=False)
    with pytest.raises(DatasetError, match="did you mean task: regression"):
        infer_and_load(tmp_path, measured, task="classification")
