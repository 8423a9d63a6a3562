"""Small files that unpack to enormous tables are refused before they use memory."""

import io
import zipfile

import numpy as np
import pandas as pd
import pytest

from adakern.datasets import read_table
from adakern.tables.unpack import TableError


def write_workbook(path, cells):
    """An xlsx file whose only sheet has these rows, given as XML."""
    openpyxl = pytest.importorskip("openpyxl")
    whole = io.BytesIO()
    openpyxl.Workbook().save(whole)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w") as new:
        for part in old.namelist():
            content = old.read(part)
            if part == "xl/worksheets/sheet1.xml":
                start = content.split(b"<sheetData")[0]
                content = start + b"<sheetData>" + cells.encode()
                content += b"</sheetData></worksheet>"
            new.writestr(part, content)
    return path


def row_xml(number, *cells):
    written = "".join(
        f'<c r="{column}{number}" t="inlineStr"><is><t>{text}</t></is></c>'
        if isinstance(text, str)
        else f'<c r="{column}{number}"><v>{text}</v></c>'
        for column, text in cells
    )
    return f'<row r="{number}">{written}</row>'


HEAD = row_xml(1, ("A", "a"), ("B", "y"))
ROWS = "".join(row_xml(i, ("A", i * 1.5), ("B", i * i % 71)) for i in range(2, 60))


@pytest.mark.parametrize(
    "last",
    [
        row_xml(60, ("XFD", 1)) + row_xml(9000, ("A", 1)),
        "".join(row_xml(i, ("ZZZ", 1)) for i in range(60, 1200)),
        row_xml(1_048_576, ("ABC", 1)),
    ],
)
def test_sheet_with_distant_cells_raises(tmp_path, last):
    with pytest.raises(TableError, match=r"unpacks to more than \d+ MB"):
        read_table(write_workbook(tmp_path / "t.xlsx", HEAD + ROWS + last), "y")


def test_ordinary_sheet_is_read(tmp_path):
    """Also with a distant cell that is formatted but empty."""
    styled = '<row r="60"><c r="XFD60" s="0"/></row>'
    table = read_table(write_workbook(tmp_path / "t.xlsx", HEAD + ROWS + styled), "y")
    assert len(table.y) == 58


@pytest.mark.parametrize(("n_texts", "is_categorical"), [(1, 0), (1, 1), (100, 1)])
def test_parquet_with_long_texts_raises(tmp_path, n_texts, is_categorical):
    texts = [str(i) * 1_000_000 for i in range(n_texts)]
    kind = "category" if is_categorical else "object"
    table = pd.DataFrame({"x": pd.Series(texts * (200 // n_texts), dtype=kind)})
    table["y"] = range(200)
    table.to_parquet(tmp_path / "t.parquet", compression="zstd")
    assert (tmp_path / "t.parquet").stat().st_size < 2**18
    with pytest.raises(TableError, match="unpacks to more than"):
        read_table(tmp_path / "t.parquet", "y")


@pytest.mark.parametrize("compression", ["zstd", "snappy"])
def test_parquet_with_many_repeated_cells_raises(tmp_path, compression):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({name: np.zeros(1_000_000, np.int8) for name in "ay"})
    path = tmp_path / "t.parquet"
    with parquet.ParquetWriter(path, table.schema, compression=compression) as writer:
        for _ in range(6):
            writer.write_table(table)
    assert path.stat().st_size < 200_000
    with pytest.raises(TableError, match=r"unpacks to more than \d+ MB"):
        read_table(path, "y")
