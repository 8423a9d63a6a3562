"""Twenty tables, every way in: one table of numbers for the models, bit for bit."""

import io

import numpy as np
import pytest

from adakern import AdaptiveKernelRegressor
from adakern.adaptive.given import validated
from adakern.cli import main
from adakern.datasets import read_rows, read_table
from adakern.model_file import as_columns, load_model, table_pipeline
from adakern.tables.columns import TableReader, declared_categorical
from adakern_bench.config.infer import inferred_yaml
from adakern_bench.data import load_table
from adakern_bench.records.prepare import prepare
from mirror import read_entry

pd = pytest.importorskip("pandas")
try:
    import polars as pl
except ModuleNotFoundError:
    pl = None
pytest.importorskip("openpyxl")
pytest.importorskip("pyarrow")

N = 40


def normal(rng):
    """Numbers of fifteen digits at most: Excel has sixteen."""
    return rng.normal(size=N).round(13)


def gaps(rng, values, p=0.1):
    """The values with some of them missing."""
    return pd.Series(values, dtype=object).mask(rng.random(len(values)) < p)


def days(rng):
    return pd.Timestamp("2015-03-01") + pd.to_timedelta(rng.integers(0, 3000, N), "D")


#: What columns hold, drawn for each table; typed as a data frame would have them.
KINDS = {
    "float": lambda rng: normal(rng),
    "tiny": lambda rng: [float(f"{v}e-20") for v in normal(rng)],
    "huge": lambda rng: [float(f"{v}e12") for v in normal(rng)],
    "cents": lambda rng: rng.integers(100, 99999, N) / 100,
    "count": lambda rng: rng.integers(0, 5, N),
    "large": lambda rng: rng.integers(-(10**9), 10**9, N),
    "year": lambda rng: rng.integers(1950, 2020, N),
    "gaps": lambda rng: gaps(rng, normal(rng)).astype(float),
    "truth": lambda rng: rng.random(N) < 0.5,
    "words": lambda rng: rng.choice(["red", "green", "deep blue"], N),
    "signs": lambda rng: rng.choice(["Zürich, ZH", "L'Aquila", 'the "B"', "日本"], N),
    "missing words": lambda rng: gaps(rng, rng.choice(["low", "high"], N)),
    "marks": lambda rng: rng.choice(["NA", "EU", "AS", "null"], N),
    "none": lambda rng: rng.choice(["none", "mild", "-"], N),
    "codes": lambda rng: rng.choice(["1", "2", "3a", "10"], N),
    "joined": lambda rng: rng.choice(["1_10", "11_0", "110"], N),
    "zip": lambda rng: rng.choice(["01067", "10115", "80331"], N),
    "text numbers": lambda rng: [f"{v:.3f}" for v in rng.normal(size=N)],
    "money": lambda rng: [f"${v:,}" for v in rng.integers(10**3, 10**6, N)],
    "yes": lambda rng: rng.choice(["True", "False"], N),
    "days": days,
    "times": lambda rng: days(rng) + pd.to_timedelta(rng.integers(0, 86400, N), "s"),
    "no day": lambda rng: pd.Series(days(rng)).mask(rng.random(N) < 0.1),
    "date as a number": lambda rng: days(rng).strftime("%Y%m%d").astype(int),
    "visitDate with gaps": lambda rng: gaps(
        rng, days(rng).strftime("%Y%m%d").astype(float)
    ).astype(float),
    "day.month.year": lambda rng: days(rng).strftime("%d.%m.%Y"),
}


def made(seed):
    """A table of some of these kinds, and a target of numbers."""
    rng = np.random.default_rng(seed)
    names = rng.permutation([*KINDS])[: rng.integers(4, 9)]
    names = [*names, [*KINDS][seed % len(KINDS)]]  # each kind is in one at least
    table = pd.DataFrame({name: KINDS[name](rng) for name in dict.fromkeys(names)})
    return table.assign(y=rng.normal(size=N))


def read(X):
    """The numbers that an adaptive estimator would learn from, and of what kind."""
    estimator = AdaptiveKernelRegressor()
    rows, _, categorical = validated(estimator, X, np.arange(float(len(X))))
    names = getattr(estimator, "feature_names_in_", None)
    declared = declared_categorical(None, rows.shape[1], names)
    declared |= categorical if categorical is not None else False
    reader = TableReader(names, declared).fit(rows)
    return reader.transform(rows), [column.kind for column in reader.columns_]


def options(table):
    return {"group": False, "keep": list(table)[:-1]}


def written(table, way, folder):
    """The table as a file of this kind."""
    path = folder / f"t.{way.split()[0]}"
    if way == "parquet":
        table.to_parquet(path, index=False)
    elif way == "xlsx":
        table.to_excel(path, index=False)
    elif way == "csv of Germany":
        # Text that shows a decimal point would be another table with decimal commas.
        table.to_csv(path, index=False, sep=";", decimal=",")
    else:
        table.to_csv(path, index=False)
    return path


def by_file(path, table):
    """As `adakern fit` hands it to the estimator, and new rows by `adakern predict`."""
    found = read_table(path, "y", **options(table))
    step = table_pipeline(AdaptiveKernelRegressor(), found)[0]
    new = read_rows(path, found.kinds, found.forms)
    again = as_columns(new, **step.kw_args)
    numbers, kinds = read(step.transform(found.X))
    np.testing.assert_array_equal(read(again)[0], numbers)
    return numbers, kinds


def by_workflow(path, table):
    """As a job of the workflow hands it to the estimator."""
    text, *_ = inferred_yaml("mine", path, path.name, "y", **options(table))
    (path.parent / "mine.yaml").write_text(text, encoding="utf-8")
    entry = read_entry(path.parent / "mine.yaml")
    canonical = load_table("mine", entry, cache_dir=path.parent)
    saved = path.parent / "table.npz"
    canonical.save(saved)
    canonical = type(canonical).load(saved)
    return read(prepare(canonical, np.arange(N), [], raw=True, scale="none").X_train)


@pytest.mark.parametrize(
    "seed",
    [*range(6), *(pytest.param(k, marks=pytest.mark.slow) for k in range(6, 20))],
)
def test_one_table_is_one_table_whatever_it_is_kept_in(tmp_path, seed):
    table = made(seed)
    X = table.drop(columns="y")
    numbers, kinds = read(X)
    ways = {
        "objects": read(X.astype(object)),
        "Arrow": read(X.convert_dtypes(dtype_backend="pyarrow")),
    }
    text = pd.read_csv(
        io.StringIO(X.to_csv(index=False)), dtype=str, keep_default_na=False
    )
    ways["text"] = read(text)
    if pl is not None:
        ways |= {"Polars": read(pl.DataFrame(X)), "its text": read(pl.DataFrame(text))}
    for way in ("csv", "parquet", "xlsx"):
        path = written(table, way, tmp_path)
        ways[way] = by_file(path, table)
        ways[f"{way} in the workflow"] = by_workflow(path, table)
    if not {"text numbers", "money"} & set(X):
        ways["csv of Germany"] = by_file(
            written(table, "csv of Germany", tmp_path), table
        )
    for way, (found, kinds_found) in ways.items():
        assert kinds_found == kinds, way
        np.testing.assert_array_equal(found, numbers, err_msg=way)


@pytest.mark.slow
def test_the_model_of_a_data_frame_is_that_of_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    names = ["float", "words", "times", "codes", "marks"]
    table = pd.DataFrame({name: KINDS[name](rng) for name in names})
    table["y"] = table["float"] + table["times"].dt.dayofweek
    written(table, "csv", tmp_path)
    main(["fit", "t.csv", "--target", "y", "--preset", "fast", "--group", "none"])
    model, card = load_model("t.skops")
    X = table.drop(columns="y")
    estimator = AdaptiveKernelRegressor(preset="fast", random_state=0)
    estimator.fit(X, table["y"])
    np.testing.assert_array_equal(model.predict(X), estimator.predict(X))
    told = {column["column"]: column["kind"] for column in card["columns"]}
    assert told.pop("y") == "numeric"
    assert told == {column.column: column.kind for column in estimator.columns_}
    assert "elapsed days, year" in repr(estimator.columns_)


def test_each_column_says_what_became_of_it_and_what_undoes_it(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: KINDS[name](rng) for name in ("money", "marks", "zip")})
    table.insert(0, "row", range(N))
    table["note"] = [f"note {k}" for k in range(N)]
    table["patient"] = np.arange(N) // 2
    table["y"] = rng.integers(0, 3, N)
    path = written(table, "csv", tmp_path)
    found = read_table(path, "y")
    told = {account.column: account for account in found.account}
    assert list(told) == list(table)
    assert told["money"].kind == "numeric" and told["zip"].kind == "categorical"
    assert told["marks"].missing == table["marks"].isin(["NA", "null"]).sum()
    assert told["marks"].levels == 2
    assert told["y"].became == "target, classification"
    undo = {name: account.undo for name, account in told.items()}
    assert undo["row"] == "--keep row" and undo["note"] == "--keep note"
    assert undo["patient"] == "--group none" and undo["y"] == "--task regression"
    assert undo["money"] == "--categorical money"
    again = read_table(
        path,
        "y",
        keep=["row", "note"],
        group=False,
        categorical=["money"],
        task="regression",
    )
    assert list(again.X) == list(table)[:-1] and not again.dropped
    assert again.kinds["money"] == "categorical" and again.task == "regression"
    assert set(read_table(path, "y", keep=["all"]).X) == {*table} - {"y"}


def test_line_breaks_of_names_and_categories_begin_no_line(tmp_path):
    table = pd.DataFrame({"a\nWritten to": np.arange(N) * 0.5, "c": ["x\ny", "z"] * 20})
    path = written(table.assign(y=np.arange(N) * 1.5), "csv", tmp_path)
    found = read_table(path, "y")
    assert len(repr(found.account).splitlines()) == 1 + 3
    assert "\n" not in "".join(found.notes) and "a\nWritten to" in found.X


def test_what_compare_was_told_to_keep_is_in_its_entry(tmp_path):
    table = pd.DataFrame({"id": np.arange(N), "code": [1, 2] * (N // 2)})
    table["y"] = np.random.default_rng(0).normal(size=N)
    path = written(table, "csv", tmp_path)
    text, *_ = inferred_yaml("mine", path, path.name, "y")
    assert "- id" in text
    options = {"keep": ["id"], "categorical": ["code"]}
    text, *_ = inferred_yaml("mine", path, path.name, "y", **options)
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    entry = read_entry(tmp_path / "mine.yaml")
    canonical = load_table("mine", entry, cache_dir=tmp_path)
    assert canonical.feature_names == ["id", "code"]
    assert canonical.categories == {"code": ["1", "2"]}


def test_merged_spellings_are_those_of_the_canonical_table(tmp_path):
    path = tmp_path / "t.csv"
    sexes = ["m", "M", "f", "F"] * 10
    pd.DataFrame({"x": sexes, "y": np.arange(40) / 7}).to_csv(path, index=False)
    for merge in (["x"], ["all"]):
        text, found, _ = inferred_yaml("mine", path, "t.csv", "y", merge=merge)
        (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
        entry = read_entry(tmp_path / "mine.yaml")
        table = load_table("mine", entry, cache_dir=tmp_path)
        assert table.categories == {"x": sorted(found.X["x"].unique())}
