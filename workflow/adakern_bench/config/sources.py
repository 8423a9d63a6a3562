"""Whether stored tables still are what their entries and their files say."""

import hashlib
import json
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from adakern_bench.config import settings
from adakern_bench.config.compose import ConfigError
from adakern_bench.data.entry import DatasetError, check_content
from adakern_bench.data.fetch import is_fetched

__all__ = ["check_tables", "placed_by_hand"]


def placed_by_hand(entry, folder):
    """Files of a data set that people put into the cache: they may change."""
    paths = [Path(folder) / file.path for file in entry.sources]
    return [str(path) for path in paths if path.is_file() and not is_fetched(path)]


def check_tables(plan):
    """Compare the stored tables of an experiment with entries and files."""
    words = []
    for dataset in plan.table_names:
        path = Path(plan.config.data.cache) / "tables" / f"{dataset}.npz"
        if not path.is_file():
            _check_files(plan, dataset)
            continue
        try:
            with np.load(path) as stored:
                provenance = json.loads(str(stored["description"]))["provenance"]
        except (OSError, ValueError, KeyError, BadZipFile) as error:
            raise ConfigError(
                f"{path} is not a whole table ({error}); remove it and make it again."
            ) from error
        # Another one will be made again, and checked then.
        if provenance.get("made_by") == settings.source(plan, dataset)["made_by"]:
            try:
                check_content(plan.entry(dataset), provenance["content"])
            except DatasetError as error:
                raise ConfigError(
                    f"dataset.{dataset}: {path}: {error}. Correct the entry, or remove that "
                    "file to make the table again"
                ) from None
        words += _changed_sources(path, provenance, Path(plan.config.data.cache) / "raw")
    return words


def _check_files(plan, dataset):
    """Refuse files whose bytes are not those that the entry states, before any is read."""
    mirror = settings.source(plan, dataset)["mirror"]
    for file in plan.entry(dataset).sources:
        for folder in filter(None, (Path(plan.config.data.cache) / "raw", mirror)):
            path = Path(folder) / file.path
            if file.sha256 and path.is_file():
                if (found := _sha256(path)) != file.sha256:
                    raise ConfigError(
                        f"dataset.{dataset}: the SHA-256 of {path} is {found}, the entry says "
                        f"{file.sha256}. Replace the file, or correct the entry"
                    )
                break


def _changed_sources(path, provenance, raw):
    """Words for fetched and mirrored files that are not what the table was made of."""
    for file in provenance.get("files", []):
        source = Path(file["from"])
        if file["from"].startswith("http"):
            source = raw / file["path"]
        elif source.is_file() and raw in source.parents and not is_fetched(source):
            continue  # it was placed by hand: Snakemake sees that it changed
        kept = f"; {path} was made from it before and is kept. Remove that to make it"
        if not source.is_file():
            yield f"{source} is no longer there{kept} again"
        elif _is_newer(source, path) and _sha256(source) != file["sha256"]:
            yield f"{source} has changed{kept} from what is there now"


def _is_newer(source, path):
    # The inode's time too, which a copy that keeps the old time stamp cannot set back.
    facts = source.stat()
    return max(facts.st_mtime, facts.st_ctime) > path.stat().st_mtime


def _sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()
