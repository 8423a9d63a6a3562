"""Data sets: their entries, where their files come from, and the checked table."""

from adakern_bench.data.entry import DatasetEntry, SourceFile, check_entry
from adakern_bench.data.errors import (
    DatasetError,
    FileUnavailableError,
    ParseError,
    TableMismatchError,
)
from adakern_bench.data.fetch import load_table
from adakern_bench.data.fingerprint import content_fingerprint
from adakern_bench.data.registry import read_entry
from adakern_bench.data.suite import Suite
from adakern_bench.data.table import Table

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
    "read_entry",
]
