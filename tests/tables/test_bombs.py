"""Small files that unpack to enormous tables are refused before they use memory."""

import gzip
import io
import tarfile
import zipfile
import zlib

import numpy as np
import pandas as pd
import pytest

from adakern.datasets import read_table
from adakern.tables.unpack import TableError, unpack


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
        f'<row r="1000000">{"<c><v>1</v></c>" * 1000}</row>',
        '<row r = "900000"><c r = "&#88;FD900000"><v>1</v></c></row>',
        '<row r="90000000"/>',
    ],
)
def test_sheet_with_distant_cells_raises(tmp_path, last):
    with pytest.raises(TableError, match=r"unpacks to more than \d+ MB"):
        read_table(write_workbook(tmp_path / "t.xlsx", HEAD + ROWS + last), "y")


def test_sheet_with_long_repeated_texts_raises(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    sheet.append(["a", "y"])
    for i in range(3000):
        sheet.append(["z" * 32_000, i])
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(TableError, match=r"unpacks to more than \d+ MB"):
        read_table(tmp_path / "t.xlsx", "y")


def test_sheet_with_an_endless_tag_raises_at_once(tmp_path):
    tag = '<row r="60"><c ' + 'r="A60" ' * 100_000
    with pytest.raises(TableError, match="not well-formed"):
        read_table(write_workbook(tmp_path / "t.xlsx", HEAD + ROWS + tag), "y")


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


@pytest.mark.parametrize("kind", ["bytes", "lists"])
def test_parquet_with_wide_cells_raises(tmp_path, kind):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    if kind == "bytes":
        wide = pa.array([b"a" * 10_000] * 20_000, pa.binary(10_000))
    else:
        wide = pa.array([np.zeros(20_000_000, np.int8), *[None] * 49])
    table = pa.table({"x": wide, "y": np.arange(len(wide))})
    parquet.write_table(table, tmp_path / "t.parquet", compression="zstd")
    with pytest.raises(TableError, match=r"unpacks to more than|has lists"):
        read_table(tmp_path / "t.parquet", "y")


def test_nested_compression_is_limited_in_all():
    data = gzip.compress(b"a,b\n1,2\n")
    for _ in range(4):
        data = gzip.compress(data + bytes(1000))
    assert unpack(data, "a.csv.gz", most=10_000) == b"a,b\n1,2\n"
    with pytest.raises(TableError, match="unpacks to more than"):
        unpack(data, "a.csv.gz", most=4000)


def test_archive_unpacks_to_its_stated_size():
    """Neither a size that is too small nor a link to a large member misleads."""
    rows = b"a,b\n" + b"1,2\n" * 200_000
    for kind in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", kind) as archive:
            archive.writestr("a.csv", rows)
            archive.filelist[0].file_size = 8
            archive.filelist[0].CRC = zlib.crc32(rows[:8])
        with pytest.raises(TableError, match=r"Bad CRC|not by deflate|size of a\.csv"):
            unpack(buffer.getvalue(), "a.csv.zip")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in (("a.csv", rows[:8]), ("large", rows)):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("a.csv")
        link.type = tarfile.SYMTYPE
        link.linkname = "large"
        archive.addfile(link)
    assert unpack(buffer.getvalue(), "a.csv.tar") == rows[:8]
