"""Tables with titles, units, remarks and totals around them."""

import csv
import datetime
import io

import numpy as np
import pandas as pd
import pytest

from adakern.datasets import TableError, read_rows, read_table
from adakern.tables import cells as reader

N = 40
ROWS = [f"{k * 0.37:.2f},{'NSWO'[k % 4]},{k * k % 17},{k * 1.5}" for k in range(N)]
HEADER = "size,region,count,y"
KINDS = {"size": "numeric", "region": "categorical", "count": "numeric"}


def csv_text(above="", header=HEADER, below="", rows=ROWS):
    return above + "\n".join([header, *rows]) + "\n" + below


SURROUNDINGS = {
    "a title": (csv_text("Sales of the North\n"), "1 line above the header"),
    "a title and a blank line": (csv_text("Sales\n\n"), "1 line above"),
    "titles in cells": (
        csv_text("Sales,,,\nFrom,2024-01-01,,\n,,,\n"),
        "2 lines above",
    ),
    "a quoted title": (
        csv_text('"Sales, of\nthe North"\nby region\n'),
        "2 lines above",
    ),
    "many lines": (
        csv_text("".join(f"# line {k}\n" for k in range(9))),
        "9 lines above",
    ),
    "units": (
        csv_text(header=f"{HEADER}\n[m],,[pieces],[EUR]"),
        "below the header, '[m]'",
    ),
    "units of all": (csv_text(header=f"{HEADER}\nm,text,n,EUR"), "the header, 'm'"),
    "units and kinds": (
        csv_text(header=f"{HEADER}\nlength,,number,price\n[m],,[pieces],[EUR]"),
        "the 2 rows below the header, 'length'",
    ),
    "Qualtrics": (
        csv_text(
            header=HEADER + "\nHow long?,Where?,,\n" + '\'{"ImportId":"Q"}\',' * 3
        ),
        "the 2 rows below the header, 'How long?'",
    ),
    "a source": (csv_text(below="Source: the office\n"), "remarks such as 'Source"),
    "remarks": (
        csv_text(below="\nn.b. preliminary,,,\n1) see page 3,,,\n"),
        "last 2 rows",
    ),
    "total": (csv_text(below="Total,,99,999\n"), "the last row, 'Total'"),
    "mean and total": (
        csv_text(below="Mittelwert,,5,7\nGesamtsumme,,99,999\n"),
        "the last 2 rows, 'Mittelwert', 'Gesamtsumme'",
    ),
    "summary": (
        csv_text(below="Mean,,5,7\nStd. Dev.,,1,2\nMin,,0,0\nMax,,9,99\n"),
        "the last 4 rows, 'Mean', 'Std. Dev.', 'Min', 'Max'",
    ),
    "total in Chinese": (csv_text(below="合计,,99,999\n"), "the last row, '合计'"),
    "total in Polish": (csv_text(below="Razem:,,99,999\n"), "the last row, 'Razem:'"),
    "total and source": (csv_text(below="Total,,9,99\nSource: us\n"), "'Total'"),
    "headers again": (csv_text(rows=[*ROWS[:20], HEADER, *ROWS[20:]]), "repeated in 1"),
}


def write_csv(content, folder):
    path = folder / "t.csv"
    path.write_text(content, encoding="utf-8")
    return path


def write_excel(content, folder):
    """Write the same cells to a sheet, numbers as numbers."""
    pytest.importorskip("openpyxl")
    rows = list(csv.reader(io.StringIO(content)))
    path, width = folder / "t.xlsx", max(map(len, rows))
    padded = pd.DataFrame([row + [""] * (width - len(row)) for row in rows])
    cells = padded.map(lambda cell: _number(cell) if cell else None)
    cells.to_excel(path, index=False, header=False)
    return path


def _number(cell):
    try:
        return float(cell)
    except ValueError:
        return cell


@pytest.mark.parametrize("case", SURROUNDINGS)
@pytest.mark.parametrize("write", [write_csv, write_excel])
def test_surrounding_lines_are_not_rows(tmp_path, case, write):
    content, note = SURROUNDINGS[case]
    plain = read_table(write_csv(csv_text(), tmp_path), "y", keep=["all"])
    table = read_table(write(content, tmp_path), "y", keep=["all"])
    assert table.kinds == plain.kinds == KINDS
    pd.testing.assert_frame_equal(table.X, plain.X, check_dtype=False)
    np.testing.assert_array_equal(table.y, plain.y)
    assert note in "\n".join(table.notes)


@pytest.mark.parametrize("word", ["media", "Mean", "somme"])
@pytest.mark.parametrize("write", [write_csv, write_excel])
def test_category_that_looks_like_a_total_is_kept_by_option(tmp_path, word, write):
    """Sizes alta, baja and media, where media occurs only in the last row."""
    rows = [f"{k * 0.37:.2f},{['alta', 'baja'][k % 2]},{k * 1.5}" for k in range(N)]
    path = write("\n".join(["x,size,y", *rows, f"5,{word},3"]) + "\n", tmp_path)
    table = read_table(path, "y")
    assert len(table.y) == N
    assert f"{word!r} (--keep rows:totals keeps it)" in "\n".join(table.notes)
    kept = read_table(path, "y", keep=["rows:totals"])
    assert len(kept.y) == N + 1 and kept.X["size"].iloc[-1] == word
    assert "left out" not in "\n".join(kept.notes)
    with pytest.warns(UserWarning, match="is predicted like any other"):
        rows = read_rows(path, kept.kinds, kept.forms)
    pd.testing.assert_frame_equal(rows, kept.X, check_dtype=False)


@pytest.mark.parametrize(
    ("content", "option", "n"),
    [
        (csv_text(header=f"{HEADER}\n[m],,[pieces],[EUR]"), "rows:units", 0),
        (csv_text(rows=[*ROWS[:20], HEADER, *ROWS[20:]]), "rows:headers", 0),
        (csv_text(below="\nn.b.,,,1\nsee page 3,,,\n"), "rows:remarks", 0),
        (csv_text(below="Total,,9,99\n"), "rows:totals", 1),
    ],
)
def test_keep_option_of_each_kind_of_row(tmp_path, content, option, n):
    """A row that is kept is still omitted if it has no target."""
    path = write_csv(content, tmp_path)
    assert f"--keep {option} keeps" in "\n".join(read_table(path, "y").notes)
    kept = read_table(path, "y", keep=[option, "size"])
    notes = "\n".join(kept.notes)
    assert f"--keep {option} keeps" not in notes
    assert ("left out: 1 row without a target" in notes) == (n == 0)
    assert len(kept.y) == len(read_table(path, "y", keep=["size"]).y) + n


def test_empty_rows_are_omitted_and_counted(tmp_path):
    content = csv_text(rows=[*ROWS[:20], ",,,", ",,,", *ROWS[20:], ",,,"])
    for write in (write_csv, write_excel):
        notes = "\n".join(read_table(write(content, tmp_path), "y").notes)
        n = 3 if write is write_csv else 2  # a sheet ends at its last cell
        assert f"left out: {n} empty rows" in notes


def test_table_without_header_keeps_its_first_row(tmp_path):
    rows = [f"{'NSWO'[k % 4]},{'AB'[k % 2]},{'xyz'[k % 3]}" for k in range(N)]
    table = read_table(write_csv("\n".join(rows), tmp_path), "-1")
    assert len(table.y) == N and "no header" in "\n".join(table.notes)
    named = read_table(write_csv("\n".join(["a,b,c", *rows]), tmp_path), "-1")
    assert len(named.y) == N and list(named.X) == ["a", "b"]
    assert "names of the columns: a, b, c" in "\n".join(named.notes)


@pytest.mark.parametrize(
    "template",
    [
        " size | region | count | y \n------+---+---+---\n{}(40 rows)\n",  # PostgreSQL
        "| size | region | count | y |\n|:--|---|---:|---|\n{}",  # Markdown
        "Report\n=====\n\n|size|region|count|y|\n-----\n{}-----\n",  # SAP
    ],
)
def test_ruled_lines_are_not_rows(tmp_path, template):
    bars = "".join(f"|{row.replace(',', ' | ')}|\n" for row in ROWS)
    if template.startswith(" size"):
        bars = bars.replace("|\n", "\n").replace("\n|", "\n")[1:]
    path = write_csv(template.format(bars), tmp_path)
    table = read_table(path, "y", keep=list(KINDS))
    plain = read_table(write_csv(csv_text(), tmp_path), "y", keep=["all"])
    assert table.kinds == KINDS
    pd.testing.assert_frame_equal(table.X, plain.X)
    assert "lines of dashes" in "\n".join(table.notes)


def test_quoted_dashes_are_kept(tmp_path):
    rows = [f'"{"no" if k % 3 else "-----"}\n-----",{k},{k * 1.5}' for k in range(N)]
    table = read_table(write_csv("\n".join(["a,b,y", *rows]), tmp_path), "y")
    assert set(table.X["a"]) == {"no\n-----", "-----\n-----"}


def test_remark_below_new_rows_is_predicted_with_warning(tmp_path):
    path = write_csv("size,region,count\n1,N,3\n2,S,4\nSource: the office\n", tmp_path)
    with pytest.warns(UserWarning, match="such as 'Source: the office', is predicted"):
        rows = read_rows(path, KINDS, {})
    assert rows["count"].tolist()[:2] == [3, 4] and len(rows) == 3


def test_header_with_few_names_is_found_by_target(tmp_path):
    rows = [f"{k * 0.5},{k * 1.5}" for k in range(N)]
    table = read_table(write_csv("\n".join([",y", *rows]), tmp_path), "y", keep=["all"])
    assert len(table.y) == N and table.y[3] == 4.5


@pytest.mark.parametrize(
    ("lines", "note"),
    [
        (["Nord Summe,,9,99", *ROWS[5:]], "1 row may be subtotals, such as 'Nord"),
        (["Total,,9,99", *ROWS[5:], "Total,,9,99"], "2 rows may be subtotals"),
        (["1.5,G0 Ergebnis,9,99", *ROWS[5:]], "'G0 Ergebnis' in column 'region': kept"),
        (["1.5,Sous-total Est,9,99", *ROWS[5:]], "'Sous-total Est' in column 'region'"),
        (["0.5,N"], "fewer than 4 fields in 1 line: others are missing"),
        (["0.5,N", "0.5,S", "1,N,3"], "fewer than 4 fields in 3 lines"),
        (['1,"N,3,2', "2,S,4,5", '3,W",4,5'], "2 rows within a single cell, between"),
        (['1,"N,3,2', '2,S",4,5'], "1 row within a single cell, between quotation"),
    ],
)
def test_suspicious_rows_are_noted(tmp_path, lines, note):
    table = read_table(
        write_csv(csv_text(rows=[*ROWS[:5], *lines, *ROWS[5:]]), tmp_path), "y"
    )
    assert note in "\n".join(table.notes)


def test_short_lines_of_new_rows_warn(tmp_path):
    with pytest.warns(UserWarning, match="fewer than 3 fields in 1 line"):
        path = write_csv("size,region,count\n1,N,3\n2,S\n", tmp_path)
        rows = read_rows(path, KINDS, {})
    assert rows["count"].fillna(-1).tolist() == [3, -1]


def test_complete_rows_cause_no_note(tmp_path):
    rows = [row.replace("N", '"N,\nW"') for row in ROWS]
    notes = "\n".join(read_table(write_csv(csv_text(rows=rows), tmp_path), "y").notes)
    assert not any(word in notes for word in ("fewer", "within", "subtotal"))


@pytest.mark.parametrize(
    "row",
    ["{}.5,'N, W',{}", '{}.5,"a \\"N, W\\"",{}', "7,N, W,{1}"],
)
def test_unquoted_separator_raises(tmp_path, row):
    rows = [row.format(k, k * 1.5) for k in range(N)]
    with pytest.raises(TableError, match="needs quotation marks"):
        read_table(write_csv("\n".join(["a,b,y", *rows]), tmp_path), "y")


def test_sap_total_is_not_a_row(tmp_path):
    bars = [f"| {row.replace(',', ' | ')} |" for row in ROWS]
    header = f"| {HEADER.replace(',', ' | ')} |"
    lines = [header, *bars[:20], "Page 2||||", header, *bars[20:], "| * |   | 9 | 99 |"]
    table = read_table(write_csv("\n".join(lines), tmp_path), "y")
    assert len(table.y) == N and set(table.X["region"]) == set("NSWO")
    notes = "\n".join(table.notes)
    assert "the last row, '*'" in notes and "repeated in 1 row " in notes
    stars = [f"{row},{'*' * (k % 2)}" for k, row in enumerate(ROWS[:4])]
    other = read_table(
        write_csv(csv_text(header=f"{HEADER},p", rows=stars), tmp_path), "y"
    )
    assert len(other.y) == 4  # a star in another column is not a total


def write_workbook(path, **hidden):
    """A workbook with a cover sheet, an old table and a new one."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "cover"
    book.active["A1"] = "Report"
    for name, factor in (("old", 1), ("new", 2)):
        sheet = book.create_sheet(name)
        sheet.append(["a", "b", "y"])
        for k in range(N):
            sheet.append([k * 0.5, k * k % 17, k * factor])
    for name, state in hidden.items():
        book[name].sheet_state = state
    book.save(path)
    return path


@pytest.mark.parametrize(
    ("hidden", "factor"),
    [({}, 1), ({"old": "hidden"}, 2), ({"old": "veryHidden", "cover": "hidden"}, 2)],
)
def test_first_visible_sheet_with_target_is_read(tmp_path, hidden, factor):
    path = write_workbook(tmp_path / "t.xlsx", **hidden)
    table = read_table(path, "y")
    assert table.y[3] == 3 * factor
    rows = read_rows(path, table.kinds, table.forms)
    pd.testing.assert_frame_equal(rows, table.X, check_dtype=False)
    is_noted = "is read, the first with 'y' of" in "\n".join(table.notes)
    assert is_noted == ("cover" not in hidden)


def test_excel_times_equal_csv_times(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    clocks = [datetime.time(k % 24, 5, k) for k in range(N)]
    table = pd.DataFrame({"at": clocks, "y": np.arange(N) * 1.5})
    book = openpyxl.Workbook()
    for row in [list(table), *table.to_numpy().tolist()]:
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    table.to_csv(tmp_path / "t.csv", index=False)
    excel, text = (read_table(tmp_path / name, "y") for name in ("t.xlsx", "t.csv"))
    assert excel.kinds == text.kinds == {"at": "date"}
    assert excel.forms == text.forms
    pd.testing.assert_frame_equal(excel.X, text.X)


def test_byte_order_marks_are_removed(tmp_path):
    table = read_table(
        write_csv("\ufeff\ufeff" + csv_text(), tmp_path), "y", keep=["all"]
    )
    assert list(table.X) == list(KINDS)


@pytest.mark.parametrize("code", [-9, -99, -999, 99, 888, 999])
def test_possible_codes_for_missing_values_are_noted(tmp_path, code):
    values = np.arange(N) % 8
    plain = pd.DataFrame({"x": values, "z": values % 3, "y": np.arange(N) * 1.1})
    coded = plain.assign(x=np.where(np.arange(N) % 9 == 0, code, values))
    for table, is_noted in ((plain, False), (coded, True)):
        table.to_csv(tmp_path / "t.csv", index=False)
        notes = "\n".join(read_table(tmp_path / "t.csv", "y").notes)
        assert (f"codes: {code} in 5 rows of 'x'" in notes) == is_noted


def test_invalid_keep_option_raises(tmp_path):
    with pytest.raises(TableError, match="by rows:units, rows:headers, rows:rema"):
        read_table(write_csv(csv_text(), tmp_path), "y", keep=["rows:word"])


def test_all_new_rows_below_a_title_are_read(tmp_path):
    table = read_table(write_csv(csv_text(), tmp_path), "y", keep=["all"])
    new = "New rows\n\nsize,region,count\n0.5,N,3\n,,\nTotal,,\n1.5,S,4\nSum,,\n"
    with pytest.warns(UserWarning):
        rows = read_rows(write_csv(new, tmp_path), table.kinds, table.forms)
    assert rows["count"].fillna(-1).tolist() == [3, -1, -1, 4, -1]


@pytest.mark.parametrize(
    "rows",
    [
        ["unknown,N,3,1.5", *ROWS],  # a stray first cell is not a row of units
        ["0.5,N,,1.5", *ROWS],
        [*ROWS, "9.5,,,88.5"],  # mostly empty, but with a target
    ],
)
def test_incomplete_rows_are_kept(tmp_path, rows):
    table = read_table(write_csv(csv_text(rows=rows), tmp_path), "y", keep=["all"])
    assert len(table.y) == len(rows)


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_new_rows_with_other_decimal_mark_warn(tmp_path, file_format):
    """A model of typed numbers, and new rows with decimal commas."""
    table = pd.DataFrame({"a": np.arange(N) * 0.75, "y": np.arange(N) * 1.5})
    path = tmp_path / f"t.{file_format}"
    getattr(table, f"to_{file_format}")(path, index=False)
    training = read_table(path, "y")
    (tmp_path / "new.csv").write_text("a;b\n1,5;u\n2,25;v\n")
    with pytest.warns(UserWarning, match="'1,5' is read as 1.5"):
        rows = read_rows(tmp_path / "new.csv", training.kinds, training.forms)
    assert rows["a"].tolist() == [1.5, 2.25]


@pytest.mark.parametrize("cell", ["N", '"N, S"'])
def test_file_without_short_lines_is_parsed_once(tmp_path, monkeypatch, cell):
    lines = []
    reader = csv.reader

    def record_reader(*args, **settings):
        lines.append(reader(*args, **settings))
        return lines[-1]

    path = write_csv(
        csv_text(rows=[f"{k}.5,{cell},{k},{k}" for k in range(3000)]), tmp_path
    )
    monkeypatch.setattr(csv, "reader", record_reader)
    assert len(read_table(path, "y", keep=["region"], drop=["size"]).y) == 3000
    assert 0 < max(line.line_num for line in lines) <= 1000


def test_distinct_cells_are_converted_once(monkeypatch):
    converted = []
    plain_text = reader.plain_text
    monkeypatch.setattr(
        reader, "plain_text", lambda text: converted.append(text) or plain_text(text)
    )
    cells = reader.Cells.of(["a ", "b", None, "a", "a "] * 100, "column 'x'")
    assert converted == ["a ", "b", "a"]
    assert cells.distinct == ["a", "b", ""] and cells.codes[:5].tolist() == [
        0,
        1,
        2,
        0,
        0,
    ]
