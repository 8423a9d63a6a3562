"""The reader of tables: from files and data frames to the input of models."""

from adakern.tables.read_table import TableFile as TableFile
from adakern.tables.read_table import read_rows as read_rows
from adakern.tables.read_table import read_table as read_table
from adakern.tables.unpack import TableError as TableError
