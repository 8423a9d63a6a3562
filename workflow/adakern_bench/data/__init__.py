"""Data sets: their entries, where their files come from, and the checked table."""

from adakern_bench.config.entry import (
    DatasetEntry,
    DatasetError,
    SourceFile,
    check_entry,
)
from adakern_bench.config.suite import Suite
from adakern_bench.data.fetch import load_table
from adakern_bench.data.fingerprint import content_fingerprint
from adakern_bench.data.table import Table

__all__ = [
    "DatasetEntry",
    "DatasetError",
    "SourceFile",
    "Suite",
    "Table",
    "check_entry",
]
__all__ += ["content_fingerprint", "load_table"]
