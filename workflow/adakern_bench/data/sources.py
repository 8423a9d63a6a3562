"""Whether tables, and the files that they are made of, are what their entries say."""

import json
from pathlib import Path

from adakern_bench.config import settings
from adakern_bench.config.compose import ConfigError
from adakern_bench.config.entry import DatasetError, check_content
from adakern_bench.data.fetch import Obtained, check_hashes, is_fetched, load_table
from adakern_bench.data.table import opened


def placed_by_hand(entry, folder):
    """Files of a data set that people put into the cache: they may change."""
    paths = [Path(folder) / file.path for file in entry.sources]
    return [str(path) for path in paths if path.is_file() and not is_fetched(path)]


def check_tables(plan):
    """Read what tables will be made of, where it is here, and compare stored ones with
    entries.
    """
    cache = Path(plan.config.data.cache)
    for dataset in plan.table_names:
        entry, source = plan.entry(dataset), settings.source(plan, dataset)
        path, folders = (
            cache / "tables" / f"{dataset}.npz",
            (cache / "raw", source["mirror"]),
        )
        try:
            if path.is_file():
                with opened(path) as stored:
                    provenance = json.loads(str(stored["description"]))["provenance"]
                # Another one will be made again, and checked then.
                if provenance.get("made_by") == source["made_by"]:
                    check_content(entry, provenance["content"])
                continue
            here = [got for file in entry.sources if (got := _obtained(file, folders))]
            check_hashes(here)
            if entry.sources and len(here) == len(entry.sources):
                load_table(
                    source["name"], entry, cache_dir=folders[0], mirror=folders[1]
                )
        except DatasetError as error:
            remedy = "Correct the entry, or remove that file to make the table again"
            about = f"{path}: {error}. {remedy}" if path.is_file() else error
            raise ConfigError(f"dataset.{dataset}: {about}") from None


def _obtained(file, folders):
    """A file as the first of the folders has it; None if it has to be fetched."""
    paths = [Path(folder) / file.path for folder in folders if folder]
    path = next(filter(Path.is_file, paths), None)
    return path and Obtained(file, path.read_bytes(), "here", str(path))
