"""Reader of table files, under the name where users look for it."""

from adakern.tables.read_table import TableFile as TableFile
from adakern.tables.read_table import read_rows as read_rows
from adakern.tables.read_table import read_table as read_table
