"""Generators of data sets, and the reading of a table from a file."""

from adakern.datasets.read_table import TableFile, read_rows, read_table
from adakern.datasets.synthetic import (
    make_cherkassky_2d,
    make_clowns,
    make_covtype_like,
    make_sandwich,
    make_sin_2x3,
    make_step_1d,
)
from adakern.datasets.unpack import TableError

__all__ = [
    "TableError",
    "TableFile",
    "make_cherkassky_2d",
    "make_clowns",
    "make_covtype_like",
    "make_sandwich",
    "make_sin_2x3",
    "make_step_1d",
    "read_rows",
    "read_table",
]
