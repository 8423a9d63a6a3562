"""Parquet of several programs, and archives as operating systems make them."""

import io
import uuid
import zipfile

import numpy as np
import pytest

from adakern import AdaptiveKernelRegressor
from adakern.datasets import read_rows, read_table
from adakern.tables import TableError
from adakern.tables.columns import TableReader, as_columns
from adakern.tables.unpack import unpack

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N = 40
LETTERS = ["u", "v"] * (N // 2)
#: Four identifiers whose bytes are no text.
UUIDS = [uuid.UUID(int=k << 64 | 0xFF) for k in (1, 2, 3, 4)] * (N // 4)


def read_column(values, folder):
    """The kind and the values of a column x of a Parquet file."""
    path = folder / "t.parquet"
    y = np.arange(N) / 7
    if isinstance(values, pa.Array):
        parquet.write_table(pa.table({"x": values, "z": y[::-1], "y": y}), path)
    else:
        pd.DataFrame({"x": values, "z": y[::-1], "y": y}).to_parquet(path)
    table = read_table(path, "y", keep=["all"])
    return table.kinds["x"], table.X["x"].tolist()


@pytest.mark.parametrize(
    "make_values",
    [
        lambda: pd.Series(LETTERS, dtype=pd.ArrowDtype(pa.string())),
        lambda: pd.Series(
            pa.array(LETTERS).dictionary_encode(),
            dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())),
        ),
        lambda: pd.Series(LETTERS, dtype="category"),
        lambda: pd.Series([letter.encode() for letter in LETTERS]),
        lambda: pa.array([letter.encode() for letter in LETTERS], pa.binary(1)),
    ],
    ids=["strings", "Arrow dictionary", "category", "bytes", "fixed width"],
)
def test_letters_of_any_type_are_the_same_categories(tmp_path, make_values):
    assert read_column(make_values(), tmp_path) == ("categorical", LETTERS)


@pytest.mark.skipif(not hasattr(pa, "uuid"), reason="pyarrow before 18 has no UUIDs")
def test_uuids_are_spelt_as_in_text(tmp_path):
    written = [str(value) for value in UUIDS]
    stored = pa.array([value.bytes for value in UUIDS], pa.binary(16))
    typed = pa.ExtensionArray.from_storage(pa.uuid(), stored)
    for values in (UUIDS, written, typed):
        assert read_column(values, tmp_path) == ("categorical", written)


@pytest.mark.parametrize("values", [[[1, 2]] * N, [{"a": 1, "b": "c"}] * N])
def test_nested_columns_are_refused_by_name(tmp_path, values):
    for column in (pa.array(values), pd.Series(values)):
        with pytest.raises(TableError, match="'x' has lists or structs; expand it"):
            read_column(column, tmp_path)
    frame = pd.DataFrame({"z": np.arange(N), "x": [np.array([1.0, 2.0])] * N})
    with pytest.raises(TypeError, match="column 'x' has a ndarray"):
        AdaptiveKernelRegressor().fit(frame, np.arange(N))


def test_nested_columns_of_polars_are_refused_by_name():
    pl = pytest.importorskip("polars")
    pairs = pl.Series([[1.0, 2.0]] * N, dtype=pl.Array(pl.Float64, 2))
    for values in (pairs, pl.Series([{"a": 1.0, "b": 2.0}] * N)):
        frame = pl.DataFrame({"z": np.arange(N), "x": values})
        with pytest.raises(TypeError, match="'x' has lists or structs: expand it"):
            AdaptiveKernelRegressor().fit(frame, np.arange(N))


def test_adjacent_long_integers_stay_apart(tmp_path):
    """In float64, the odd ones would become their even neighbours."""
    codes = 10**16 + np.arange(N) % 4
    written = [str(code) for code in codes]
    missing = pd.Series(codes, dtype="Int64").mask(np.arange(N) == 5)
    for values in (codes, written, codes.astype(np.uint64), codes.astype(object)):
        assert read_column(values, tmp_path) == ("categorical", written)
    for values in (missing, missing.astype("int64[pyarrow]"), pa.array(missing)):
        kind, read = read_column(values, tmp_path)
        assert kind == "categorical"
        assert read[5] != read[5] and read[:5] + read[6:] == written[:5] + written[6:]
    kind, read = read_column(np.append(np.arange(N - 1), 10**16), tmp_path)
    assert kind == "numeric" and read == [*range(N - 1), 1e16]


@pytest.mark.parametrize(
    "beside",
    [
        "__MACOSX/._t.csv",
        "__MACOSX/data/._t.csv",
        ".DS_Store",
        "README.txt",
        "d/LICENSE",
    ],
)
def test_files_beside_the_table_of_an_archive_are_ignored(beside):
    for name in ("t.csv", "data/t.csv"):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(beside, b"\0\5\x16\7")
            archive.writestr(name, b"a,y\n1,2\n")
        assert unpack(packed.getvalue(), "mine.zip") == b"a,y\n1,2\n"
        with zipfile.ZipFile(packed, "a") as archive:
            archive.writestr("other.csv", b"b,y\n1,2\n")
        with pytest.raises(TableError, match=r"the archive holds .*other\.csv"):
            unpack(packed.getvalue(), "mine.zip")


def test_free_text_of_a_categorical_type_is_a_category(tmp_path):
    notes = [f"no sign of {k} on the left" for k in range(60)]
    frame = pd.DataFrame({"x": notes, "z": np.arange(60) * 0.3, "y": np.arange(60) / 7})
    stated = (
        pd.CategoricalDtype(),
        pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())),
    )
    for dtype in ("object", *stated):
        kind = "text" if dtype == "object" else "categorical"
        typed = frame.astype({"x": dtype})
        typed.to_parquet(tmp_path / "t.parquet")
        table = read_table(tmp_path / "t.parquet", "y", keep=["all"], texts=True)
        _, categorical = as_columns(typed)
        reader = TableReader([*typed], categorical).fit(as_columns(typed)[0])
        assert table.kinds["x"] == reader.columns_[0].kind == kind


@pytest.mark.parametrize("values", [[1, 2], [0.5, 1.5], [True, False]])
def test_categories_that_are_no_text_are_categories(tmp_path, values):
    typed = pd.Series(values * (N // 2)).astype("category")
    kind, read = read_column(typed, tmp_path)
    reader = TableReader(["x"], [True]).fit(as_columns(typed.to_frame("x"))[0])
    assert kind == "categorical"
    assert sorted(set(read)) == [*reader.columns_[0].codes]


def test_integers_of_eight_bits_are_numbers(tmp_path):
    values = np.append(np.arange(N - 3), [99, 99, -9]).astype(np.int8)
    assert read_column(values, tmp_path) == ("numeric", values.tolist())


@pytest.mark.parametrize("write", ["to_csv", "to_parquet", "to_excel"])
@pytest.mark.parametrize("kind", ["bool", "boolean", "object", "category"])
def test_truths_of_every_type_are_the_same_classes(tmp_path, write, kind):
    if write == "to_excel":
        pytest.importorskip("openpyxl")
    truths = pd.Series([True, False] * (N // 2), dtype=kind)
    if kind in ("boolean", "object"):
        truths[3] = None
    path = tmp_path / {"to_excel": "t.xlsx"}.get(write, "t")
    getattr(pd.DataFrame({"x": np.arange(N) / 7, "y": truths}), write)(path)
    table = read_table(path, "y")
    assert table.y.tolist() == truths.dropna().map(str).tolist()


def test_rows_with_written_durations_are_read_by_a_model_of_typed_ones(tmp_path):
    times = pd.to_timedelta(np.arange(N) * 3661 - 40_000, "s")
    frame = pd.DataFrame({"x": times, "y": np.arange(N) / 7})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv")
    table = read_table(tmp_path / "t.parquet", "y")
    read = read_rows(tmp_path / "t.csv", table.kinds, table.forms)
    assert read["x"].tolist() == table.X["x"].tolist() == [*times.total_seconds()]


def merged_sheet(folder, *rows, ranges):
    """An Excel file with these rows and merged ranges."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for cells in ranges:
        book.active.merge_cells(cells)
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


def test_cells_merged_downwards_are_filled(tmp_path):
    rows = [[None if k % 3 else f"group {k // 3}", k / 7, k * k] for k in range(12)]
    path = merged_sheet(
        tmp_path,
        ["Results of the year", None, None],
        ["team", "x", "y"],
        *rows,
        ["Source: a long remark", None, None],
        ranges=["A1:C1", *(f"A{k}:A{k + 2}" for k in range(3, 15, 3)), "A15:C15"],
    )
    table = read_table(path, "y")
    assert table.X["team"].tolist() == [f"group {k // 3}" for k in range(12)]
    assert table.y.tolist() == [k * k for k in range(12)]
    note = "merged cells: A3:A5, A6:A8, A9:A11, A12:A14 filled with their first cell"
    assert note in table.notes
    new = read_rows(path, table.kinds, table.forms)
    assert new["team"].tolist()[:12] == table.X["team"].tolist()


def test_headers_merged_downwards_name_their_columns(tmp_path):
    rows = [["ab"[k % 2], k / 7, k % 5, k * k] for k in range(12)]
    header = ["team", "marks", None, "y"], [None, "oral", "written", None]
    path = merged_sheet(tmp_path, *header, *rows, ranges=["A1:A2", "B1:C1", "D1:D2"])
    assert [*read_table(path, "y").X] == ["team", "oral", "written"]


def test_overlapping_merged_cells_raise(tmp_path):
    rows = [[k, k / 7] for k in range(12)]
    path = merged_sheet(tmp_path, ["x", "y"], *rows, ranges=["A2:A3"])
    twice = tmp_path / "twice.xlsx"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(twice, "w") as new:
        for part in old.namelist():
            once = b'<mergeCell ref="A2:A3"'
            content = old.read(part)
            new.writestr(
                part, content.replace(once, b'<mergeCell ref="A2:A13"/>' * 9 + once)
            )
    with pytest.raises(TableError, match="merged cells overlap"):
        read_table(twice, "y")
