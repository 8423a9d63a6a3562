"""Parsing of binary files, Parquet and Excel, to named columns of cells."""

import io
import itertools
import json
import re
import zipfile
from contextlib import suppress
from uuid import UUID
from xml.parsers.expat import ExpatError, ParserCreate

import numpy as np

from adakern._utils.wording import listed
from adakern.tables.around import MOST_ABOVE, about_above, header_row
from adakern.tables.cells import plain_text
from adakern.tables.unpack import TableError, check_size, most_unpacked

#: Cells of one column that are merged, in the XML of a sheet.
_MERGED = re.compile(rb'mergeCell ref="([A-Z]+)(\d+):\1(\d+)"')
#: Bytes of an empty row of a sheet, as pandas reads it.
_BYTES_OF_ROW = 64


def parquet(data, name):
    """Read the columns of a Parquet file."""
    for n_bytes in (_packed_bytes_of_parquet, _bytes_of_parquet):
        check_size(_by_pandas(n_bytes, data, name), most_unpacked(len(data)), name)
    frame = _by_pandas(_read_parquet, data, name)
    return frame if frame.index.names == [None] else frame.reset_index()


def _read_parquet(file):
    from pyarrow.parquet import read_table

    table = read_table(file)
    stated = table.schema.pandas_metadata or {}
    for column in stated.get("columns", ()):
        if column["numpy_type"].endswith("[pyarrow]"):  # pandas fails to parse some
            column["numpy_type"] = "object"
    table = table.replace_schema_metadata(stated and {"pandas": json.dumps(stated)})
    frame = table.to_pandas(integer_object_nulls=True)
    for column in table.schema:
        if str(column.type) == "extension<arrow.uuid>":
            frame[column.name] = [
                value and str(UUID(bytes=value)) for value in frame[column.name]
            ]
    for column in stated.get("columns", ()):
        name = column["name"]
        if column["pandas_type"] == "categorical" and name in frame:
            frame[name] = frame[name].astype("category")  # Arrow keeps that of texts
    return frame


def first_sheet(data, name, target, notes):
    """Return (cells, header) of the first sheet of an Excel file.

    The rows are those from the header to the last row that is not empty.
    """
    most = most_unpacked(len(data))
    check_size(_by_pandas(_bytes_of_sheets, data, name), most, name)
    sheets, merged = _by_pandas(_visible_sheets, data, name)
    check_size(sum(map(_characters, sheets.values())), most, name)
    named = str(target)  # not a number that some cell holds
    having = [key for key in sheets if (sheets[key] == named).any(axis=None)]
    sheet = next(iter([*having, *sheets]))
    frame = sheets[sheet]
    if len(sheets) > 1:
        which = f"the first with {target!r}" if having else "the first"
        notes.append(f"{sheet!r} is read, {which} of {len(sheets)} sheets")
    if ranges := merged.get(sheet):
        notes.append(f"merged cells: {listed(ranges)} filled with their first cell")
    filled = np.flatnonzero((frame != "").any(axis=1))
    if not len(filled):
        return frame.iloc[:0], frame.columns
    first = frame.iloc[filled[: 4 * MOST_ABOVE]].map(lambda cell: plain_text(str(cell)))
    rows = first.to_numpy().tolist()
    above = header_row(rows, target)
    above += any(target in row for row in rows[above + 1 : above + 2])  # merged
    notes += about_above(above)
    place = filled[above]
    end = filled[-1] + 1
    return frame.iloc[place + 1 : end], frame.iloc[place].to_numpy()


def _characters(frame):
    """Number of characters of all cells, each text counted as often as it occurs."""
    return sum(len(cell) for cell in frame.to_numpy().flat if isinstance(cell, str))


def _visible_sheets(file):
    """Cells of the sheets that are not hidden, and ranges of merged ones, by name."""
    import pandas as pd

    with pd.ExcelFile(file) as book, zipfile.ZipFile(file) as archive:
        sheets = getattr(book.book, "worksheets", [])
        shown = {s.title: s for s in sheets if s.sheet_state == "visible"}
        # Read empty cells as "", since NA and None may be classes.
        frames = pd.read_excel(
            book,
            sheet_name=[*shown] or None,
            header=None,
            dtype=object,
            keep_default_na=False,
        )
        merged = {}
        for title, sheet in shown.items():
            ranges = _MERGED.findall(archive.read(sheet._worksheet_path))
            frames[title], merged[title] = _fill_merged(frames[title], ranges)
        return frames, merged


def _fill_merged(frame, ranges):
    """Repeat the first of merged cells in the others, which are empty."""
    import pandas as pd
    from openpyxl.utils import column_index_from_string

    cells = frame.to_numpy(dtype=object)
    filled = []
    n_left = cells.size
    for first, last, letters in sorted((int(a), int(b), s) for s, a, b in ranges):
        name = letters.decode()
        column = column_index_from_string(name) - 1
        below = cells[first:last, column : column + 1]
        n_left -= len(below)
        if n_left < 0:
            raise ValueError("merged cells overlap")
        if below.size and (below == "").all():
            below[:] = cells[first - 1, column]
            filled.append(f"{name}{first}:{name}{last}")
    return pd.DataFrame(cells, columns=frame.columns), filled


def _by_pandas(reader, data, name):
    try:
        return reader(io.BytesIO(data))
    except ImportError as error:
        raise TableError(f"{name}: {error} Or save it as CSV.") from None
    except Exception as error:
        raise TableError(f"{name} cannot be read: {str(error).strip()}.") from error


def _packed_bytes_of_parquet(file):
    """Number of bytes of a file's cells, or of its distinct ones if these are more."""
    from pyarrow import types
    from pyarrow.parquet import read_metadata

    metadata = read_metadata(file)
    for column in metadata.schema.to_arrow_schema():
        if types.is_nested(column.type):
            raise ValueError(
                f"the column {column.name!r} has lists or structs; expand it into "
                "columns of numbers or texts, or leave it out of the file"
            )
    columns = [metadata.schema.column(i) for i in range(metadata.num_columns)]
    n_bytes = sum(max(8, column.length or 0) for column in columns)  # of a row
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    distinct = sum(group.total_byte_size for group in groups)
    return max(n_bytes * metadata.num_rows, distinct)


def _bytes_of_parquet(file):
    """Number of bytes of a file's text, repeated texts included."""
    from pyarrow import compute
    from pyarrow.parquet import read_schema, read_table

    table = read_table(file, read_dictionary=read_schema(file).names)
    is_text = re.compile("dictionary<values=(large_)?(string|binary)")
    n_bytes = 0
    columns = (column.chunks for column in table.columns)
    for chunk in itertools.chain.from_iterable(columns):
        if is_text.match(str(chunk.type)):
            lengths = compute.binary_length(chunk.dictionary).take(chunk.indices)
            n_bytes += compute.sum(lengths.cast("int64")).as_py() or 0
    return n_bytes


def _bytes_of_sheets(file):
    """Number of bytes of the rows up to the last one, and of the cells up to the last
    one in use, summed over all sheets.
    """
    n_bytes = 0
    with zipfile.ZipFile(file) as archive:
        for part in archive.namelist():
            extent = _Extent()
            parser = ParserCreate(namespace_separator="}")
            parser.StartElementHandler = extent.add
            with suppress(ExpatError):  # no sheet, or damaged: pandas reports it
                parser.Parse(archive.read(part), True)
            n_bytes += max(
                _BYTES_OF_ROW * extent.last, 8 * extent.rows * extent.columns
            )
    return n_bytes


class _Extent:
    """Extent of a sheet, found from the elements of its XML."""

    def __init__(self):
        self.row = self.column = 0  # of the current element
        self.last = self.rows = self.columns = 0  # the latter two: with content

    def add(self, name, attributes):
        """Take an element into account."""
        kind = name.rpartition("}")[2]
        place = attributes.get("r", "")
        if kind == "row":
            self.row = int(place or self.row + 1)
            self.column = 0
            self.last = max(self.last, self.row)
        elif kind == "c":
            self.column += 1
            if place:
                self.column = 0
                for letter in place.upper().rstrip("0123456789"):
                    self.column = 26 * self.column + ord(letter) - ord("A") + 1
        elif kind in ("v", "is"):
            self.rows = max(self.rows, self.row)
            self.columns = max(self.columns, self.column)
