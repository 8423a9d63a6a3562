"""Data sets: their entries, where their files come from, and the checked table."""

from adakern_bench.data.entry import DatasetEntry as DatasetEntry
from adakern_bench.data.entry import DatasetError as DatasetError
from adakern_bench.data.entry import SourceFile as SourceFile
from adakern_bench.data.entry import check_entry as check_entry
from adakern_bench.data.fetch import load_table as load_table
from adakern_bench.data.fingerprint import content_fingerprint as content_fingerprint
from adakern_bench.data.suite import Suite as Suite
from adakern_bench.data.table import Table as Table
