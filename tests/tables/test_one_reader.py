"""Tables give the models the same numbers from every source, bit for bit."""

import io
import unicodedata

import numpy as np
import pytest

from adakern import AdaptiveKernelRegressor
from adakern.adaptive.given import validated
from adakern.cli import main
from adakern.datasets import read_rows, read_table
from adakern.model_file import as_columns, load_model, table_pipeline
from adakern.tables.account import Account, AccountTable
from adakern.tables.columns import TableReader, declared_categorical
from adakern_bench.config.infer import inferred_yaml
from adakern_bench.data.fetch import load_table
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
    """Numbers with at most fifteen digits, the precision of Excel."""
    return rng.normal(size=N).round(13)


def with_missing(rng, values, p=0.1):
    """The values with some of them missing."""
    return pd.Series(values, dtype=object).mask(rng.random(len(values)) < p)


def random_days(rng):
    return pd.Timestamp("2015-03-01") + pd.to_timedelta(rng.integers(0, 3000, N), "D")


#: Name of a column -> function that draws its values, typed as in a data frame.
KINDS = {
    "float": lambda rng: normal(rng),
    "tiny": lambda rng: [float(f"{v}e-20") for v in normal(rng)],
    "huge": lambda rng: [float(f"{v}e12") for v in normal(rng)],
    "cents": lambda rng: rng.integers(100, 99999, N) / 100,
    "count": lambda rng: rng.integers(0, 5, N),
    "large": lambda rng: rng.integers(-(10**9), 10**9, N),
    "accounts": lambda rng: 12345678901234500 + 100 * rng.integers(0, 9, N),
    "accounts of some": lambda rng: pd.Series(
        12345678901234500 + 100 * rng.integers(0, 9, N), dtype="Int64"
    ).mask(rng.random(N) < 0.2),
    "bytes read": lambda rng: np.append(rng.integers(0, 10**9, N - 1), 10**16),
    "year": lambda rng: rng.integers(1950, 2020, N),
    "gaps": lambda rng: with_missing(rng, normal(rng)).astype(float),
    "truth": lambda rng: rng.random(N) < 0.5,
    "words": lambda rng: rng.choice(["red", "green", "deep blue"], N),
    "signs": lambda rng: rng.choice(["Zürich, ZH", "L'Aquila", 'the "B"', "日本"], N),
    "missing words": lambda rng: with_missing(rng, rng.choice(["low", "high"], N)),
    "marks": lambda rng: rng.choice(["NA", "EU", "AS", "null"], N),
    "none": lambda rng: rng.choice(["none", "mild", "-"], N),
    "codes": lambda rng: rng.choice(["1", "2", "3a", "10"], N),
    "joined": lambda rng: rng.choice(["1_10", "11_0", "110"], N),
    "zip": lambda rng: rng.choice(["01067", "10115", "80331"], N),
    "text numbers": lambda rng: [f"{v:.3f}" for v in rng.normal(size=N)],
    "percent": lambda rng: [f"{v:.1f} %" for v in 30 * rng.normal(size=N)],
    "telephone": lambda rng: [f"+49 {v}" for v in rng.integers(10**8, 10**9, N)],
    "duration": lambda rng: [
        str(pd.Timedelta(int(v), "s")) for v in rng.integers(-(10**6), 10**6, N)
    ],
    "accents": lambda rng: rng.choice(
        ["Köln", unicodedata.normalize("NFD", "Köln")], N
    ),
    "money": lambda rng: [f"${v:,}" for v in rng.integers(10**3, 10**6, N)],
    "yes": lambda rng: rng.choice(["True", "False"], N),
    "days": random_days,
    "times": lambda rng: (
        random_days(rng) + pd.to_timedelta(rng.integers(0, 86400, N), "s")
    ),
    "no day": lambda rng: pd.Series(random_days(rng)).mask(rng.random(N) < 0.1),
    "date as a number": lambda rng: random_days(rng).strftime("%Y%m%d").astype(int),
    "visitDate with gaps": lambda rng: with_missing(
        rng, random_days(rng).strftime("%Y%m%d").astype(float)
    ).astype(float),
    "day.month.year": lambda rng: random_days(rng).strftime("%d.%m.%Y"),
}


def make_table(seed):
    """A table of some of these columns and a numeric target."""
    rng = np.random.default_rng(seed)
    names = rng.permutation([*KINDS])[: rng.integers(4, 9)]
    names = [*names, [*KINDS][seed % len(KINDS)]]  # each kind occurs at least once
    table = pd.DataFrame({name: KINDS[name](rng) for name in dict.fromkeys(names)})
    return table.assign(y=rng.normal(size=N))


def to_numbers(X):
    """The numbers that an adaptive estimator learns from, and the kinds of columns."""
    estimator = AdaptiveKernelRegressor()
    rows, _, categorical = validated(estimator, X, np.arange(float(len(X))))
    names = getattr(estimator, "feature_names_in_", None)
    declared = declared_categorical(None, rows.shape[1], names)
    declared |= categorical if categorical is not None else False
    reader = TableReader(names, declared).fit(rows)
    return reader.transform(rows), [column.kind for column in reader.columns_]


def read_options(table):
    return {"group": False, "keep": list(table)[:-1]}


def write_table(table, file_format, folder):
    """Write the table to a file of this format."""
    path = folder / f"t.{file_format.split()[0]}"
    if file_format == "parquet":
        table.to_parquet(path, index=False)
    elif file_format == "xlsx":
        table.to_excel(path, index=False)
    elif file_format == "csv of Germany":
        # Strings with decimal points would be read differently with decimal commas.
        table.to_csv(path, index=False, sep=";", decimal=",")
    else:
        table.to_csv(path, index=False)
    return path


def from_file(path, table):
    """As for `adakern fit`, and new rows as for `adakern predict`."""
    table_read = read_table(path, "y", **read_options(table))
    step = table_pipeline(AdaptiveKernelRegressor(), table_read)[0]
    new = read_rows(path, table_read.kinds, table_read.forms)
    again = as_columns(new, **step.kw_args)
    numbers, kinds = to_numbers(step.transform(table_read.X))
    np.testing.assert_array_equal(to_numbers(again)[0], numbers)
    return numbers, kinds


def from_workflow(path, table):
    """As in a job of the workflow."""
    text, *_ = inferred_yaml("mine", path, path.name, "y", **read_options(table))
    (path.parent / "mine.yaml").write_text(text, encoding="utf-8")
    entry = read_entry(path.parent / "mine.yaml")
    canonical = load_table("mine", entry, cache_dir=path.parent)
    saved = path.parent / "table.npz"
    canonical.save(saved)
    canonical = type(canonical).load(saved)
    return to_numbers(
        prepare(canonical, np.arange(N), [], raw=True, scale="none").X_train
    )


@pytest.mark.parametrize(
    "seed",
    [*range(6), *(pytest.param(k, marks=pytest.mark.slow) for k in range(6, 33))],
)
def test_table_is_the_same_from_every_source(tmp_path, seed):
    table = make_table(seed)
    X = table.drop(columns="y")
    numbers, kinds = to_numbers(X)
    sources = {
        "objects": to_numbers(X.astype(object)),
        "Arrow": to_numbers(X.convert_dtypes(dtype_backend="pyarrow")),
    }
    text = pd.read_csv(
        io.StringIO(X.to_csv(index=False)), dtype=str, keep_default_na=False
    )
    sources["text"] = to_numbers(text)
    if pl is not None:
        sources |= {
            "Polars": to_numbers(pl.DataFrame(X)),
            "its text": to_numbers(pl.DataFrame(text)),
        }
    for file_format in ("csv", "parquet", "xlsx"):
        path = write_table(table, file_format, tmp_path)
        sources[file_format] = from_file(path, table)
        sources[f"{file_format} in the workflow"] = from_workflow(path, table)
    if not {"text numbers", "money"} & set(X):
        sources["csv of Germany"] = from_file(
            write_table(table, "csv of Germany", tmp_path), table
        )
    for file_format, (actual, actual_kinds) in sources.items():
        assert actual_kinds == kinds, file_format
        np.testing.assert_array_equal(actual, numbers, err_msg=file_format)


@pytest.mark.slow
def test_model_from_data_frame_equals_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    names = ["float", "words", "times", "codes", "marks"]
    table = pd.DataFrame({name: KINDS[name](rng) for name in names})
    table["y"] = table["float"] + table["times"].dt.dayofweek
    write_table(table, "csv", tmp_path)
    main(["fit", "t.csv", "--target", "y", "--preset", "fast", "--group", "none"])
    model, card = load_model("t.skops")
    X = table.drop(columns="y")
    estimator = AdaptiveKernelRegressor(preset="fast", random_state=0)
    estimator.fit(X, table["y"])
    np.testing.assert_array_equal(model.predict(X), estimator.predict(X))
    kinds = {column["column"]: column["kind"] for column in card["columns"]}
    assert kinds.pop("y") == "numeric"
    assert kinds == {column.column: column.kind for column in estimator.columns_}
    assert "elapsed days, year" in repr(estimator.columns_)


def test_printed_account_cuts_no_reason():
    reason = f"dropped: {'as the others ' * 10}".strip()
    name = "n" * 80
    (row,) = repr(AccountTable([Account(name, "text", "", 0, None, reason)])).split(
        "\n"
    )[1:]
    assert row.startswith(f"{'n' * 57}...  text ") and row.endswith(reason)


def test_account_of_columns(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: KINDS[name](rng) for name in ("money", "marks", "zip")})
    table.insert(0, "row", range(N))
    table["note"] = [f"note {k}" for k in range(N)]
    table["patient"] = np.arange(N) // 2
    table["y"] = rng.integers(0, 3, N)
    path = write_table(table, "csv", tmp_path)
    table_read = read_table(path, "y")
    accounts = {account.column: account for account in table_read.account}
    assert list(accounts) == list(table)
    assert accounts["money"].kind == "numeric" and accounts["zip"].kind == "categorical"
    assert accounts["marks"].missing == table["marks"].isin(["NA", "null"]).sum()
    assert accounts["marks"].levels == 2
    assert accounts["y"].use == "target, classification"
    options = {name: account.option for name, account in accounts.items()}
    assert options["row"] == "--keep row" and options["note"] == "--keep note"
    assert options["patient"] == "--group none" and options["y"] == "--task regression"
    assert options["money"] == "--categorical money"
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


@pytest.mark.parametrize("forms", [("NFC", "NFD"), ("NFD", "NFC")])
def test_forms_of_unicode_are_the_same_text(tmp_path, forms):
    """Files of macOS write accents apart."""
    table = pd.DataFrame({"Größe": np.arange(N) / 7, "Stadt": ["Köln", "Bonn"] * 20})
    table["Zürich"] = np.arange(N) * 3
    for form in forms:
        text = unicodedata.normalize(form, table.to_csv(index=False))
        (tmp_path / f"{form}.csv").write_text(text, encoding="utf-8")
    first, second = (tmp_path / f"{form}.csv" for form in forms)
    read = read_table(first, unicodedata.normalize(forms[1], "Zürich"))
    pd.testing.assert_frame_equal(read_rows(second, read.kinds, read.forms), read.X)
    mixed = pd.DataFrame({"x": [unicodedata.normalize(f, "Köln") for f in forms]})
    assert not np.ptp(to_numbers(mixed)[0])


def test_line_breaks_in_names_and_categories_are_escaped(tmp_path):
    table = pd.DataFrame({"a\nWritten to": np.arange(N) * 0.5, "c": ["x\ny", "z"] * 20})
    path = write_table(table.assign(y=np.arange(N) * 1.5), "csv", tmp_path)
    table_read = read_table(path, "y")
    assert len(repr(table_read.account).splitlines()) == 1 + 3
    assert "\n" not in "".join(table_read.notes) and "a\nWritten to" in table_read.X


def test_keep_option_is_stored_in_entry(tmp_path):
    table = pd.DataFrame({"id": np.arange(N), "code": [1, 2] * (N // 2)})
    table["y"] = np.random.default_rng(0).normal(size=N)
    path = write_table(table, "csv", tmp_path)
    text, *_ = inferred_yaml("mine", path, path.name, "y")
    assert "- id" in text
    options = {"keep": ["id"], "categorical": ["code"]}
    text, *_ = inferred_yaml("mine", path, path.name, "y", **options)
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    entry = read_entry(tmp_path / "mine.yaml")
    canonical = load_table("mine", entry, cache_dir=tmp_path)
    assert canonical.feature_names == ["id", "code"]
    assert canonical.categories == {"code": ["1", "2"]}


def test_canonical_table_has_merged_spellings(tmp_path):
    path = tmp_path / "t.csv"
    sexes = ["m", "M", "f", "F"] * 10
    pd.DataFrame({"x": sexes, "y": np.arange(40) / 7}).to_csv(path, index=False)
    for merge in (["x"], ["all"]):
        text, inferred, _ = inferred_yaml("mine", path, "t.csv", "y", merge=merge)
        (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
        entry = read_entry(tmp_path / "mine.yaml")
        table = load_table("mine", entry, cache_dir=tmp_path)
        assert table.categories == {"x": sorted(inferred.X["x"].unique())}
