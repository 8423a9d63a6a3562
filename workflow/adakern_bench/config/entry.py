"""The entry of a data set: what a file of ``conf/dataset/`` describes."""

import math
import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from adakern._utils.hints import did_you_mean
from adakern.tables.around import OTHERS
from adakern_bench.base.download import host_of

FORMATS = ("csv", "table", "whitespace", "arff", "libsvm")

#: Allowed file extensions; Python, shells and pickle loaders execute none of them.
ENDINGS = (
    *("", ".csv", ".tsv", ".txt", ".dat", ".data", ".all-data", ".arff"),
    *(".parquet", ".xlsx", ".libsvm", ".svm", ".binary", ".numer", ".t", ".tr"),
    *(".val", ".train", ".test", ".gz", ".bz2", ".xz", ".zip", ".tar", ".tgz"),
)


#: Default of an entry that says nothing about the content of its table.
UNSTATED = {"n": None, "d": None, "n_test": None, "classes": {}, "fingerprint": None}


#: Why a classification has no second target, and the way out.
ONE_OF_CLASSES = (
    "several targets are those of a regression. Write an entry for each of them, the "
    "others in drop; in Python, scikit-learn's MultiOutputClassifier fits a model for "
    "each."
)


class DatasetError(Exception):
    """The table of a data set cannot be obtained; the message says why."""


def one_of(*choices, default=None):
    """Field that takes one of these words; the default is the first unless given."""
    default = choices[0] if default is None else default
    return field(default=default, metadata={"choices": choices})


def optional(*choices):
    """Field that takes one of these words, or null."""
    return field(default=None, metadata={"choices": (*choices, None)})


def number(default, least, most=math.inf):
    """Field that takes a number, or several, in this range."""
    return field(default=default, metadata={"range": (least, most)})


def setting_problems(where, settings):
    """List what is wrong with the words and numbers of a part of the configuration."""
    for of_setting in fields(settings):
        name = f"{where}.{of_setting.name}"
        value = getattr(settings, of_setting.name)
        choices = of_setting.metadata.get("choices")
        if choices and value not in choices:
            known = [choice for choice in choices if choice]
            hint = did_you_mean(value, known)
            yield f"{name}={value!r} is unknown.{hint} Known: {', '.join(known)}."
        low, high = of_setting.metadata.get("range", (-math.inf, math.inf))
        for one in value if isinstance(value, list) else [value]:
            # Written so that NaN, which compares false with everything, is caught.
            if (
                "range" in of_setting.metadata
                and one is not None
                and not low <= one <= high
            ):
                limit = f"at least {low}" if high == math.inf else f"{low} to {high}"
                yield f"{name}={one} is out of range: it must be {limit}"


@dataclass
class SourceFile:
    """One file of a data set."""

    #: Where the file lies below the cache and below a mirror folder, for example
    #: ``sonar/sonar.all-data``. It may be compressed (.gz, .bz2, .xz, .zip, .tar); this
    #: is recognised by its first bytes, not by its name.
    path: str = ""
    #: Where it can be downloaded, tried in this order.
    urls: list[str] = field(default_factory=list)
    #: Whether somebody has downloaded the file from these urls. This is information for
    #: the reader; the content check decides whether a download is the data.
    url_tried: bool = False
    #: Hash that its bytes must have; None leaves it to the content check.
    sha256: str | None = None
    #: Likewise, as OpenML states it for its ARFF files (a Parquet file has another).
    md5: str | None = None
    #: The rows of this file are the published test set.
    test: bool = False
    #: Which file to extract from an archive (.zip, .tar) that holds several.
    member: str | None = None


@dataclass
class DatasetEntry:
    """Everything that is known about a data set, and how to read it.

    `task` and either `files` or `loader` are required. What is stated about the content
    (`n`, `d`, `n_test`, `classes`, `fingerprint`) is checked whenever the table is
    made. Columns are given by position (0 is the first, -1 the last) or, if the
    file has column names, by name.
    """

    #: classification or regression.
    task: str = one_of("classification", "regression", default="")
    #: The files whose rows, concatenated, make the table.
    files: list[SourceFile] = field(default_factory=list)
    #: Instead of files, a function that returns the data: ``_target_`` is its dotted
    #: name, the other keys are its arguments, ``random_state`` is the seed. It returns
    #: ``(X, y)``, or a mapping with ``data``, ``target`` and optionally
    #: ``feature_names``, ``test_rows`` and what `groups` and `time` name.
    loader: dict[str, Any] = field(default_factory=dict)
    #: Number of a data set of OpenML ("31") or of a task ("task-59"): what is not
    #: stated here is taken from there.
    openml: str | None = None
    #: csv, table, whitespace, arff or libsvm; None takes it from the ending of the file
    #: name. A "table" has mixed columns (separated values, ARFF, Parquet, xlsx) and is
    #: read by `adakern.tables.read_table`: its categories are one-hot encoded and its
    #: missing values imputed once the training part is known, and rows without a target
    #: are left out.
    format: str | None = optional(*FORMATS)
    #: Separator: "," by default for csv, inferred from the file for a table.
    separator: str | None = None
    #: Decimal mark, "." or ","; likewise.
    decimal: str | None = optional(".", ",")
    #: UTF-8 by default for csv, inferred from the file for a table.
    encoding: str | None = None
    #: Whether the first line names the columns; None infers it: words above a line with
    #: numbers are names.
    header: bool | None = None
    #: The column to predict; of a regression also a list of columns, which are
    #: predicted together. Rows that lack one of them are left out of a "table".
    target: Any = -1
    #: Columns that are not features (identifiers, other targets).
    drop: list[Any] = field(default_factory=list)
    #: Columns of a "table" that are categorical, whatever their cells look like.
    categorical: list[Any] = field(default_factory=list)
    #: Columns in which categories that differ only in case, blanks or accents are
    #: merged; [all] for every categorical column.
    merge: list[Any] = field(default_factory=list)
    #: Format of columns of a "table", if not that inferred: ``{price: ",", mass: .kg,
    #: day: "%m/%d/%Y"}``.
    form: dict[Any, str] = field(default_factory=dict)
    #: Rows of a "table" that are kept although they look like totals or the like:
    #: rows:totals, rows:units, rows:headers, rows:remarks.
    keep: list[str] = field(default_factory=list)
    #: Numbers that replace the words of a column: ``{0: {M: 1, F: 2, I: 3}}``.
    codes: dict[Any, Any] = field(default_factory=dict)
    #: Empty cells to fill with a weighted sum of other columns of their row:
    #: ``{sqft_above: {sqft_living: 1, sqft_basement: -1}}``.
    fill: dict[str, Any] = field(default_factory=dict)
    #: New names for the class labels, ``{2: benign, 4: malignant}``.
    labels: dict[Any, Any] = field(default_factory=dict)
    #: The column that says which rows belong together (patients), or a list of columns
    #: in which such rows are equal; of a loader, the key of its mapping. A column stays
    #: a feature unless `drop` names it as well.
    groups: Any = None
    #: The column that says when a row was observed, as dates or numbers; the rows are
    #: sorted by it. Of a loader, the key of its mapping. It stays a feature unless
    #: `drop` names it as well. "order of the file" if there is no such column.
    time: Any = None
    #: A file of several published splits; `n_splits` says how many.
    splits: SourceFile | None = None
    n_splits: int | None = number(None, least=1)
    #: Instead of that file, the seeds of the splits: `train_test_split` draws a quarter
    #: of the rows as the test part with each of the first `n_splits`.
    split_seeds: list[int] = field(default_factory=list)
    #: "row-lists", two lines of row numbers from 0 for each split (training rows, test
    #: rows), or "test-marks", a comma-separated line per row and a column per split, 1
    #: if the row is in the test part; "openml" is the form of OpenML's tasks.
    split_format: str = one_of("row-lists", "test-marks", "openml")
    #: A published split, as "row-lists", that hyper-parameters were tuned on. It may
    #: contain test rows of the splits: it is the published protocol, not a clean one.
    tuning_split: SourceFile | None = None
    #: What happens to rows with a missing value: "error" refuses the table, "drop-rows"
    #: leaves them out.
    missing: str = one_of("error", "drop-rows")
    #: Percentiles to which preprocessing should clip every feature, for tables with
    #: outliers. The table itself holds the values as distributed.
    clip: list[float] | None = None
    #: Rows (test rows included), features, rows of the published test set.
    n: int | None = number(None, least=1)
    d: int | None = number(None, least=1)
    n_test: int | None = number(None, least=1)
    #: Rows of each class label.
    classes: dict[Any, int] = field(default_factory=dict)
    #: Content fingerprint, printed by ``adakern describe``.
    fingerprint: str | None = None
    #: For the reader.
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
    def targets(self):
        """The columns to predict."""
        return self.target if isinstance(self.target, list) else [self.target]

    @property
    def sources(self):
        """All files: those of the rows, then those of the published splits."""
        return [*self.files, *filter(None, (self.splits, self.tuning_split))]

    @property
    def n_published_splits(self):
        """Number of published splits into training and test rows, None if none."""
        given = self.n_test or any(file.test for file in self.files)
        return self.n_splits or (1 if given else None)


def _source_file(file):
    return SourceFile(**file) if isinstance(file, dict) else file


def check_content(entry, content):
    """Raise a DatasetError if the content of a table is not what the entry states."""
    differ = []
    for key, found in content.items():
        stated = getattr(entry, key)
        if isinstance(stated, dict):  # of text, as JSON holds the keys
            stated = {str(label): count for label, count in stated.items()}
        if stated and stated != found:
            differ.append(f"{key} is {found}, the entry has {stated}")
    if differ:
        raise DatasetError("the table does not match its entry: " + "; ".join(differ))


def check_entry(name, entry):
    """Problems of an entry that need no file to be opened, one sentence each.

    >>> from adakern_bench.data import DatasetEntry, check_entry
    >>> entry = DatasetEntry(task="clasification", files=[{"path": "a.csv"}], n=-3)
    >>> for problem in check_entry("mine", entry):
    ...     print(problem)
    mine.task='clasification' is unknown. Did you mean 'classification'? \
Known: classification, regression.
    mine.n=-3 is out of range: it must be at least 1
    """
    problems = [f"{name}.{key}: {problem}" for key, problem in _problems(entry)]
    return [*setting_problems(name, entry), *problems]


def _problems(entry):
    yield from _problems_of_splits(entry)
    if bool(entry.files) == bool(entry.loader):
        yield "files", "an entry has either files or a loader, not both or none."
    if entry.format == "table" and len(entry.files) > 1:
        yield (
            "files",
            "a table is one file: what its columns are is seen from all rows.",
        )
    targets = entry.targets
    if not targets or not all(isinstance(key, str | int) for key in targets):
        yield (
            "target",
            f"got {entry.target}; a column is needed, by name or position, or a list "
            "of columns.",
        )
    elif len(targets) > 1 and entry.task == "classification":
        yield "target", f"got {entry.target}; {ONE_OF_CLASSES}"
    if unknown := {*entry.keep} - {*OTHERS}:
        yield "keep", f"got {min(unknown)!r}; expected some of {', '.join(OTHERS)}."
    clip = entry.clip
    if clip is not None and not (len(clip) == 2 and 0 <= clip[0] < clip[1] <= 100):
        yield ("clip", f"got {clip}; two percentiles 0 <= low < high <= 100 needed.")
    yield from _problems_of_places(entry)


def _problems_of_splits(entry):
    if bool(entry.splits or entry.split_seeds) != bool(entry.n_splits):
        yield (
            "n_splits",
            "a file of splits, or their seeds, and their number go together.",
        )
    if entry.split_seeds and (seeds := len({*entry.split_seeds})) < (
        entry.n_splits or 0
    ):
        yield (
            "split_seeds",
            f"{seeds} seeds are too few for n_splits: {entry.n_splits}.",
        )
    if entry.splits and entry.time is not None:
        yield "time", "published splits count the rows in the order of the file."
    if entry.splits and entry.missing == "drop-rows":
        yield "missing", "published splits count all rows; none may be dropped."


def _problems_of_places(entry):
    """Problems of paths and addresses."""
    addresses = [("homepage", entry.homepage)] if entry.homepage else []
    for i, file in enumerate(entry.sources):
        where = f"files[{i}].path"
        path = file.path
        if not path or path.startswith("/") or ".." in path.split("/"):
            yield where, f"got {path!r}; must be a path inside the data folder."
        elif re.search(r"[\x00-\x1f\\]", path):
            yield where, f"got {path!r}; no control characters."
        elif Path(path).suffix.lower() not in ENDINGS:
            ends = ", ".join(ENDINGS[1:])
            yield (
                where,
                f"got {path!r}; the name of data ends in none or one of {ends}.",
            )
        addresses += [(f"files[{i}].urls", url) for url in file.urls]
    for key, address in addresses:
        if not (address.startswith(("http://", "https://")) and host_of(address)):
            yield key, f"got {address!r}; it must be http:// or https:// and a host."
