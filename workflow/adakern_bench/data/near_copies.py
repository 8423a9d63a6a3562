"""Detection of tables that are copies, or near copies, of development sets.

A table is recognised by digests of its columns and of a sample of its rows. A column's
digest does not depend on units, on the names or codes of categories, or on the order of
rows; a row's digest is that of its values. ``conf/suite/development.csv`` contains the
digests of the sets that the flagship was developed on or evaluated with, written by
``tools/development_digests.py``. No value can be recovered from it.
"""

import csv
from dataclasses import dataclass
from hashlib import blake2b
from zlib import crc32

import numpy as np

from adakern_bench.base.paths import CONF
from adakern_bench.base.plain_text import bullets
from adakern_bench.config.compose import ConfigError
from adakern_bench.data.fingerprint import six_digits

DEVELOPMENT = CONF / "suite" / "development.csv"
#: Number of digests kept per set: the smallest ones, which amount to a random sample.
SAMPLE = 64
#: Columns with at most this number of different values are recognised by their counts.
FEW_VALUES = 20
#: Minimum number of equal rows in the sample that is not a coincidence.
FEWEST_ROWS = 8
_LEVELS = np.linspace(0, 1, 21)


@dataclass
class Digest:
    """Digests by which a table is recognised; `n_rows` counts distinct rows."""

    n: int
    n_rows: int
    #: Digest of a target with many values; "" for others, which many tables share.
    target: str
    columns: set[str]
    rows: set[str]

    @classmethod
    def of(cls, table):
        """Return all digests of a table."""
        columns = [_of_column(*column) for column in _columns(table)]
        rows = set(_of_rows(table))
        target = columns.pop()
        many = table.task == "regression" and len(np.unique(table.y)) > FEW_VALUES
        return cls(
            n=len(table.y),
            n_rows=len(rows),
            target=target if many else "",
            columns={*columns, target} - {""},
            rows=rows,
        )

    def line(self):
        """Return its line in the file of digests."""
        return {
            "n": self.n,
            "n_rows": self.n_rows,
            "target": self.target,
            "columns": " ".join(sorted(self.columns)[:SAMPLE]),
            "rows": " ".join(sorted(self.rows)[:SAMPLE]),
        }

    def likeness(self, sampled):
        """Return why this may be the table of the sampled digests, or "" if not."""
        if self.n == sampled.n:
            if self.target and self.target == sampled.target:
                return f"the same number of rows ({self.n}) and the same target"
            shared = len(self.columns & sampled.columns)
            least = min(len(self.columns), len(sampled.columns))
            if shared >= max(2, least / 2):
                return f"the same number of rows ({self.n}) and {shared} equal columns"
        found = len(self.rows & sampled.rows)
        share = found / max(len(sampled.rows), 1) * sampled.n_rows
        share /= min(self.n_rows, sampled.n_rows)
        if found >= min(FEWEST_ROWS, len(sampled.rows)) and share >= 0.5:
            return f"about {min(share, 1):.0%} equal rows"
        return ""


def development_digests(path=DEVELOPMENT):
    """Name -> digest of each set that was used in development or evaluation."""
    with open(path, newline="") as file:
        return {line.pop("name"): _read(line) for line in csv.DictReader(file)}


def _read(line):
    columns = set(line["columns"].split())
    rows = set(line["rows"].split())
    return Digest(int(line["n"]), int(line["n_rows"]), line["target"], columns, rows)


def refuse_copies(tables):
    """Raise a ConfigError if a table copies a development set or another table."""
    known = development_digests()
    problems = []
    for table in tables:
        ours = Digest.of(table)
        for name, sampled in known.items():
            if why := ours.likeness(sampled):
                problems.append(f"{table.name} is, or nearly is, {name}: {why}")
                break
        known[table.name] = _read(ours.line())
    if problems:
        raise ConfigError(
            "tables of a confirmation must be new and distinct:\n"
            f"{bullets(problems)}\nRemove these lines from SETS.csv"
        )


def _columns(table):
    """Yield values, and whether they are categories, of each feature and the target."""
    for values, name in zip(table.X.T, table.feature_names, strict=True):
        yield values[~np.isnan(values)], name in table.categories
    for target in np.atleast_2d(table.y.T):
        yield target, table.task == "classification"


def _of_column(values, is_categorical):
    """Digest of a column; "" if it is constant."""
    counts = np.unique(values, return_counts=True)[1]
    if len(counts) < 2:
        return ""
    if is_categorical or len(counts) <= FEW_VALUES:
        return _hash(np.sort(counts).astype("<i8"))
    spread = (values - values.mean()) / values.std()
    drawn = np.quantile(spread, _LEVELS, method="nearest")
    return _hash(np.rint(100 * drawn).astype("<i8"))


def _of_rows(table):
    """Digest of each row's features."""
    values = np.nan_to_num(table.X)
    for name, words in table.categories.items():
        codes = np.array([crc32(str(word).encode()) for word in words], float)
        column = table.feature_names.index(name)
        values[:, column] = codes[values[:, column].astype(int)]
    return map(_hash, np.ascontiguousarray(six_digits(values), dtype="<i4"))


def _hash(values):
    return blake2b(values.tobytes(), digest_size=4).hexdigest()
