"""The reader of files, under the name that users of data sets look for."""

from adakern.tables.read_table import TableFile as TableFile
from adakern.tables.read_table import read_rows as read_rows
from adakern.tables.read_table import read_table as read_table
