"""Generators of synthetic data sets, and the reader of table files."""

from adakern.datasets.read_table import TableFile as TableFile
from adakern.datasets.read_table import read_rows as read_rows
from adakern.datasets.read_table import read_table as read_table
from adakern.datasets.synthetic import make_cherkassky_2d as make_cherkassky_2d
from adakern.datasets.synthetic import make_clowns as make_clowns
from adakern.datasets.synthetic import make_covtype_like as make_covtype_like
from adakern.datasets.synthetic import make_panel as make_panel
from adakern.datasets.synthetic import make_sandwich as make_sandwich
from adakern.datasets.synthetic import make_sin_2x3 as make_sin_2x3
from adakern.datasets.synthetic import make_step_1d as make_step_1d
from adakern.tables.unpack import TableError as TableError
