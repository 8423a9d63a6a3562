"""The reader of tables: from files and data frames to the input of models."""

from adakern.tables.read_table import TableFile, read_rows, read_table
from adakern.tables.unpack import TableError

__all__ = [
    "TableError",
    "TableFile",
    "read_rows",
    "read_table",
]
