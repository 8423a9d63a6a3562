"""The description of a data set: what one file of ``conf/dataset/`` holds."""

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adakern._utils.hints import did_you_mean

__all__ = ["DatasetEntry", "SourceFile", "check_entry"]

TASKS = ("classification", "regression")
FORMATS = ("csv", "whitespace", "arff", "libsvm", "monks", "npz", "parquet")
MISSING_RULES = ("error", "drop-rows", "mean", "fill")
WORDS_RULES = ("error", "one-hot")
SPLIT_FORMATS = ("row-lists", "test-marks")

#: Endings of a file's name, none of which Python, a shell or a loader of pickles runs.
ENDINGS = (
    *("", ".csv", ".tsv", ".txt", ".dat", ".data", ".all-data", ".arff", ".npz"),
    *(".parquet", ".xlsx", ".libsvm", ".svm", ".binary", ".numer", ".t", ".tr"),
    *(".val", ".train", ".test", ".gz", ".bz2", ".xz", ".zip", ".tar", ".tgz"),
)


@dataclass
class SourceFile:
    """One file of a data set.

    Attributes
    ----------
    path : str
        Where the file lies below the cache and below a mirror folder, for example
        ``sonar/sonar.all-data``. It may be packed (.gz, .bz2, .xz, .zip, .tar): that is
        seen from its first bytes, not from its name.
    urls : list of str
        Where it can be fetched, tried in this order.
    url_tried : bool
        Whether somebody has fetched the file from these urls. It informs the
        reader; the content check decides whether what arrives is the data.
    test : bool
        The rows of this file are the published test set.
    member : str or None
        Which file to take out of an archive (.zip, .tar) that holds several.
    """

    path: str = ""
    urls: list[str] = field(default_factory=list)
    url_tried: bool = False
    test: bool = False
    member: str | None = None


@dataclass
class DatasetEntry:
    """Everything that is known about one data set, and how to read it.

    `task` and either `files` or `loader` are needed, the rest is optional. What is
    stated about the content (`n`, `d`, `n_test`, `classes`, `fingerprint`) is
    checked whenever the table is made. Columns are named by a position (0 is the
    first, -1 the last) or, where the file has column names, by name.

    Attributes
    ----------
    task : {"classification", "regression"}
    files : list of SourceFile
        The files whose rows, one below the other, make the table.
    loader : dict
        Instead of files, a function that returns the data: ``_target_`` is its
        dotted name, the other keys are its arguments. It returns ``(X, y)``, or a
        mapping with ``data``, ``target`` and optionally ``feature_names`` and
        ``test_rows``. A function with a parameter ``random_state`` gets the seed.
    format : str or None
        One of csv, whitespace, arff, libsvm, monks, npz, parquet; None takes it
        from the ending of the file name.
    separator : str or None
        Of a csv file, "," unless given.
    decimal : str
        Of a csv file: "." or ",".
    encoding : str or None
        Of a csv file, UTF-8 unless given.
    header : bool or None
        Whether the first line names the columns; None looks whether it consists of
        words above a line with numbers.
    target : int or str
        The column to predict. For npz files the name of the array.
    drop : list of int or str
        Columns that are no features (identifiers, other targets).
    codes : dict
        Numbers for the words of a column: ``{0: {M: 1, F: 2, I: 3}}``.
    fill : dict
        Blank cells that follow from other columns of their row:
        ``{sqft_above: sqft_living - sqft_basement}``. A formula holds numbers, column
        names, ``+ - * / **`` and parentheses.
    labels : dict
        New names for the class labels, ``{2: benign, 4: malignant}``.
    groups : int, str or None
        The column that says which rows belong together (patients). It stays a
        feature unless `drop` names it as well.
    time : int, str or None
        The column that says when a row was observed, numbers: the table's rows are in
        its order. It stays a feature unless `drop` names it as well.
    test_where : dict
        The published test set as a rule: the rows where column = value.
    splits : SourceFile or None
        A file of several published splits; `n_splits` says how many. Its format is
        `split_format`: "row-lists", two lines of row numbers from 0 for each split
        (training rows, test rows), or "test-marks", one comma-separated line a row
        and one column a split, 1 where the row is in the test part.
    tuning_split : SourceFile or None
        A published split, as "row-lists", that hyper-parameters were tuned on. It may
        hold test rows of the splits: the published protocol, not a clean one.
    words : {"error", "one-hot"}
        What happens to features that hold words and have no codes: refuse the table, or
        keep the words, for a column of 0 and 1 each when the data are prepared.
    dates : list of int or str
        Columns of dates; they become days since 1970.
    missing : {"error", "drop-rows", "mean", "fill"}
        What happens to rows with a missing value: refuse the table, leave the rows
        out, put the mean of the column over all rows, or keep the gap, to be filled
        with the median of the training part when the data are prepared. With "fill",
        rows without a target are left out, and N/A, null and the like are gaps too.
    clip : list of two floats or None
        Percentiles to which the preparation of the data should clip every feature,
        for tables with stray rows. The table itself holds the values as distributed.
    n, d, n_test : int or None
        Rows (test rows included), features, rows of the published test set.
    classes : dict
        Rows of each class label.
    fingerprint : str or None
        Content fingerprint, printed by ``python -m adakern_bench.data.describe``.
    title, licence, citation, homepage, note : str
        For the reader.
    """

    task: str = ""
    files: list[SourceFile] = field(default_factory=list)
    loader: dict[str, Any] = field(default_factory=dict)
    format: str | None = None
    separator: str | None = None
    decimal: str = "."
    encoding: str | None = None
    header: bool | None = None
    target: Any = -1
    drop: list[Any] = field(default_factory=list)
    codes: dict[Any, Any] = field(default_factory=dict)
    fill: dict[str, str] = field(default_factory=dict)
    labels: dict[Any, Any] = field(default_factory=dict)
    groups: Any = None
    time: Any = None
    test_where: dict[Any, Any] = field(default_factory=dict)
    words: str = "error"
    dates: list[Any] = field(default_factory=list)
    splits: SourceFile | None = None
    n_splits: int | None = None
    split_format: str = "row-lists"
    tuning_split: SourceFile | None = None
    missing: str = "error"
    clip: list[float] | None = None
    n: int | None = None
    d: int | None = None
    n_test: int | None = None
    classes: dict[Any, int] = field(default_factory=dict)
    fingerprint: str | None = None
    title: str = ""
    licence: str = ""
    citation: str = ""
    homepage: str = ""
    note: str = ""

    def __post_init__(self):
        """Accept plain mappings for the files, as YAML gives them."""
        self.files = [_source_file(file) for file in self.files]
        self.splits = _source_file(self.splits)
        self.tuning_split = _source_file(self.tuning_split)

    @property
    def sources(self):
        """All files: those of the rows, then those of the published splits."""
        return [*self.files, *filter(None, (self.splits, self.tuning_split))]

    @property
    def n_published_splits(self):
        """How many splits into training and test rows the data set comes with."""
        if self.splits:
            return self.n_splits
        given = self.test_where or self.n_test or any(f.test for f in self.files)
        return 1 if given else 0

    @property
    def has_published_split(self):
        """Whether the data set comes with training and test rows of its own."""
        return self.n_published_splits > 0


def _source_file(file):
    return SourceFile(**file) if isinstance(file, dict) else file


def _nearest(value, allowed):
    return f"allowed: {', '.join(allowed)}.{did_you_mean(value, allowed)}"


def check_entry(name, entry):
    """Problems of an entry that can be seen before any file is opened.

    Parameters
    ----------
    name : str
        Name of the data set.
    entry : DatasetEntry

    Returns
    -------
    list of str
        One sentence per problem; empty for an entry in order.

    Examples
    --------
    >>> from adakern.datasets import DatasetEntry, check_entry
    >>> entry = DatasetEntry(task="clasification", files=[{"path": "a.csv"}], n=-3)
    >>> for problem in check_entry("mine", entry):
    ...     print(problem)
    mine.task: got 'clasification'; allowed: classification, regression. Did you \
mean 'classification'?
    mine.n: got -3; must be a whole number of at least 1.
    """
    problems = []

    def complain(key, message):
        problems.append(f"{name}.{key}: {message}")

    if entry.task not in TASKS:
        complain("task", f"got {entry.task!r}; {_nearest(entry.task, TASKS)}")
    if entry.missing not in MISSING_RULES:
        complain(
            "missing",
            f"got {entry.missing!r}; {_nearest(entry.missing, MISSING_RULES)}",
        )
    if entry.words not in WORDS_RULES:
        complain("words", f"got {entry.words!r}; {_nearest(entry.words, WORDS_RULES)}")
    if entry.decimal not in (".", ","):
        complain("decimal", f"got {entry.decimal!r}; '.' or ',' needed.")
    if entry.format is not None and entry.format not in FORMATS:
        complain("format", f"got {entry.format!r}; {_nearest(entry.format, FORMATS)}")
    if entry.split_format not in SPLIT_FORMATS:
        complain(
            "split_format",
            f"got {entry.split_format!r}; "
            + _nearest(entry.split_format, SPLIT_FORMATS),
        )
    if (entry.splits is None) != (entry.n_splits is None):
        complain("n_splits", "a file of splits and their number go together.")
    if entry.splits and entry.time is not None:
        complain("time", "published splits count the rows in the order of the file.")
    if entry.splits and entry.missing == "drop-rows":
        complain("missing", "published splits count all rows; none may be dropped.")
    if bool(entry.files) == bool(entry.loader):
        complain("files", "an entry has either files or a loader, not both or none.")
    if entry.loader and "_target_" not in entry.loader:
        complain("loader", "needs _target_, the dotted name of a function.")
    for key in ("n", "d", "n_test", "n_splits"):
        value = getattr(entry, key)
        if value is not None and not (_is_whole(value) and value >= 1):
            complain(key, f"got {value}; must be a whole number of at least 1.")
    if entry.classes and entry.task == "regression":
        complain("classes", "a regression set has no classes.")
    for label, count in entry.classes.items():
        if not (_is_whole(count) and count >= 1):
            complain("classes", f"class {label!r} has {count} rows; at least 1 needed.")
    problems += _check_clip(name, entry.clip)
    if entry.homepage and not entry.homepage.startswith(("http://", "https://")):
        complain(
            "homepage",
            f"got {entry.homepage!r}; it must begin with http:// or https://.",
        )
    for i, file in enumerate(entry.sources):
        if not file.path or file.path.startswith("/") or ".." in file.path.split("/"):
            complain(
                f"files[{i}].path",
                f"got {file.path!r}; must be a path inside the data folder.",
            )
        elif re.search(r"[\x00-\x1f\\]", file.path):
            complain(f"files[{i}].path", f"got {file.path!r}; no control characters.")
        elif Path(file.path).suffix.lower() not in ENDINGS:
            complain(
                f"files[{i}].path",
                f"got {file.path!r}; the name of data ends in none or one of "
                f"{', '.join(ENDINGS[1:])}.",
            )
        for url in file.urls:
            if not url.startswith(("http://", "https://")):
                complain(
                    f"files[{i}].urls",
                    f"got {url!r}; it must begin with http:// or https://.",
                )
    return problems


def _check_clip(name, clip):
    if clip is None:
        return []
    ordered = len(clip) == 2 and 0 <= clip[0] < clip[1] <= 100
    if ordered and all(math.isfinite(p) for p in clip):
        return []
    return [f"{name}.clip: got {clip}; two percentiles 0 <= low < high <= 100 needed."]


def _is_whole(value):
    return isinstance(value, int) and not isinstance(value, bool)
