"""Reading of typical files without options."""

import csv
import gzip
import io
import sys
import warnings
from datetime import date

import numpy as np
import pandas as pd
import pytest

from adakern.datasets import TableError, read_rows, read_table
from adakern.model_file import as_columns
from adakern.tables.columns import ReadColumn, TableReader
from adakern.tables.dates import date_parts, parse_date, written_date

RNG = np.random.default_rng(0)
N = 60


def write_and_read(tmp_path, content, target="y", name="my.csv", **settings):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path, target, **settings)


def join_cells(header, rows, separator=","):
    cells = [header, *rows] if header else rows
    return "\n".join(separator.join(map(str, row)) for row in cells) + "\n"


def table_with_column(cells, n=40):
    """A table of numbers, these cells repeated, and a numeric target."""
    rows = [(f"{k * 0.37:.2f}", cells[k % len(cells)], k * k / 7) for k in range(n)]
    return join_cells(("a", "x", "y"), [[a, f'"{x}"', f"{y:.3f}"] for a, x, y in rows])


# Cells of column x, its kind, its first values, and a part of the notes.
COLUMNS = {
    "currency": (["$45,123", "$1,234.50"], "numeric", [45123, 1234.5], "read as 45123"),
    "percent": (["33%", "4.5 %"], "numeric", [33, 4.5], "read as 33"),
    "thousands": (["1,234", "56,789"], "numeric", [1234, 56789], "read as 1234"),
    "apostrophes": (["1'234.5", "6"], "numeric", [1234.5, 6], "read as 1234.5"),
    "accounts": (["(1,200)", "€ 7"], "numeric", [-1200, 7], "read as -1200"),
    "missing": (["1.5", "N/A", "-", "none", "2"], "numeric", [1.5, None], "24 in"),
    "codes": (["1", "2", "3", "3a"], "categorical", ["1", "2", "3", "3a"], "has 4"),
    "none": (["none", "mild", "severe"], "categorical", ["none", "mild"], "has 3"),
    "None": (["None", "Grvl"], "categorical", ["None", "Grvl"], "has 2"),
    "signs": (["+", "-", "+/-"], "categorical", ["+", "-", "+/-"], "has 3"),
    "NA": (["NA", "EU", "AS"], "categorical", [None, "EU", "AS"], "missing values: 14"),
    "booleans": (["True", "FALSE"], "numeric", [1, 0], ""),
    "units": (["12 kg", "5.5 kg"], "numeric", [12, 5.5], "read as 12"),
    "limits": (["<0.5", "2.25", ">200"], "numeric", [0.5, 2.25, 200], "the limit"),
    "millions": (["$6M", "$2.5K", "-"], "numeric", [6e6, 2500], "read as 6e+06"),
    "lakhs": (["1,23,456", "2,34,567"], "numeric", [123456, 234567], "as 123456"),
    "ZIP codes": (["01067", "10115"], "categorical", ["01067", "10115"], "has 2"),
    "quarters": (["Q1", "Q2", "Q3"], "categorical", ["Q1", "Q2"], "has 3"),
    "ISO dates": (["1970-01-02", "1970-02-01"], "date", [1, 31], "dates: column 'x'"),
    "times": (
        ["1970-01-02T12:00", "1970-01-03"],
        "date",
        [1.5, 2],
        "dates: column 'x'",
    ),
    "days first": (["02.01.1970", "31.01.1970"], "date", [1, 30], "dates: column 'x'"),
    "months first": (
        ["01/02/1970", "01/31/1970"],
        "date",
        [1, 30],
        "dates: column 'x'",
    ),
    "either": (["02/01/1970", "03/01/1970"], "date", [1, 2], "the day comes first"),
    "months": (["1970-01", "1970-02"], "date", [0, 31], "dates: column 'x'"),
    "American": (["Jan 2 1970", "Feb 1 1970"], "date", [1, 31], "dates: column 'x'"),
    "words": (["2 Jan 1970", "1 Feb 1970"], "date", [1, 31], "dates: column 'x'"),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_kind_and_values_of_a_column(tmp_path, case):
    cells, kind, values, note = COLUMNS[case]
    table = write_and_read(tmp_path, table_with_column(cells))
    kinds = {k: v for k, v in table.kinds.items() if k != "x: limit"}
    assert kinds == {"a": "numeric", "x": kind} and table.task == "regression"
    actual = table.X["x"]
    if kind == "date":
        actual = (actual - pd.Timestamp(0)) / pd.Timedelta(days=1)
    assert [None if pd.isna(v) else v for v in actual[: len(values)]] == values
    assert note in "\n".join(table.notes)
    rows = read_rows(tmp_path / "my.csv", table.kinds, table.forms)
    pd.testing.assert_frame_equal(rows, table.X, check_dtype=False)


@pytest.mark.parametrize("stray", ["n.a.", "-", "#DIV/0!", "see note", "*"])
def test_column_with_stray_cell_is_numeric(tmp_path, stray):
    x = [f"{k * 1.7:.2f}" for k in range(N)]
    y = [f"{k / 3:.3f}" for k in range(N)]
    x[5], y[9] = stray, stray
    table = write_and_read(tmp_path, join_cells("xzy", zip(x, y[::-1], y, strict=True)))
    assert table.kinds == {"x": "numeric", "z": "numeric"}
    assert table.task == "regression" and len(table.y) == N - 1
    assert np.isnan(table.X["x"]).sum() == 1
    notes = "\n".join(table.notes)
    assert "left out: 1 row without a target" in notes
    assert stray == "-" or f"treated as missing ({stray!r}; row" in notes


@pytest.mark.parametrize(
    "classes",
    ["none mild severe", "NA EU AS", "None some", "+ - +/-", "? !", "null a", "nan b"],
)
def test_unusual_class_names_are_kept(tmp_path, classes):
    classes = classes.split()
    y = [classes[k % len(classes)] for k in range(N)]
    y[4] = ""
    rows = zip(np.arange(N) * 1.7, range(N), y, strict=True)
    table = write_and_read(tmp_path, join_cells("xzy", rows))
    assert table.task == "classification"
    assert set(table.y) == set(classes) and len(table.y) == N - 1
    assert "'y'" in table.notes[0] and "only empty cells" in "\n".join(table.notes)


def make_frame():
    return pd.DataFrame(
        {
            "height": RNG.normal(size=N).round(3),
            "weight": RNG.normal(70, 9, size=N).round(2),
            "city": RNG.choice(["Zürich, ZH", "Genève", 'the "B"'], size=N),
            "y": RNG.choice(["ill", "well"], size=N),
        }
    )


FORMATS = {
    "comma": {},
    "semicolon": {"sep": ";"},
    "tab": {"sep": "\t"},
    "bar": {"sep": "|"},
    "decimal comma": {"sep": ";", "decimal": ","},
    "tab and decimal comma": {"sep": "\t", "decimal": ","},
    "comma and decimal comma": {"decimal": ","},
    "index": {"index": True},
    "utf-8-sig": {"encoding": "utf-8-sig"},
    "cp1252": {"encoding": "cp1252"},
    "utf-16": {"encoding": "utf-16"},
    "utf-32": {"encoding": "utf-32"},
    "windows": {"lineterminator": "\r\n"},
    "macintosh": {"lineterminator": "\r"},
}


def file_content(table, file_format):
    if file_format == "parquet":
        return table.to_parquet(index=False)
    if file_format == "parquet of text":
        return table.astype(str).to_parquet(index=False)
    if file_format == "excel":
        pytest.importorskip("openpyxl")
        table.astype(str).to_excel(out := io.BytesIO(), index=False)
        return out.getvalue()
    settings = {"index": False, "encoding": "utf-8"} | FORMATS[file_format]
    return table.to_csv(**settings | {"encoding": None}).encode(settings["encoding"])


@pytest.mark.parametrize(
    "file_format", [*FORMATS, "parquet", "parquet of text", "excel"]
)
def test_file_formats_and_encodings(tmp_path, file_format):
    original = make_frame()
    table = write_and_read(tmp_path, file_content(original, file_format))
    assert table.task == "classification"
    assert table.kinds == {
        "height": "numeric",
        "weight": "numeric",
        "city": "categorical",
    }
    assert table.X["city"].tolist() == original["city"].tolist()
    assert table.y.tolist() == original["y"].tolist()
    np.testing.assert_allclose(table.X[["height", "weight"]], original.iloc[:, :2])


def parquet_content(cell):
    return pd.DataFrame({"x": [cell] * 9, "y": np.arange(9.0)}).to_parquet()


# Files in which fields are easily cut or shifted: first line, template of a line,
# last lines, and the expected first two values of every feature.
HALVES, X01 = [0.5, 1.5], {"x0": [0.5, 1.5], "x1": [0.25, 1.25]}
SHAPES = [
    ("y,a,b", "{k},{k}.5,{m},", "", {"a": HALVES, "b": [0, 1]}),  # trailing comma
    ('"a" "y"', '"r{k}" {k}.5 {k}.25', "", {"a": HALVES}),  # row names
    ("a;b;y", "{k},5;{m},25;{k},125", "", {"a": HALVES, "b": X01["x1"]}),
    ("", "{k},5;{m},25;{k},125", "", X01),
    ("", "Doe, {m}\t{k}.5\t{k}.5", "", {"x0": ["Doe, 0", "Doe, 1"], "x1": HALVES}),
    ("a   y", " {k}.5   {k}.5", "", {"a": HALVES}),
    ("sep=;\na;y", "{k}.5;{k}.5", "", {"a": HALVES}),  # written by Excel
    ("x,a,y", "u{m},{k}.5,{k}.25", "Total,1,2\n", {"x": ["u0", "u1"], "a": HALVES}),
    ("x,a,y", "u{m},{k}.5,{k}.25", "Sum:,1,2\n", {"x": ["u0", "u1"], "a": HALVES}),
    ("a;b;y", "€{k},5;{m},25 %;{k},5 EUR", "", {"a": HALVES, "b": X01["x1"]}),
    ("x,a,y", '"u\n{m}",{k}.5,{k}.5', "", {"x": ["u\n0", "u\n1"], "a": HALVES}),
    ("a,y", "{k}.5,{k}.5", ",\n\n,\n", {"a": HALVES}),
    ("a,a,y", "{k}.5,{m},{k}.25", "", {"a": HALVES, "a.1": [0, 1]}),
]


@pytest.mark.parametrize(("first", "line", "last", "columns"), SHAPES)
def test_fields_are_not_cut_or_shifted(tmp_path, first, line, last, columns):
    content = "".join(line.format(k=k, m=k % 7) + "\n" for k in range(25))
    content = f"{first}\n{content}{last}" if first else content
    table = write_and_read(tmp_path, content, "y" if first else -1)
    assert {name: table.X[name][:2].tolist() for name in table.X} == columns
    assert table.task == "regression" and len(table.y) == 25


@pytest.mark.parametrize(
    ("content", "settings", "message"),
    [
        (b"a,b\n1,2\n3,4\n", {"target": "outcom"}, "my.csv: .*no column 'outcom'"),
        (make_frame().to_csv(), {"target": "heigt"}, "Did you mean 'height'"),
        (b"a\n1\n2\n", {"target": "a"}, "no feature column is left"),
        (b"a\n1\n2\n", {}, "no separator gives all lines"),
        (b"", {}, "0 lines"),
        (b"a,y\n", {}, "1 line; a table needs a header and a row"),
        (b"y,b\n1,2\n1,3\n", {}, "same in every row"),
        (b"y,b\n" + b"1,2\n" * 30 + b"3,4,5\n", {}, "line 32, saw 3, .* quotation"),
        (b"b,y\n1,p\n2,q\n3,r\n4,s\n", {}, "4 different categories in 4 rows"),
        (b"y,y,a\n1,2,3\n4,5,6\n", {}, "two columns are named 'y'"),
        (
            table_with_column(["1", "2"]).replace("y", "when").encode(),
            {},
            "no column 'y'",
        ),
        (table_with_column(["2024-01-02", "2024-01-03"]), {"target": "x"}, "has dates"),
        (
            table_with_column(["u", "v"]),
            {"target": "x", "task": "regression"},
            "has categories",
        ),
        (table_with_column(["u", "v"]), {"drop": ["z"]}, "no column 'z'"),
        (
            table_with_column(["u", "v"]),
            {"drop": ["a", "x"]},
            "no feature column is left",
        ),
        (table_with_column(["u", ""]), {"group": "x"}, "'x' is missing in 20 rows"),
        (
            table_with_column(["u", "v"]),
            {"time": "x"},
            "the time 'x' must be dates or numbers",
        ),
        (table_with_column(["u", "v"]), {"group": "y"}, "group, time or another"),
        (b"a,y\n1,2\n3,\x004\n5,6\n", {}, "in line 3, which is not text"),
        (
            table_with_column(["\u6771", "b"]).encode("iso2022_jp"),
            {},
            "in line 2, which is not text",
        ),
        (
            table_with_column([f"{k}.5 {['kg', 'lb'][k % 2]}" for k in range(40)]),
            {"target": "x"},
            "Numbers must be written without",
        ),
        (
            b"a,y\n1,2\n3,4,5,6\n" + b"5,6\n" * 30,
            {},
            "Expected 2 fields in line 3, saw 4",
        ),
        (b'a,y\n1,2\n"3,4\n' + b"5,6\n" * 40000, {}, "quotation mark"),
        (b"\xff\xfea", {}, "not valid utf-16"),
        (b"PAR1 and no more", {}, "my.csv cannot be read"),
        (parquet_content("a\0b"), {}, "NUL"),
        (parquet_content([1, 2]), {}, "lists"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0",
            {},
            "save it as CSV in UTF-8, Parquet or xlsx",
        ),
        (b'[\n {"a": 1, "y": 2}]', {}, "JSON"),
        (b"<!DOCTYPE html>\n<p>a,b</p>", {}, "a web page"),
        (gzip.compress(b"a,y\n1,2\n" * 99, mtime=0)[:-9], {}, "cannot be unpacked"),
    ],
)
def test_unreadable_file_raises(tmp_path, content, settings, message):
    with pytest.raises(TableError, match=message) as caught:
        write_and_read(tmp_path, content, **settings)
    assert "my.csv" in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"\x81abc,\x81", "ąę".encode("iso8859-2"), b"\xe9\x8d"]
)
def test_unknown_encodings_are_read(tmp_path, content):
    rows = b"".join(b'%d,"%s%d",%d.5\n' % (k, content, k % 2, k) for k in range(1, 30))
    table = write_and_read(tmp_path, b"a,x,y\n" + rows)
    assert table.X["x"].nunique() == 2 and "encoding" in "\n".join(table.notes)


def make_panel(n_people=15, n_years=4):
    people = np.repeat(np.arange(n_people) + 700, n_years)
    return pd.DataFrame(
        {
            "nr": people,
            "year": np.tile(np.arange(n_years) + 1980, n_people),
            "hours": RNG.normal(size=len(people)).round(3),
            "y": RNG.normal(size=len(people)).round(3),
        }
    )


def test_repeated_identifier_defines_groups_and_time_is_suggested(tmp_path):
    table = make_panel()
    text = table.to_csv(index=False)
    read = write_and_read(tmp_path, text)
    assert read.groups.nunique() == 15 and "nr" in read.dropped
    assert read.times is None
    notes = "\n".join(read.notes)
    assert "'nr' has 15 values in 60 rows" in notes and "--time 'year'" in notes
    read = write_and_read(tmp_path, text, group=False)
    assert read.groups is None and "nr" in read.kinds
    assert "panel: 'nr' has 15 values, each once at a time" in "\n".join(read.notes)
    series = make_panel(1, 40)[["year", "hours", "y"]].round(0).to_csv(index=False)
    read = write_and_read(tmp_path, series)
    assert "year" in read.kinds, "a first column that counts years"
    assert "panel" not in "\n".join(read.notes), "each time has one row"
    read = write_and_read(tmp_path, text, group="year", time="hours")
    assert read.groups.nunique() == 4 and "year" not in read.kinds
    assert read.times.tolist() == table["hours"].tolist()


@pytest.mark.parametrize("n_dates", [90, 300])
@pytest.mark.parametrize("values", [range(150, 180), range(5, 60, 2)])
def test_measurement_with_unique_dates_is_not_a_panel(tmp_path, n_dates, values):
    """Each value has different dates by chance, such as the heights of patients."""
    n = 90
    when = np.resize(pd.date_range("2025-01-01", periods=n_dates).astype(str), n)
    height = np.resize(values, n)  # integers, never twice on a date
    when[1::9] = when[::9]  # some dates have two rows
    table = pd.DataFrame({"height": height, "when": when, "y": RNG.normal(size=n)})
    assert not table.duplicated(["height", "when"]).any()
    notes = "\n".join(write_and_read(tmp_path, table.to_csv(index=False)).notes)
    assert "--time 'when'" in notes and "panel" not in notes


@pytest.mark.parametrize(
    ("name", "unit", "expected"),
    [
        ("shop", "{}th street", True),
        ("shop", "{}", True),
        ("price", "{}.5", False),  # a measurement with few values
        ("hour", "{}", False),  # the rows of a day
        ("rank", "{}", False),
    ],
)
@pytest.mark.parametrize("n_omitted", [0, 40])
def test_panel_is_suggested_for_recurring_units(
    tmp_path, name, unit, expected, n_omitted
):
    table = make_panel(12, 15).rename(columns={"nr": name, "year": "month"})
    table[name] = [unit.format(number - 700) for number in table[name]]
    table = table.sample(
        len(table) - n_omitted, random_state=0
    )  # unbalanced if rows are omitted
    notes = "\n".join(write_and_read(tmp_path, table.to_csv(index=False)).notes)
    assert "--time 'month'" in notes
    assert (f"--group '{name}'" in notes) == expected


IDENTIFIERS = ["patient", "individual", "subject_id", "PatientID", "user id", "ID"]


@pytest.mark.parametrize("name", [*IDENTIFIERS, "valid", "paid", "humid", "index"])
def test_identifiers_are_recognised_by_name(tmp_path, name):
    table = write_and_read(
        tmp_path, make_panel().rename(columns={"nr": name}).to_csv(index=False)
    )
    assert (
        (table.groups is not None) == (name in table.dropped) == (name in IDENTIFIERS)
    )


def test_uninformative_columns_are_dropped_with_reason(tmp_path):
    table = make_frame()
    table.insert(0, "patient_id", RNG.permutation(N) + 1000)
    table.insert(1, "name", [f"person {k}" for k in range(N)])
    table.insert(2, "Encounter", np.arange(N) + 700_000)
    table["country"], table["empty"] = "CH", np.nan
    read = write_and_read(tmp_path, table.to_csv())
    assert list(read.kinds) == ["height", "weight", "city"]
    assert list(read.dropped) == [
        "Unnamed: 0",
        "patient_id",
        "name",
        "Encounter",
        "country",
        "empty",
    ]
    assert len(read.notes) == 7 + 1


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ("A-{}", "an identifier"),
        (
            "no sign of {} on the left",
            "free text, which only adakern fit uses, if its type is text",
        ),
    ],
)
def test_dropped_free_text_is_distinguished_from_identifiers(tmp_path, cells, reason):
    table = make_frame()
    table["note"] = [cells.format(k % (N - 1)) for k in range(N)]
    read = write_and_read(tmp_path, table.to_csv(index=False))
    assert read.dropped == {"note": f"{reason}, {N - 1} different values"}


def test_new_rows_of_years_beside_a_column_without_a_name_have_a_header(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        ",2019,2020,y\n" + "".join(f"a{k},{k},{k}.5,{k}\n" for k in range(9))
    )
    table = read_table(path, "y", keep=["all"])
    assert read_rows(path, table.kinds, table.forms).equals(table.X)


@pytest.mark.parametrize("name", ["Encounter", "Fallnummer", "Buchungsnr", "case no."])
def test_duplicate_rows_are_noted_and_identifier_is_dropped(tmp_path, name):
    table = make_frame()
    table[name] = 7 * RNG.permutation(N) + 4_000_000
    table = pd.concat([table, table.iloc[[3, 5]]])
    read = write_and_read(tmp_path, table.to_csv(index=False))
    assert read.dropped == {name: "an identifier, another in every row"}
    note = (
        f"duplicates: 2 rows equal to an earlier one in every column, such as row {N}"
    )
    assert note in "\n".join(read.notes)
    table[name] = table[name] // 70  # values that different rows share are a feature
    assert name in write_and_read(tmp_path, table.to_csv(index=False)).kinds


def test_read_rows_requires_the_columns_of_the_model(tmp_path):
    kinds = {"height": "numeric", "city": "categorical"}
    path = tmp_path / "new.csv"
    path.write_text("city,height,more\n7,1.5,x\nnew,n.a.,y\n")
    rows = read_rows(path, kinds)
    assert rows["city"].tolist() == ["7", "new"] and list(rows) == ["height", "city"]
    assert rows["height"][0] == 1.5 and np.isnan(rows["height"][1])
    for text, message in (
        ("city,heigth\na,1\n", r"no column 'height'.* Did you mean 'heigth'"),
        (
            "city,height\na,tall\nb,low\n",
            r"holds 'tall' \(row 0 from 0\); the model was fitted on numbers: write it",
        ),
        ("city,height\na,1\nb,1e999\n", r"'height' holds infinity \(row 1 from 0\)"),
        ("city,height\n", "1 line; a table needs a header and a row"),
        ("city,height\n,\n", "has no rows"),
        ("city,0\na,1\n", "no column 'height', which the model requires, among 2"),
    ):
        path.write_text(text)
        with pytest.raises(TableError, match=message):
            read_rows(path, kinds)
    path.write_text("0,2x\n1,2\n")  # here a number is a name, not a position
    with pytest.raises(TableError, match="no column '1'"):
        read_rows(path, {"0": "numeric", "1": "numeric"})


def test_new_rows_are_read_like_training_rows(tmp_path):
    """Whatever the other new rows are; none is omitted silently."""
    path = tmp_path / "new.csv"
    for text in ("a;b\n1.999;u\n", "a;b\n1.999;u\n1,5;u\n"):
        path.write_text(text)
        assert read_rows(path, {"a": "numeric"}, decimal=",")["a"][0] == 1999
    path.write_text("a,d\n1.5,\n2 kg,\n3,\n")
    with pytest.warns(UserWarning, match="'2 kg'"):
        rows = read_rows(path, {"a": "numeric", "d": "date"}, {"d": "%Y-%m-%d"})
    assert rows["d"].isna().all() and rows["a"].isna().tolist() == [False, True, False]
    typed = pd.DataFrame({"c": [1.0, None], "d": [date(2020, 1, 2), None]})
    typed.to_parquet(tmp_path / "new.parquet")
    kinds = {"c": "categorical", "d": "date"}
    rows = read_rows(tmp_path / "new.parquet", kinds, {"d": "%d.%m.%Y"})
    assert rows["c"][0] == "1" and rows["d"][0] == pd.Timestamp("2020-01-02")
    path.write_text("a,c\n1,x\n2,x\n3,total\n")
    with pytest.warns(UserWarning, match="the last row, 'total', is predicted"):
        assert len(read_rows(path, {"a": "numeric", "c": "categorical"})) == 3


#: Kind, form of the training rows, cell of a new row, its value and how it is written.
OTHER_FORMS = [
    ("date", "%d.%m.%Y", "2020-03-04", "2020-03-04", "2020-03-04T00:00:00"),
    ("date", "%d.%m.%Y %H:%M", "2020-03-04 10:11+01:00", "2020-03-04 09:11", "T09:11"),
    ("date", "%Y%m%d", "2020-03-04", "2020-03-04", "2020-03-04T00:00:00"),
    ("date", "%d.%m.%Y", "20200304", "2020-03-04", "2020-03-04T00:00:00"),
    ("date", "%d.%m.%Y", 20200304, "2020-03-04", "2020-03-04T00:00:00"),
    ("numeric", ".", "12,5", 12.5, "12.5"),
    ("numeric", ",", "1.25", 1.25, "1.25"),
    ("numeric", "", "True", 1.0, "1"),
]


@pytest.mark.parametrize(("kind", "form", "cell", "value", "written"), OTHER_FORMS)
def test_new_rows_in_another_form_are_read_alike_by_all_sources(
    tmp_path, kind, form, cell, value, written
):
    """With a warning, from a file, a data frame and by an estimator."""
    new = pd.DataFrame({"a": [cell], "b": [1.0]})
    new.to_csv(tmp_path / "new.csv", index=False)
    new.to_parquet(tmp_path / "new.parquet")
    value = pd.Timestamp(value) if kind == "date" else value
    for file in ("new.csv", "new.parquet"):
        with pytest.warns(
            UserWarning, match=f"different format .* read as .*{written}"
        ):
            rows = read_rows(tmp_path / file, {"a": kind}, {"a": form})
        assert rows["a"].tolist() == [value]
    reader = TableReader(["a"], [False])
    reader.columns_ = [ReadColumn(kind, form, with_hour=True)]
    X = new[["a"]].to_numpy(dtype=object)
    with pytest.warns(UserWarning, match=f"different format .* read as .*{written}"):
        table = reader.transform(X)
    expected = [value] if kind == "numeric" else date_parts(rows["a"].to_numpy(), True)
    np.testing.assert_array_equal(np.ravel(table), np.ravel(expected))


def test_typed_numbers_without_percent_sign_warn_in_every_source(tmp_path):
    pd.DataFrame({"a": [0.5]}).to_parquet(tmp_path / "new.parquet")
    with pytest.warns(UserWarning, match="no percent sign"):
        read_rows(tmp_path / "new.parquet", {"a": "numeric"}, {"a": ".%"})


@pytest.mark.parametrize("cells", ["n.b.", "n.b.\nn.b."])
def test_new_rows_with_a_word_instead_of_numbers_warn(tmp_path, cells):
    """It may mark missing values, and a service receives single rows."""
    path = tmp_path / "new.csv"
    path.write_text(f"a\n{cells}\n")
    with pytest.warns(UserWarning, match="treated as missing \\('n.b.'; rows? 0"):
        assert read_rows(path, {"a": "numeric"})["a"].isna().all()


def test_durations_and_fractional_classes(tmp_path):
    table = pd.DataFrame(
        {"lasts": pd.to_timedelta(range(60), "min"), "y": [0.5, 1.5] * 30}
    )
    table.to_parquet(tmp_path / "my.parquet")
    read = read_table(tmp_path / "my.parquet", "y")
    assert read.X["lasts"].tolist() == [60.0 * k for k in range(60)]
    assert read.task == "classification" and set(read.y) == {"0.5", "1.5"}


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("visit_date", ["20240131", "20231224", "19991231"], "date"),
        ("Datum", ["20240131.0", "", "20240229.0", "NA"], "date"),
        ("day", ["20240131", "20240201"], "date"),
        ("case", ["20240131", "20231224", "19991231"], "numeric"),
        ("birthdate", ["20240131", "20231324", "19991231"], "numeric"),
        ("date", ["20230229", "20230228", "20230301"], "numeric"),
        ("candidates", ["12345678", "20231224"], "numeric"),
        ("timestamp", ["20230115123000", "20230115126100"], "numeric"),
        ("holiday", ["20240131", "20231224"], "numeric"),
    ],
)
def test_integer_dates_are_recognised_by_name_and_values(tmp_path, name, cells, kind):
    text = table_with_column(cells, n=40).replace("a,x,y", f"a,{name},y")
    table = write_and_read(tmp_path, text)
    assert table.kinds[name] == kind
    assert ("read as %Y%m%d" in " ".join(table.notes)) == (kind == "date")
    if kind == "date":
        first = np.datetime64("2024-01-31")
        assert table.X[name].iloc[0] == first
        typed = pd.DataFrame({name: [20240131, 20240131]})
        for rows in (typed, typed.astype(str), typed.astype(float)):
            again = as_columns(rows, {name: kind}, {name: table.forms[name]})
            assert (again[name] == first).all()
    assert (
        write_and_read(tmp_path, text, categorical=[name]).kinds[name] == "categorical"
    )


def test_integers_of_fourteen_digits_are_times(tmp_path):
    cells = ["20230115123000", "20230115"]
    text = table_with_column(cells, n=40).replace("a,x,y", "a,timestamp,y")
    table = write_and_read(tmp_path, text)
    times = table.X["timestamp"].unique()
    assert [str(t) for t in times] == ["2023-01-15 12:30:00", "2023-01-15 00:00:00"]
    form = table.forms["timestamp"]
    rows = pd.DataFrame({"timestamp": [20230115123000]})
    again = as_columns(rows, {"timestamp": "date"}, {"timestamp": form})
    assert again["timestamp"][0] == times[0]
    assert parse_date(written_date(times[0], form), form) == times[0]


@pytest.mark.parametrize(
    "alike", [("m", "M"), ("Ortho pædics", "ortho  pædics"), ("Genève", "Geneve")]
)
def test_similar_spellings_are_noted(tmp_path, alike):
    table = write_and_read(tmp_path, table_with_column([*alike, "other", "another"]))
    (note,) = [note for note in table.notes if note.startswith("spellings")]
    assert all(repr(spelling) in note for spelling in alike)
    table = write_and_read(
        tmp_path, table_with_column(["Yes", "yes", *alike, "No", "no", "NO"])
    )
    (note,) = [note for note in table.notes if note.startswith("spellings")]
    assert note.count(" and ") == 5 and "'No' and 'no' and 'NO'" in note
    table = write_and_read(
        tmp_path, table_with_column(["m", "f", "A+", "A-", "+", "-"])
    )
    assert not [note for note in table.notes if note.startswith("spellings")]


@pytest.mark.parametrize(
    ("spellings", "merged"),
    [
        (["M", "m", "M ", "f", "F", "f"], ["M", "f"]),
        (
            ["GENEVE", "Genève", "Genève", "Zürich", "zurich", "Zürich", "Bern"],
            ["Bern", "Genève", "Zürich"],
        ),
        (["A+", "a+", "A+", "A-", "AB -", "AB -", "ab  -"], ["A+", "A-", "AB -"]),
    ],
)
@pytest.mark.parametrize("named", ["x", "all"])
def test_merge_option_merges_spellings(tmp_path, spellings, merged, named):
    table = write_and_read(tmp_path, table_with_column(spellings), merge=[named])
    assert sorted(table.X["x"].unique()) == merged
    assert not [note for note in table.notes if note.startswith("spellings")]
    new = tmp_path / "new.csv"
    new.write_text(table_with_column([word.swapcase() for word in spellings]))
    rows = read_rows(new, table.kinds, table.forms)
    assert sorted(rows["x"].unique()) == merged
    again = as_columns(rows, table.kinds, table.forms)
    assert again["x"].tolist() == rows["x"].tolist()


def test_merge_option_for_target_and_unknown_column(tmp_path):
    text = "x,y\n" + "1,Yes\n2,yes\n3,no\n4,No\n" * 5
    assert set(write_and_read(tmp_path, text, merge=["y"]).y) == {"Yes", "no"}
    with pytest.raises(TableError, match="no column 'z'"):
        write_and_read(tmp_path, text, merge=["z"])


def test_new_rows_with_repeated_column_names(tmp_path):
    path = tmp_path / "my.csv"
    rows = [f"{k * 0.5},{k * k},{k % 7}" for k in range(N)]
    path.write_text("\n".join(["a,a,y", *rows]))
    table = read_table(path, "y")
    new = read_rows(path, table.kinds, table.forms)
    pd.testing.assert_frame_equal(new, table.X)
    assert new["a.1"][3] == 9


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_read_rows_keeps_every_row(tmp_path, kind):
    """Including rows that would be empty lines, units or totals in training."""
    cells = [
        ["cm", "kg", "x"],
        [1.5, 2, "y"],
        ["", "", ""],
        [2.5, 3, "x"],
        [3.5, 4, "Total"],
    ]
    path, names = tmp_path / f"new.{kind}", ["a", "b", "c"]
    frame = pd.DataFrame(cells, columns=names)
    if kind == "csv":
        frame.to_csv(path, index=False)
    else:
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    with pytest.warns(UserWarning) as caught:
        rows = read_rows(path, {"a": "numeric", "b": "numeric", "c": "categorical"})
    np.testing.assert_array_equal(rows["a"], [np.nan, 1.5, np.nan, 2.5, 3.5])
    assert rows["c"].isna().tolist() == [False, False, True, False, False]
    assert rows["c"].dropna().tolist() == ["x", "y", "x", "Total"]
    messages = "\n".join(str(warning.message) for warning in caught)
    assert "the row below the header, 'cm', is predicted like any other" in messages
    assert "the last row, 'Total', is predicted like any other" in messages


@pytest.mark.parametrize("first", ["%d/%m/%Y", "%m/%d/%Y"])
def test_new_dates_in_other_order_warn(tmp_path, first):
    """Dates valid in both orders are read as in training, with a warning."""
    other = "%m/%d/%Y" if first == "%d/%m/%Y" else "%d/%m/%Y"
    days = [date(2020, 1 + k % 12, 1 + k % 28) for k in range(60)]
    path = tmp_path / "my.csv"

    def write(days, form):
        lines = [f"{day.strftime(form)},{k}" for k, day in enumerate(days)]
        path.write_text("\n".join(["day,y", *lines]))

    write(days, first)
    table = read_table(path, "y")
    assert table.forms["day"] == first
    write([date(2021, 3, 4), date(2021, 12, 25), date(2021, 2, 2)], other)
    with pytest.warns(UserWarning) as caught:
        rows = read_rows(path, table.kinds, table.forms)
    swapped = date(2021, 4, 3)
    expected = pd.to_datetime(pd.Series([swapped, None, date(2021, 2, 2)]))
    assert (rows["day"].to_numpy() == expected.to_numpy())[[0, 2]].all()
    assert pd.isna(rows["day"][1])
    messages = "\n".join(str(warning.message) for warning in caught)
    assert (
        f"all cells are dates as {other}" in messages
        and "that is 2021-04-03" in messages
    )
    assert (
        "no date in 1 cell, treated as missing" in messages
        and "row 1 from 0" in messages
    )
    write(days, first)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_rows(path, table.kinds, table.forms)


@pytest.mark.parametrize("limit", [131_072, sys.maxsize])
@pytest.mark.parametrize("place", [3, 2000])
def test_long_cell_is_read_whatever_the_csv_field_limit(tmp_path, limit, place):
    rows = [[k, "x" * (200_000 if k == place else 3), k] for k in range(2100)]
    before = csv.field_size_limit(limit)
    try:
        table = write_and_read(tmp_path, join_cells(("a", "x", "y"), rows))
        assert csv.field_size_limit() == limit
    finally:
        csv.field_size_limit(before)
    assert table.X["x"].str.len()[place] == 200_000


def test_note_truncates_long_cell(tmp_path):
    cells = [str(k) for k in range(39)] + ["z" * 5000]
    (note,) = [
        n
        for n in write_and_read(tmp_path, table_with_column(cells)).notes
        if "zzz" in n
    ]
    assert "z..." in note
    assert len(note) < 250
