"""Whether stored tables still are what their entries and their files say."""

import hashlib
import json
from pathlib import Path

from adakern_bench.config import settings
from adakern_bench.config.compose import ConfigError
from adakern_bench.data.entry import DatasetError, check_content
from adakern_bench.data.fetch import is_fetched
from adakern_bench.data.table import opened


def placed_by_hand(entry, folder):
    """Files of a data set that people put into the cache: they may change."""
    paths = [Path(folder) / file.path for file in entry.sources]
    return [str(path) for path in paths if path.is_file() and not is_fetched(path)]


def check_tables(plan):
    """Compare the tables of an experiment, or the files they will be made of, with entries."""
    cache = Path(plan.config.data.cache)
    for dataset in plan.table_names:
        path, source = cache / "tables" / f"{dataset}.npz", settings.source(plan, dataset)
        if not path.is_file():
            _check_files(plan.entry(dataset), filter(None, (cache / "raw", source["mirror"])))
            continue
        try:
            with opened(path) as stored:
                provenance = json.loads(str(stored["description"]))["provenance"]
            # Another one will be made again, and checked then.
            if provenance.get("made_by") == source["made_by"]:
                check_content(plan.entry(dataset), provenance["content"])
        except DatasetError as error:
            raise ConfigError(
                f"dataset.{dataset}: {path}: {error}. Correct the entry, or remove that "
                "file to make the table again"
            ) from None


def _check_files(entry, folders):
    """Refuse files whose bytes are not those that the entry states, before any is read."""
    folders = list(map(Path, folders))
    for file in entry.sources:
        found = [folder / file.path for folder in folders if (folder / file.path).is_file()]
        if file.sha256 and found:
            digest = hashlib.sha256(found[0].read_bytes()).hexdigest()
            if digest != file.sha256:
                raise ConfigError(
                    f"the SHA-256 of {found[0]} is {digest}, the entry says {file.sha256}. "
                    "Replace the file, or correct the entry"
                )
