"""Tables as people have them, looked at and read without being told how."""

import gzip

import numpy as np
import pandas as pd
import pytest
import yaml
from sklearn.datasets import load_wine

from adakern_bench.data import DatasetEntry, DatasetError, Table, load_table
from adakern_bench.data.infer import as_yaml, infer_entry
from adakern_bench.records.prepare import complete, prepare

RNG = np.random.default_rng(0)
N = 60


def frame():
    """Numbers, words, dates, gaps, and a target of words."""
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


def read(tmp_path, text, target="outcome", name="my.csv", **settings):
    """The inferred entry, written as YAML, read back, and the table that it makes."""
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    inferred = infer_entry(path, target, **settings)
    stated = yaml.safe_load(as_yaml("mine", inferred, name))
    table = load_table("mine", DatasetEntry(**stated), cache_dir=tmp_path)
    return inferred, table


WAYS = {
    "commas": {},
    "semicolons": {"sep": ";"},
    "tabs": {"sep": "\t"},
    "bars": {"sep": "|"},
    "decimal comma": {"sep": ";", "decimal": ","},
    "index column": {"index": True},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_the_same_table_in_many_ways(tmp_path, way, encoding):
    original = frame()
    settings = {"index": False} | WAYS[way]
    text = original.to_csv(**settings).encode(encoding)
    inferred, table = read(tmp_path, text)
    assert table.task == "classification" and table.X.shape == (N, 4)
    assert table.feature_names == ["height", "weight", "city", "visit"]
    np.testing.assert_allclose(table.X[:, 0], original["height"])
    np.testing.assert_allclose(table.X[:, 1], original["weight"])
    assert table.categories == {"city": ["Basel", "Genève", "Zürich"]}
    words = np.array(table.categories["city"])[table.X[:, 2].astype(int)]
    assert (words == original["city"]).all()
    np.testing.assert_allclose(np.diff(table.X[:, 3]), 7)
    assert (table.y == original["outcome"]).all()
    assert inferred.entry.dates == ["visit"]


@pytest.mark.parametrize("word", ["NA", "N/A", "?", "", "NaN", "null", "None"])
def test_gaps_stay_until_the_training_part_is_known(tmp_path, word):
    original = frame()
    original.loc[[3, 5], "height"] = np.nan
    original.loc[7, "city"] = np.nan
    original.loc[9, "outcome"] = np.nan
    text = original.to_csv(index=False, na_rep=word)
    inferred, table = read(tmp_path, text)
    assert table.X.shape == (N - 1, 4) and len(table.y) == N - 1
    assert np.isnan(table.X).sum() == 3
    said = " ".join(inferred.notes)
    assert "filled with the median of the training part" in said
    assert "1 rows without a target" in said
    assert table.fingerprint == table.fingerprint
    table.save(tmp_path / "table.npz")
    again = Table.load(tmp_path / "table.npz")
    assert again.categories == table.categories
    np.testing.assert_array_equal(again.X, table.X)
    assert again.fingerprint == table.fingerprint
    # Another place of the gap is another table.
    other = Table(table.X.copy(), table.y, "x", table.task, table.feature_names)
    other.X[3, 0], other.X[4, 0] = other.X[4, 0], other.X[3, 0]
    assert other.fingerprint != table.fingerprint


def test_test_rows_do_not_reach_the_preparation(tmp_path):
    original = frame()
    original.loc[:5, "height"] = np.nan
    original.loc[10, "city"] = "only in the test part"
    _, table = read(tmp_path, original.to_csv(index=False))
    train = np.setdiff1d(np.arange(N), [0, 1, 10, 11, 12])
    test = np.setdiff1d(np.arange(N), train)
    before = prepare(table, train, test, scale="standard")
    changed = Table(table.X.copy(), table.y, "x", table.task, table.feature_names)
    changed.categories = table.categories
    changed.X[test, :2] = 1e6
    after = prepare(changed, train, test, scale="standard")
    np.testing.assert_array_equal(before.X_train, after.X_train)
    assert before.X_train.shape[1] == 3 + 3  # no column for the test part's own word
    completed = complete(table, train)
    assert np.isfinite(completed).all()
    assert completed[0, 0] == np.nanmedian(table.X[train, 0])
    row = before.X_test[list(test).index(10)]
    assert len(row) == 6 and np.isfinite(row).all()


def test_a_complete_table_is_left_as_it_is():
    X, y = load_wine(return_X_y=True)
    names = [f"x{i}" for i in range(X.shape[1])]
    table = Table(X, y, "wine", "classification", names)
    assert complete(table, np.arange(50)) is table.X


def test_identifiers_row_numbers_and_constants_go_with_a_word(tmp_path):
    original = frame()
    original.insert(0, "patient_id", RNG.permutation(N) + 1000)
    original.insert(1, "name", [f"person {k}" for k in range(N)])
    original["country"] = "CH"
    original["empty"] = np.nan
    inferred, table = read(tmp_path, original.to_csv())
    assert table.feature_names == ["height", "weight", "city", "visit"]
    said = " ".join(inferred.notes)
    for column in ("Unnamed: 0", "patient_id", "name", "country", "empty"):
        assert f"dropped {column!r}" in said
    inferred, table = read(tmp_path, original.to_csv(), drop=["city", "visit"])
    assert table.feature_names == ["height", "weight"]


def test_a_sorted_measurement_is_no_row_number(tmp_path):
    text = "".join(f"{k},{k % 7 / 3:.3f},{np.sin(k):.4f}\n" for k in range(10, 60))
    inferred, table = read(tmp_path, "year,x,outcome\n" + text)
    assert "year" in inferred.entry.drop  # the first column, counting the rows
    inferred, table = read(tmp_path, "x,year,outcome\n" + swap(text))
    assert table.feature_names == ["x", "year"]


def swap(text):
    rows = [line.split(",") for line in text.splitlines()]
    return "".join(f"{b},{a},{c}\n" for a, b, c in rows)


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (RNG.normal(size=N), "regression"),
        (RNG.integers(0, 2, size=N), "classification"),
        (RNG.integers(1, 5, size=N), "classification"),
        (RNG.integers(0, 1000, size=N), "regression"),
        (RNG.choice(["a", "b", "c"], size=N), "classification"),
        (RNG.choice([True, False], size=N), "classification"),
        (RNG.choice([0.5, 1.5], size=N), "classification"),
    ],
)
def test_the_task_is_seen_from_the_target(tmp_path, values, task):
    table = frame().drop(columns="outcome").assign(outcome=values)
    inferred, made = read(tmp_path, table.to_csv(index=False))
    assert inferred.entry.task == made.task == task


def test_the_task_can_be_said(tmp_path):
    stars = frame().assign(outcome=RNG.integers(1, 6, size=N)).to_csv(index=False)
    inferred, _ = read(tmp_path, stars)
    assert any("--task regression" in note for note in inferred.notes)
    assert read(tmp_path, stars, task="regression")[1].task == "regression"
    with pytest.raises(DatasetError, match="did you mean task: regression"):
        measured = frame().assign(outcome=RNG.normal(size=N)).to_csv(index=False)
        read(tmp_path, measured, task="classification")
    with pytest.raises(DatasetError, match="holds words"):
        read(tmp_path, frame().to_csv(index=False), task="regression")


def test_without_a_header_columns_go_by_their_positions(tmp_path):
    text = frame().to_csv(index=False, header=False)
    inferred, table = read(tmp_path, text, target="-1")
    assert inferred.entry.header is False and inferred.entry.target == 4
    assert table.feature_names == ["x0", "x1", "x2", "x3"]
    assert table.categories == {"x2": ["Basel", "Genève", "Zürich"]}
    assert table.X.shape == (N, 4)


def test_packed_files_and_quoted_separators(tmp_path):
    original = frame().assign(city=RNG.choice(["Bern, BE", "Chur, GR"], size=N))
    packed = gzip.compress(original.to_csv(index=False).encode())
    _, table = read(tmp_path, packed, name="my.csv.gz")
    assert table.categories == {"city": ["Bern, BE", "Chur, GR"]}


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        ("a,b\n1,2\n3,4\n", "outcom", "no column 'outcom'"),
        (frame().to_csv(index=False), "outcom", "Did you mean 'outcome'"),
        ("a\n1\n2\n", "a", "no separator gives all lines"),
        ("", "a", "0 lines"),
        ("a,b\n1,2\n1,3\n", "a", "same in every row"),
        ("a,b\n1,x\n2,y\n3,z\n4,w\n", "b", "4 different words in 4 rows"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path, text, target, message):
    with pytest.raises(DatasetError, match=message):
        read(tmp_path, text, target=target)


def test_semicolons_are_named_where_an_entry_expects_commas(tmp_path):
    (tmp_path / "my.csv").write_text(frame().to_csv(index=False, sep=";"))
    entry = DatasetEntry(
        task="classification", files=[{"path": "my.csv"}], target="outcome"
    )
    with pytest.raises(DatasetError, match=r"semicolons.*set separator to ';'"):
        load_table("mine", entry, cache_dir=tmp_path)
