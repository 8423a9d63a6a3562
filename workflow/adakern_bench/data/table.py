"""The canonical table, the common form of all data sets."""

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from adakern._utils.files import atomic_path
from adakern.tables.dates import ISO, times_of, written_date
from adakern.tables.unpack import check_size, most_unpacked
from adakern_bench.config.entry import DatasetError
from adakern_bench.data.fingerprint import content_fingerprint

#: Fraction of the rows below which a class is rare.
RARE = 0.1


@dataclass
class Table:
    """A data set in memory."""

    #: Features as distributed, not scaled: float64, with NaN for missing values, which
    #: the preparation imputes; for a categorical feature, positions in `categories`.
    X: np.ndarray
    #: Class labels (int64 or text), or float64 targets of a regression, with one column
    #: per target if there are several.
    y: np.ndarray
    name: str
    task: str
    feature_names: list[str]
    #: Names of the targets if there are several.
    targets: list[str] | None = None
    #: Group of each row, as a number (the recordings of a patient, for example).
    groups: np.ndarray | None = None
    #: Indices of the rows of the published test set.
    test_rows: np.ndarray | None = None
    #: Masks of the test rows of each published split, of shape (n_splits, n).
    published_splits: np.ndarray | None = None
    #: Mask of the validation rows of the published tuning split.
    tuning_rows: np.ndarray | None = None
    #: Sorted times at which the rows were observed: numbers, or days since 1970.
    times: np.ndarray | None = None
    times_are_dates: bool = False
    #: Source, SHA-256 of the files' bytes, content fingerprint, licence, citation.
    provenance: dict = field(default_factory=dict)
    categories: dict = field(default_factory=dict)
    #: For a table of mixed columns: feature -> "numeric", "categorical" or "date", and
    #: feature -> format of its cells.
    kinds: dict = field(default_factory=dict)
    forms: dict = field(default_factory=dict)

    @property
    def moments(self):
        """Rank of the time of each row, shared by rows observed at the same time."""
        if self.times is None:
            return None
        return np.unique(self.times, return_inverse=True)[1]

    @property
    def is_mixed(self):
        """Whether the table contains categories, dates or missing values."""
        return bool(self.categories or self.dates) or bool(np.isnan(self.X).any())

    @property
    def dates(self):
        """Names of features that are dates, stored as days since 1970."""
        return [name for name, kind in self.kinds.items() if kind == "date"]

    def frame(self):
        """Features as named columns: numbers, times, and categories as text."""
        import pandas as pd

        frame = pd.DataFrame(self.X, columns=self.feature_names)
        for name, known in self.categories.items():
            frame[name] = frame[name].map(dict(enumerate(known))).astype(object)
        for name in self.dates:
            frame[name] = times_of(frame[name].to_numpy())
        return frame

    def as_written(self, rows):
        """Return some rows of the frame, with cells as a file would contain them."""
        frame = self.frame().iloc[rows]
        for name in self.dates:
            form = self.forms.get(name) or ISO
            frame[name] = [written_date(time, form) for time in frame[name]]
        return frame

    @property
    def fingerprint(self):
        """Fingerprint of the content; see `content_fingerprint`."""
        marks = [] if self.groups is None else [self.groups]
        if self.test_rows is not None:
            marks.append(np.isin(np.arange(len(self.X)), self.test_rows))
        if self.published_splits is not None:
            marks += list(self.published_splits)
        if self.tuning_rows is not None:
            marks.append(self.tuning_rows)
        missing = np.isnan(self.X)
        marks += list(missing[:, missing.any(axis=0)].T)
        return content_fingerprint(np.where(missing, 0.0, self.X), self.y, marks)

    @property
    def class_counts(self):
        """Number of rows of each class; {} for regression."""
        if self.task == "regression":
            return {}
        labels, counts = np.unique(self.y, return_counts=True)
        return dict(zip(labels.tolist(), counts.tolist(), strict=True))

    def content(self):
        """Properties of the table that an entry may state, in types of JSON."""
        return {
            "n": len(self.X),
            "d": self.X.shape[1],
            "n_test": 0 if self.test_rows is None else len(self.test_rows),
            "classes": {
                str(label): count for label, count in self.class_counts.items()
            },
            "fingerprint": self.fingerprint,
        }

    def save(self, path):
        """Write the table to one .npz file atomically."""
        content = {k: v for k, v in vars(self).items() if v is not None}
        arrays: dict[str, Any] = {
            k: v for k, v in content.items() if isinstance(v, np.ndarray)
        }
        described = json.dumps({k: v for k, v in content.items() if k not in arrays})
        with atomic_path(path) as partial, open(partial, "wb") as file:
            np.savez(file, **arrays, description=described)

    @classmethod
    def load(cls, path):
        """Read a table that `save` wrote."""
        with opened(path) as stored:
            arrays = dict(stored.items())
            return cls(**json.loads(str(arrays.pop("description"))), **arrays)


def has_rare_class(table):
    """Whether the smallest class of a classification has few rows.

    A method that never predicts such a class has a high accuracy.
    """
    counts = table.class_counts.values()
    return bool(counts) and min(counts) < RARE * len(table.y)


def provenance_of(path):
    """Provenance of a table in a file."""
    with opened(path) as stored:
        return json.loads(str(stored["description"]))["provenance"]


@contextmanager
def opened(path):
    """Arrays in the file of a table, read on demand."""
    path = Path(path)
    try:
        with np.load(path, allow_pickle=False) as stored:
            n_bytes = sum(part.file_size for part in stored.zip.infolist())
            check_size(n_bytes, most_unpacked(path.stat().st_size), path.name)
            yield stored
    except FileNotFoundError:
        raise
    except Exception as error:
        raise DatasetError(
            f"{path} is an incomplete table ({error}); delete the file, so that it is "
            "made again"
        ) from error
