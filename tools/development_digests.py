"""Write conf/suite/development.csv: digests of all development and evaluation sets.

    python tools/development_digests.py --mirror FOLDER

data/README.md describes the layout of the mirror. A set whose files are missing is
named and keeps its line. The file contains only hashes, from which no value can be
recovered.
"""

import argparse
import csv
from pathlib import Path

from adakern._utils.files import atomic_path
from adakern_bench.config.compose import available, load_config
from adakern_bench.config.entry import DatasetError
from adakern_bench.data.fetch import load_table
from adakern_bench.data.near_copies import DEVELOPMENT, Digest

SUITES = ("uci121", "uci_regression", "srbench")
COLUMNS = ("name", "n", "n_rows", "target", "columns", "rows")


def main():
    """Write the file, and print the sets that could not be read."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mirror", type=Path)
    mirror = parser.parse_args().mirror
    lines = {}
    if DEVELOPMENT.is_file():
        with open(DEVELOPMENT, newline="") as file:
            lines = {line["name"]: line for line in csv.DictReader(file)}
    for name, entry in sorted(known_entries().items()):
        for file in entry.sources:
            file.urls = []  # only local files
        try:
            table = load_table(name, entry, cache_dir="data/raw", mirror=mirror)
        except DatasetError as error:
            print(f"{name}: {str(error).splitlines()[0]}")
            continue
        lines[name] = {"name": name} | Digest.of(table).line()
    with atomic_path(DEVELOPMENT) as path, open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines[name] for name in sorted(lines))


def known_entries():
    """Name -> entry of all data sets except generated ones."""
    names = [name for name in available("dataset") if not name.startswith("my-")]
    found = load_config([f"dataset=[{','.join(names)}]"]).dataset
    for suite in SUITES:
        found |= load_config([f"suite={suite}", "dataset=[]"]).dataset
    return {
        name: entry
        for name, entry in found.items()
        if entry.files or ".load_" in str(entry.loader)
    }


if __name__ == "__main__":
    main()
