"""Checks that tables and their files agree with their entries."""

import json
from dataclasses import asdict
from pathlib import Path

from adakern_bench.base.download import is_fetched
from adakern_bench.base.elsewhere_worker import targets
from adakern_bench.base.notes import digest
from adakern_bench.base.paths import raw_folders
from adakern_bench.config import declared
from adakern_bench.config.code_version import code_version
from adakern_bench.config.compose import ConfigError
from adakern_bench.config.entry import DatasetError, check_content
from adakern_bench.data.fetch import (
    Obtained,
    check_hashes,
    load_table,
)
from adakern_bench.data.near_copies import refuse_copies
from adakern_bench.data.parsers import PARSERS, format_of
from adakern_bench.data.table import Table, provenance_of

#: Settings of an entry that do not affect the table: information for the reader,
#: checks, and options of later stages.
NOT_IN_TABLE = (
    *("title", "licence", "citation", "homepage", "note", "openml"),
    *("n", "d", "n_test", "classes", "fingerprint", "clip"),
)


def made_from(entry):
    """Inputs of a table: part of its entry, and the code that reads it."""
    described = {
        key: value for key, value in vars(entry).items() if key not in NOT_IN_TABLE
    }
    described["files"] = [_read_as(file) for file in entry.files]
    for key in ("splits", "tuning_split"):
        described[key] = described[key] and _read_as(described[key])
    return {"entry": described, "code": code_version(*_makers_of(entry))}


def _read_as(file):
    """Settings of a file that affect how it is read, whatever its source."""
    known = ("urls", "url_tried", "sha256", "md5")
    return {key: value for key, value in asdict(file).items() if key not in known}


def made_by(entry):
    """Hash of the inputs of a table."""
    return digest(json.dumps(made_from(entry), sort_keys=True, default=str), 12)


def _makers_of(entry):
    """Functions that make a table: its generator, or the parsers of its files."""
    if entry.loader:
        return "adakern_bench.data.assemble.table_from_loader", *targets(entry.loader)
    reading_splits = ["adakern_bench.data.splits.read_splits"] if entry.splits else []
    if entry.split_seeds:
        reading_splits = ["adakern_bench.data.splits.seeded_splits"]
    parsers = {PARSERS[format_of(entry, file)] for file in entry.files}
    return (
        "adakern_bench.data.assemble.table_from_frames",
        "adakern.tables.unpack.unpack",
        *reading_splits,
        *sorted(f"{parser.__module__}.{parser.__name__}" for parser in parsers),
    )


def placed_by_hand(entry, folder):
    """Files of a data set that the user put into the cache, and may change."""
    paths = [Path(folder) / file.path for file in entry.sources]
    return [str(path) for path in paths if path.is_file() and not is_fetched(path)]


def make_ready(name, entry, cache, mirror=None, frames=None):
    """Make a table whose files exist locally, for its job to use; return its path."""
    folder = Path(cache)
    table = load_table(
        name, entry, cache_dir=folder / "raw", mirror=mirror, frames=frames
    )
    table.provenance["made_by"] = made_by(entry)
    path = ready_table(folder / "tables" / f"{name}.npz")
    table.save(path)
    return path


def ready_table(path):
    """Path of a table that is made before its job, so that no file is read twice."""
    return path.parent / "ready" / path.name


def is_made(path, made_by, files):
    """Whether a table exists that has these inputs and is newer than its files."""
    if not path.exists() or provenance_of(path).get("made_by") != made_by:
        return False
    made_at = path.stat().st_mtime
    return all(Path(file).stat().st_mtime < made_at for file in files)


def check_tables(plan):
    """Make the tables whose files exist locally, and compare existing tables with their
    entries.
    """
    cache = Path(plan.config.data.cache)
    tables = []
    for dataset in plan.table_names:
        entry = plan.entry(dataset)
        path = cache / "tables" / f"{dataset}.npz"
        try:
            by_hand = placed_by_hand(entry, cache / "raw")
            if not by_hand:  # its files have been removed since
                ready_table(path).unlink(missing_ok=True)
            asked = made_by(entry), by_hand
            made = [p for p in (path, ready_table(path)) if is_made(p, *asked)]
            for one in made:
                check_content(entry, provenance_of(one)["content"])
            tables += made[:1] or _made_ready(dataset, entry, plan.config.data)
        except DatasetError as error:
            remedy = "Correct the entry, or delete this file to make the table again"
            about = f"{path}: {error}. {remedy}" if path.is_file() else error
            raise ConfigError(f"dataset.{dataset}: {about}") from None
    if declared.is_needed(plan.config):
        refuse_copies(map(Table.load, tables))


def _made_ready(dataset, entry, data):
    """Return the table if all its files exist locally; otherwise return none, but check
    the hashes of those that do.
    """
    folders = raw_folders(data)
    here = [_first_of(folders, file.path) for file in entry.sources]
    if here and all(here):
        return [make_ready(dataset, entry, data.cache, data.mirror)]
    check_hashes(
        [
            Obtained(file, path.read_bytes(), "here", str(path))
            for file, path in zip(entry.sources, here, strict=True)
            if path
        ]
    )
    return []


def _first_of(folders, name):
    """Return the file of this name in the first folder that has it, or None."""
    paths = [folder / name for folder in folders]
    return next(filter(Path.is_file, paths), None)
