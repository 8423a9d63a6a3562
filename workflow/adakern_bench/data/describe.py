"""Print what an entry may state about its table, ready to be pasted into its file."""

import argparse
import dataclasses
import sys
from pathlib import Path

import yaml

from adakern._utils.hints import did_you_mean
from adakern_bench.data.entry import DatasetError
from adakern_bench.data.fetch import load_table
from adakern_bench.data.registry import read_entry

__all__ = ["describe", "unchecked"]


def unchecked(entry):
    """The entry without what it states about the content of its table."""
    return dataclasses.replace(entry, n=None, d=None, n_test=None, classes={}, fingerprint=None)


def describe(table):
    """The YAML lines that state the content of a table."""
    content = {key: value for key, value in table.content().items() if value}
    if table.provenance.get("source") == "generated":
        del content["fingerprint"]
    return yaml.safe_dump(content, sort_keys=False)


def main(arguments=None):
    """Command line."""
    parser = argparse.ArgumentParser(prog="adakern describe")
    parser.add_argument("name", help="data set, or the path of its YAML file")
    parser.add_argument("--mirror", help="folder with the files")
    parser.add_argument("--cache", default="data/raw", help="folder of fetched files")
    options = parser.parse_args(arguments)
    path = Path(options.name)
    if path.suffix != ".yaml":
        path = Path("conf", "dataset", f"{options.name}.yaml")
    try:
        entry = unchecked(read_entry(path))
        table = load_table(path.stem, entry, cache_dir=options.cache, mirror=options.mirror)
        print(describe(table), end="")
    except FileNotFoundError:
        names = sorted(file.stem for file in path.parent.glob("*.yaml"))
        sys.exit(f"there is no {path}.{did_you_mean(path.stem, names)}")
    except DatasetError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
