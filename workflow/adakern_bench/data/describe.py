"""Print what an entry may state about its table, ready to be pasted into its file.

``python -m adakern_bench.data.describe NAME`` reads ``conf/dataset/NAME.yaml``, makes
the table without checking it, and prints n, d, the class counts and the fingerprint.
For a suite, ``describe conf/suite/NAME.yaml`` prints its CSV again, one line a set.
"""

import argparse
import dataclasses
import sys
from pathlib import Path

import pandas as pd

from adakern._utils.hints import did_you_mean
from adakern_bench.data.errors import DatasetError
from adakern_bench.data.fetch import load_table
from adakern_bench.data.registry import read_entry, read_suite
from adakern_bench.data.suite import expand_suite

__all__ = ["describe", "unchecked"]


def unchecked(entry):
    """The entry without what it states about the content of its table."""
    return dataclasses.replace(entry, n=None, d=None, n_test=None, classes={}, fingerprint=None)


def describe(table):
    """The YAML lines that state the content of a table.

    >>> import numpy as np
    >>> from adakern_bench.data import Table
    >>> X, y = np.array([[1.0], [2.0]]), np.array([0, 1])
    >>> print(describe(Table(X, y, "toy", "classification", ["x0"])))
    n: 2
    d: 1
    classes: {0: 1, 1: 1}
    fingerprint: "aab9a1fefacd8c0c49f82b47b2460bd1"
    """
    lines = [f"n: {table.X.shape[0]}", f"d: {table.X.shape[1]}"]
    if table.test_rows is not None:
        lines.append(f"n_test: {len(table.test_rows)}")
    if table.class_counts:
        counts = (f"{label}: {count}" for label, count in table.class_counts.items())
        lines.append(f"classes: {{{', '.join(counts)}}}")
    if table.provenance.get("source") != "generated":
        lines.append(f'fingerprint: "{table.fingerprint}"')
    return "\n".join(lines)


def main(arguments=None):
    """Command line."""
    parser = argparse.ArgumentParser(prog="adakern_bench.data.describe")
    parser.add_argument("name", help="data set, or the path of its YAML file")
    parser.add_argument("--mirror", help="folder with the files")
    parser.add_argument("--cache", default="data/raw", help="folder of fetched files")
    options = parser.parse_args(arguments)
    path = Path(options.name)
    if path.suffix != ".yaml":
        path = Path("conf", "dataset", f"{options.name}.yaml")

    def made(name, entry):
        return load_table(name, unchecked(entry), cache_dir=options.cache, mirror=options.mirror)

    try:
        if path.parent.name != "suite":
            print(describe(made(path.stem, read_entry(path))))
            return
        suite = read_suite(path)
        rows = pd.read_csv(path.parent / suite.sets, dtype=str).set_index("set")
        for name, entry in expand_suite(suite, path.parent).items():
            table = made(name, entry)
            facts = [*map(str, table.X.shape), table.fingerprint]
            rows.loc[name.removeprefix(f"{suite.name}-"), ["n", "d", "fingerprint"]] = facts
        print(rows.to_csv(), end="")
    except FileNotFoundError:
        names = sorted(file.stem for file in path.parent.glob("*.yaml"))
        sys.exit(f"there is no {path}.{did_you_mean(path.stem, names)}")
    except DatasetError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
