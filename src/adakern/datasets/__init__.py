"""Generators of synthetic data sets, and the reader of table files."""

from adakern.datasets.synthetic import (
    make_cherkassky_2d,
    make_clowns,
    make_covtype_like,
    make_panel,
    make_sandwich,
    make_sin_2x3,
    make_step_1d,
)
from adakern.tables.read_table import TableFile, read_rows, read_table
from adakern.tables.unpack import TableError

__all__ = [
    "TableError",
    "TableFile",
    "make_cherkassky_2d",
    "make_clowns",
    "make_covtype_like",
    "make_panel",
    "make_sandwich",
    "make_sin_2x3",
    "make_step_1d",
    "read_rows",
    "read_table",
]
