"""Data sets: their entries, where their files come from, and the checked table."""

from adakern.datasets.entry import DatasetEntry, SourceFile, check_entry
from adakern.datasets.errors import (
    DatasetError,
    FileUnavailableError,
    ParseError,
    TableMismatchError,
)
from adakern.datasets.fetch import load_table
from adakern.datasets.fingerprint import content_fingerprint
from adakern.datasets.registry import read_entry
from adakern.datasets.suite import Suite
from adakern.datasets.synthetic import (
    make_cherkassky_2d,
    make_clowns,
    make_covtype_like,
    make_monks,
    make_sandwich,
    make_sin_2x3,
    make_step_1d,
)
from adakern.datasets.table import Table

__all__ = [
    "DatasetEntry",
    "DatasetError",
    "FileUnavailableError",
    "ParseError",
    "SourceFile",
    "Suite",
    "Table",
    "TableMismatchError",
    "check_entry",
    "content_fingerprint",
    "load_table",
    "make_cherkassky_2d",
    "make_clowns",
    "make_covtype_like",
    "make_monks",
    "make_sandwich",
    "make_sin_2x3",
    "make_step_1d",
    "read_entry",
]
