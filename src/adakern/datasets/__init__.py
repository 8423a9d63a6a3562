"""Data sets: their entries, where their files come from, and the checked table."""

from .entry import DatasetEntry, SourceFile, check_entry
from .errors import (
    DatasetError,
    FileUnavailableError,
    ParseError,
    TableMismatchError,
)
from .fetch import load_table
from .fingerprint import content_fingerprint
from .registry import read_entry
from .synthetic import (
    make_cherkassky_2d,
    make_clowns,
    make_covtype_like,
    make_monks,
    make_sandwich,
    make_sin_2x3,
    make_step_1d,
)
from .table import Table

__all__ = [
    "DatasetEntry",
    "DatasetError",
    "FileUnavailableError",
    "ParseError",
    "SourceFile",
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
