"""The entry of a data set: the settings in a file of ``conf/dataset/``."""

import math
import re
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from adakern._utils.hints import did_you_mean
from adakern.tables.around import OTHERS
from adakern_bench.base.download import host_of

FORMATS = ("csv", "table", "whitespace", "arff", "libsvm")

#: Allowed file extensions: none that Python, a shell or a pickle loader would execute.
ENDINGS = (
    *("", ".csv", ".tsv", ".txt", ".dat", ".data", ".all-data", ".arff"),
    *(".parquet", ".xlsx", ".libsvm", ".svm", ".binary", ".numer", ".t", ".tr"),
    *(".val", ".train", ".test", ".gz", ".bz2", ".xz", ".zip", ".tar", ".tgz"),
)


#: Settings of an entry that state nothing about the content of its table.
UNSTATED = {"n": None, "d": None, "n_test": None, "classes": {}, "fingerprint": None}


#: Why a classification cannot have several targets, and what to do instead.
ONE_OF_CLASSES = (
    "several targets are supported for regression only. Write an entry for each "
    "target, with the others in drop; in Python, scikit-learn's MultiOutputClassifier "
    "fits one model per target."
)


class DatasetError(Exception):
    """The table of a data set cannot be obtained; the message says why."""


def one_of(*choices, default=None):
    """Field that takes one of these strings (or null), by default the first."""
    default = choices[0] if default is None else default
    return field(default=default, metadata={"choices": choices})


def number(default, least, most=math.inf):
    """Field that takes a number, or a list of numbers, in this range."""
    return field(default=default, metadata={"range": (least, most)})


def setting_problems(where, settings):
    """Yield the problems of a section of the configuration and of the sections in it:
    unknown options and numbers out of range.
    """
    for of_setting in fields(settings):
        name = f"{where}.{of_setting.name}"
        value = getattr(settings, of_setting.name)
        if is_dataclass(value):
            yield from setting_problems(name, value)
        choices = of_setting.metadata.get("choices")
        if choices and value not in choices:
            known = [choice for choice in choices if choice]
            hint = did_you_mean(value, known)
            yield f"{name}={value!r} is unknown.{hint} Known: {', '.join(known)}."
        if "range" not in of_setting.metadata or value is None:
            continue
        low, high = of_setting.metadata["range"]
        for one in value if isinstance(value, list) else [value]:
            # NaN compares false with everything, so it is out of range, too.
            if not low <= one <= high:
                limit = f"at least {low}" if high == math.inf else f"{low} to {high}"
                yield f"{name}={one} is out of range: it must be {limit}"


@dataclass
class SourceFile:
    """One file of a data set."""

    #: Path below the cache and below a mirror folder, such as ``sonar/sonar.all-data``.
    #: The file may be compressed (.gz, .bz2, .xz, .zip, .tar), which is recognised by
    #: its first bytes, not by its name.
    path: str = ""
    #: URLs to download it from, tried in this order.
    urls: list[str] = field(default_factory=list)
    #: Whether somebody has downloaded the file from these URLs. It only informs the
    #: reader; the content check decides whether a download is the right file.
    url_tried: bool = False
    #: Expected SHA-256 of the file; None leaves it to the content check.
    sha256: str | None = None
    #: Expected MD5, which OpenML states for its ARFF (not Parquet) files.
    md5: str | None = None
    #: The rows of this file are the published test set.
    test: bool = False
    #: Name of the file to extract from an archive (.zip, .tar) of several files.
    member: str | None = None


@dataclass
class DatasetEntry:
    """Everything that is known about a data set, and how to read it.

    `task` and either `files` or `loader` are required. Statements about the content
    (`n`, `d`, `n_test`, `classes`, `fingerprint`) are checked whenever the table is
    made. Columns are given by position (0 is the first, -1 the last) or, if the file
    has column names, by name.
    """

    #: "classification" or "regression".
    task: str = one_of("classification", "regression", default="")
    #: The files whose rows, concatenated, make the table.
    files: list[SourceFile] = field(default_factory=list)
    #: Function that returns the data, instead of files: ``_target_`` is its dotted
    #: name, the other keys are its arguments, and ``random_state`` defaults to 0.
    #: It returns ``(X, y)``, or a mapping with ``data``, ``target`` and
    #: optionally ``feature_names``, ``test_rows`` and the keys that `groups` and `time`
    #: name.
    loader: dict[str, Any] = field(default_factory=dict)
    #: Number of an OpenML data set ("31") or task ("task-59"), which provides all
    #: settings that are not stated here.
    openml: str | None = None
    #: "csv", "table", "whitespace", "arff" or "libsvm"; None uses the file extension. A
    #: "table" has columns of mixed types (separated values, ARFF, Parquet, xlsx) and is
    #: read by `adakern.tables.read_table`: categories are one-hot encoded and missing
    #: values imputed once the training part is known, and rows without a target are
    #: left out.
    format: str | None = one_of(None, *FORMATS)
    #: Separator: "," by default for csv, inferred from the file for a table.
    separator: str | None = None
    #: Decimal mark, "." or ",": "." by default for csv, inferred for a table.
    decimal: str | None = one_of(None, ".", ",")
    #: Encoding: UTF-8 by default for csv, inferred from the file for a table.
    encoding: str | None = None
    #: Whether the first line contains column names; None infers it: text above a line
    #: with numbers is a header.
    header: bool | None = None
    #: The column to predict or, for regression, a list of columns that are predicted
    #: together. Rows of a "table" in which one of them is missing are left out.
    target: Any = -1
    #: Columns that are not features (identifiers, other targets).
    drop: list[Any] = field(default_factory=list)
    #: Columns of a "table" that are categorical, whatever their cells look like.
    categorical: list[Any] = field(default_factory=list)
    #: Columns whose categories are merged if they differ only in case, blanks or
    #: accents; [all] for every categorical column.
    merge: list[Any] = field(default_factory=list)
    #: Format of columns of a "table" where it is not the inferred one:
    #: ``{price: ",", mass: .kg, day: "%m/%d/%Y"}``.
    form: dict[Any, str] = field(default_factory=dict)
    #: Kinds of rows of a "table" that are kept although they do not look like data:
    #: rows:totals, rows:units, rows:headers, rows:remarks.
    keep: list[str] = field(default_factory=list)
    #: Numbers that replace the categories of a column: ``{0: {M: 1, F: 2, I: 3}}``.
    codes: dict[Any, Any] = field(default_factory=dict)
    #: Columns whose missing values are replaced by a weighted sum of other columns:
    #: ``{sqft_above: {sqft_living: 1, sqft_basement: -1}}``.
    fill: dict[str, Any] = field(default_factory=dict)
    #: New names for the class labels, ``{2: benign, 4: malignant}``.
    labels: dict[Any, Any] = field(default_factory=dict)
    #: The column of the group labels (patients, for example), or a list of columns
    #: whose values together identify a group; for a loader, the key of its mapping. The
    #: column remains a feature unless `drop` lists it as well.
    groups: Any = None
    #: The column that says when a row was observed, as dates or numbers; rows are
    #: sorted by it. For a loader, the key of its mapping. The column remains a feature
    #: unless `drop` lists it as well. If there is no such column but the rows are in
    #: order of time, "order of the file".
    time: Any = None
    #: File of several published splits, whose number is `n_splits`.
    splits: SourceFile | None = None
    n_splits: int | None = number(None, least=1)
    #: Seeds of published splits, instead of that file: `train_test_split` draws a
    #: quarter of the rows as the test part with each of the first `n_splits` seeds.
    split_seeds: list[int] = field(default_factory=list)
    #: "row-lists", two lines of row numbers from 0 per split (training rows, test
    #: rows); "test-marks", a comma-separated line per row and a column per split, 1 if
    #: the row is in the test part; or "openml", the format of OpenML's tasks.
    split_format: str = one_of("row-lists", "test-marks", "openml")
    #: File, in the format "row-lists", of the published split that hyper-parameters
    #: were tuned on. It may contain test rows of the published splits: this reproduces
    #: the published protocol, which leaks.
    tuning_split: SourceFile | None = None
    #: How to treat rows with missing values: "error" refuses the table, "drop-rows"
    #: leaves the rows out.
    missing: str = one_of("error", "drop-rows")
    #: Percentiles at which preprocessing clips every feature, for tables with outliers.
    #: The canonical table contains the values as distributed.
    clip: list[float] | None = None
    #: Number of rows (including test rows), of features, and of rows of the published
    #: test set.
    n: int | None = number(None, least=1)
    d: int | None = number(None, least=1)
    n_test: int | None = number(None, least=1)
    #: Number of rows per class label.
    classes: dict[Any, int] = field(default_factory=dict)
    #: Content fingerprint, printed by ``adakern describe``.
    fingerprint: str | None = None
    #: Information for the reader.
    title: str = ""
    licence: str = ""
    citation: str = ""
    homepage: str = ""
    note: str = ""

    def __post_init__(self):
        """Convert files given as mappings, as YAML does."""
        self.files = [_source_file(file) for file in self.files]
        self.splits = _source_file(self.splits)
        self.tuning_split = _source_file(self.tuning_split)

    @property
    def targets(self):
        """The columns to predict."""
        return self.target if isinstance(self.target, list) else [self.target]

    @property
    def sources(self):
        """All files: first those of the rows, then those of the published splits."""
        return [*self.files, *filter(None, (self.splits, self.tuning_split))]

    @property
    def n_published_splits(self):
        """Number of published splits into training and test rows; None if none."""
        given = self.n_test or any(file.test for file in self.files)
        return self.n_splits or (1 if given else None)


def _source_file(file):
    return SourceFile(**file) if isinstance(file, dict) else file


def check_content(entry, content):
    """Raise a DatasetError if the content of a table differs from its entry."""
    differ = []
    for key, found in content.items():
        stated = getattr(entry, key)
        if isinstance(stated, dict):  # JSON turns keys into strings
            stated = {str(label): count for label, count in stated.items()}
        if stated and stated != found:
            differ.append(f"{key} is {found}, the entry has {stated}")
    if differ:
        raise DatasetError("the table does not match its entry: " + "; ".join(differ))


def check_entry(name, entry):
    """Problems of an entry that can be found without opening a file, as sentences.

    >>> from adakern_bench.config.entry import DatasetEntry, check_entry
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
            "an entry with format: table must have one file, since the kinds of its "
            "columns are inferred from all rows.",
        )
    targets = entry.targets
    if not targets or not all(isinstance(key, str | int) for key in targets):
        yield (
            "target",
            f"got {entry.target}; it must be a column, by name or position, or a list "
            "of columns.",
        )
    elif len(targets) > 1 and entry.task == "classification":
        yield "target", f"got {entry.target}; {ONE_OF_CLASSES}"
    if unknown := {*entry.keep} - {*OTHERS}:
        yield "keep", f"got {min(unknown)!r}; expected some of {', '.join(OTHERS)}."
    clip = entry.clip
    if clip is not None and not (len(clip) == 2 and 0 <= clip[0] < clip[1] <= 100):
        yield (
            "clip",
            f"got {clip}; it must be two percentiles, 0 <= low < high <= 100.",
        )
    yield from _problems_of_places(entry)


def _problems_of_splits(entry):
    if bool(entry.splits or entry.split_seeds) != bool(entry.n_splits):
        yield (
            "n_splits",
            "n_splits must be given together with splits or split_seeds.",
        )
    if entry.split_seeds and (seeds := len({*entry.split_seeds})) < (
        entry.n_splits or 0
    ):
        yield (
            "split_seeds",
            f"got {seeds} different seeds; n_splits: {entry.n_splits} needs as many.",
        )
    if entry.splits and entry.time is not None:
        yield (
            "time",
            "published splits refer to rows in the order of the file; sorting by time "
            "would change it.",
        )
    if entry.splits and entry.missing == "drop-rows":
        yield (
            "missing",
            "published splits refer to all rows; drop-rows would leave some out.",
        )


def _problems_of_places(entry):
    """Problems of paths and URLs."""
    addresses = [("homepage", entry.homepage)] if entry.homepage else []
    for i, file in enumerate(entry.sources):
        where = f"files[{i}].path"
        path = file.path
        if not path or path.startswith("/") or ".." in path.split("/"):
            yield where, f"got {path!r}; it must be a path inside the data folder."
        elif re.search(r"[\x00-\x1f\\]", path):
            yield (
                where,
                f"got {path!r}; backslashes and control characters are not allowed.",
            )
        elif Path(path).suffix.lower() not in ENDINGS:
            ends = ", ".join(ENDINGS[1:])
            yield (
                where,
                f"got {path!r}; the file extension must be none or one of {ends}.",
            )
        addresses += [(f"files[{i}].urls", url) for url in file.urls]
    for key, address in addresses:
        if not (address.startswith(("http://", "https://")) and host_of(address)):
            yield (
                key,
                f"got {address!r}; it must start with http:// or https:// and a host.",
            )
