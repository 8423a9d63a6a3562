"""Fuzz the reader of tables: each table must be read, or refused with a clear message.

``python tools/fuzz_tables.py --seconds 60 --seed 0`` writes small files as people and
programs do, with titles, remarks and cells of every kind, and reads them. Faults are an
error that is not a message about the table, a feature that is read differently in new
rows than in training rows, a missing prediction, and a result that depends on the order
of the rows. If there are any, their seeds are printed and the exit status is 1.
"""

import argparse
import collections
import random
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from adakern.datasets import TableError, read_rows, read_table

CELLS = [
    *("", "NA", "-", "None", "nan", "#N/A", "?", "n.a.", "unknown", "0x1", "1_0"),
    *(
        "1",
        "2.5",
        "1,5",
        "1.234",
        "1.234,5",
        "1,234",
        "12,34,567",
        "007",
        "1e5",
        "1e400",
    ),
    *("$5", "$6M", "3 kg", "<0.1", "5%", "(4)", "−3", "inf", "2020", "½", "٣"),
    *(
        "01.02.2020",
        "13/02/2020",
        "2020-01-02",
        "2020-01-02T10:00",
        "12:30",
        "Jan 2020",
        "20200102",
        "20191231.0",
        "20201301",
    ),
    *("x", "Y", "ü", "a b", "'", "true", "False", "Total", "=1+1", "\u200b", "日本"),
    *("X", "y", "Ü", "A  b", "Tru\u0301e", "ﬁ", "İ", "ß"),
]
NAMES = ["a", "b", "id", "date", "Datum", "x y", "Ä", "1", "user_id", ""]


def table(rng):
    """Return the lines above the header, the header, the rows, and the lines below."""
    separator, d = rng.choice(",;\t|"), rng.randint(2, 6)
    header = [rng.choice(NAMES) for _ in range(d - 1)] + ["target"]
    pools = [rng.sample(CELLS, rng.randint(1, 6)) for _ in range(d)]

    def written(cells):
        quoted = (f'"{c}"' if separator in c or c == "" else c for c in cells)
        return separator.join(quoted)

    n = rng.randint(2, 60)
    rows = [written(rng.choice(pool) for pool in pools) for _ in range(n)]
    # A header with a single name cannot be distinguished from a title.
    has_names = sum(name != "" for name in header) > 1
    above = ["Title"] * rng.choice([0, 0, 0, 1, 3]) * has_names
    below = ["Source: x"] * rng.choice([0, 0, 0, 1])
    return above, written(header), rows, below


def faults(seed, folder):
    """Yield the faults in reading one table."""
    rng = random.Random(seed)
    above, header, rows, below = table(rng)
    path = Path(folder, "table.csv")

    def write(rows, below=()):
        path.write_text("\n".join([*above, header, *rows, *below]) + "\n")

    write(rows, below)
    options = {"group": False, "keep": ["all"]}
    if rng.random() < 0.3:
        options["merge"] = ["all"]
    try:
        found = read_table(path, "target", **options)
        write(rows)
        new = read_rows(path, found.kinds, found.forms)
    except TableError:
        return
    if len(new) != len(rows):
        yield f"{len(new)} predictions for {len(rows)} rows"
    write([row for row in rows for _ in range(2)])
    twice = read_rows(path, found.kinds, found.forms)
    if not _same(twice.iloc[::2].reset_index(drop=True), new):
        yield "a row that occurs twice is read differently"
    if len(found.X) == len(new) and not _same(found.X, new):
        yield "the training rows are read differently as new rows"
    if any("Total" in row for row in rows):
        return  # a last row of totals is left out, which depends on the order
    shuffled = rng.sample(rows, len(rows))
    write(shuffled, below)
    try:
        other = read_table(path, "target", **options)
    except TableError as error:
        yield f"rows in another order are refused: {error}"
        return
    if (found.kinds, found.task) != (other.kinds, other.task):
        yield "rows in another order give another table"


def _same(first, second):
    """Whether two frames contain the same values."""
    pairs = zip(first.items(), second.items(), strict=True)
    return all(_equal(a.to_numpy(), b.to_numpy()) for (_, a), (_, b) in pairs)


def _equal(a, b):
    missing = pd.isna(a)
    both = (missing == pd.isna(b)).all()
    return len(a) == len(b) and both and (a[~missing] == b[~missing]).all()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    kinds, seed = collections.Counter(), arguments.seed
    ends = time.monotonic() + arguments.seconds
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        while time.monotonic() < ends:
            try:
                found = list(faults(seed, folder))
            except Exception as error:
                found = [f"{type(error).__name__}: {error}"]
            for fault in found:
                print(f"seed {seed}: {fault}")
                kinds[fault.partition(":")[0]] += 1
            seed += 1
    print(f"{seed - arguments.seed} tables, {kinds.total()} faults {dict(kinds) or ''}")
    sys.exit(bool(kinds))


if __name__ == "__main__":
    main()
