"""OpenML: data sets, tasks with their splits, and studies, as entries and suites.

An entry states ``openml: 31`` (a data set) or ``openml: task-59``. The data set names
``openml-31`` and ``openml-task-59`` stand for files with only that line, the suite name
``openml-99`` for a study. Every response is cached below ``openml/`` in the data
folder, so that a second run, or one on another machine with that folder, sends no
request.

The responses are a few lines of JSON. scikit-learn's ``fetch_openml`` supports neither
tasks nor splits, and the package ``openml`` stores pickles: using either would take
more code than it saves.
"""

import json
import os
import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from adakern_bench.base.download import Absent, Refused, download, host_of, keep, kept
from adakern_bench.base.paths import raw_folders
from adakern_bench.base.plain_text import one_line
from adakern_bench.config.entry import DatasetEntry, DatasetError, SourceFile
from adakern_bench.config.suite import has_size

#: Environment variable that selects another server; no configuration can.
SERVER_VARIABLE, SERVER = "ADAKERN_OPENML", "https://www.openml.org"
#: OpenML's name of a supported type of task -> task.
TASKS = {"Supervised Classification": "classification"}
TASKS["Supervised Regression"] = "regression"
_NAME = re.compile(r"openml-((?:task-)?\d+)")
#: Settings of an entry with all defaults: one that differs was stated.
_UNSTATED = vars(DatasetEntry())


def short_form(group, name):
    """Content of the implicit file ``conf/<group>/openml-31.yaml``; None for other
    names.
    """
    found = _NAME.fullmatch(name)
    if found is None or group not in ("dataset", "suite"):
        return None
    if group == "suite":
        return {"name": name, "title": f"OpenML's study {found[1]}", "openml": found[1]}
    return {"openml": found[1]}


def is_needed(config):
    """Whether a configuration refers to OpenML and has not been filled in."""
    return bool(_study(config)) or any(map(_is_open, config.dataset.values()))


def _study(config):
    """The suite if it is an OpenML study, else None."""
    return config.suite if config.suite and config.suite.openml else None


def _is_open(entry):
    return entry.openml is not None and not entry.files


def fill_in(config):
    """Replace references to OpenML in a configuration by OpenML's descriptions."""
    answers = Answers(raw_folders(config.data))
    study = _study(config)
    if study:
        for name in answers.names(study):
            entry = DatasetEntry(**short_form("dataset", name))
            config.dataset.setdefault(name, entry)
    for name, entry in config.dataset.items():
        if _is_open(entry):
            config.dataset[name] = answers.entry(name, entry)
    if study:
        _keep_sizes(config)


def _keep_sizes(config):
    """Remove the data sets whose number of rows the suite excludes."""
    for name, entry in list(config.dataset.items()):
        if entry.openml and entry.n is not None and not has_size(config.suite, entry.n):
            del config.dataset[name]


@dataclass
class Answers:
    """OpenML's responses, from the folders that cache them or from its server."""

    folders: list[Path]

    def names(self, suite):
        """Names of a study's tasks or, if it has none, of its data sets."""
        what = f"study/{suite.openml}"
        answer = self._get(what)
        with _documented_response(what):
            study = answer["study"]
            tasks = (study.get("tasks") or {}).get("task_id") or []
            sets = (study.get("data") or {}).get("data_id") or []
            names = [f"openml-task-{int(k)}" for k in tasks]
            names = names or [f"openml-{int(k)}" for k in sets]
        if not names:
            raise DatasetError(
                f"OpenML's study {suite.openml} has no tasks or data sets"
            )
        for name in suite.only:
            if name not in names:
                raise DatasetError(
                    f"suite.only: {name!r} is not in OpenML's study {suite.openml}: "
                    f"{', '.join(names[:10])}{', ...' * (len(names) > 10)}"
                )
        return suite.only or names

    def entry(self, name, stated):
        """Return the entry of a data set or task; `stated` settings take precedence."""
        kind, _, number = str(stated.openml).rpartition("-")
        if kind not in ("", "task") or not number.isdigit():
            raise DatasetError(
                f"dataset.{name}.openml={stated.openml!r} must be the number of a "
                "data set, such as 31, or of a task, such as task-59"
            )
        given = {k: v for k, v in vars(stated).items() if v != _UNSTATED[k]}
        found = self._task(number) if kind else self._set(number, given.get("target"))
        return DatasetEntry(**found | given)

    def _task(self, number):
        what = f"task/{number}"
        answer = self._get(what)
        with _documented_response(what):
            task = answer["task"]
            if task["task_type"] not in TASKS:
                raise DatasetError(
                    f"OpenML's task {number} is of type {task['task_type']!r}; only "
                    f"{' and '.join(TASKS)} are supported. Use another task"
                )
            inputs = {part["name"]: part for part in task["input"]}
            source = inputs["source_data"]["data_set"]
            procedure = inputs["estimation_procedure"]["estimation_procedure"]
            of = {part["name"]: part.get("value") for part in procedure["parameter"]}
            repeats = of.get("number_repeats")
            folds = of.get("number_folds")
            n_splits = int(repeats or 1) * int(folds or 1)
            url = procedure.get("data_splits_url")
            target = source["target_feature"]
            number_of_set = str(int(source["data_set_id"]))
        if not url:
            raise DatasetError(
                f"OpenML's task {number} has no splits. Use its data set, "
                f"openml-{number_of_set}, which is split as the protocol says"
            )
        path = f"openml/task-{number}/splits.arff"
        return self._set(number_of_set, target, TASKS[task["task_type"]]) | {
            "splits": SourceFile(path=path, urls=[self._allowed(url)]),
            "split_format": "openml",
            "n_splits": n_splits,
            "homepage": f"{SERVER}/t/{number}",
        }

    def _set(self, number, target=None, task=None):
        what = f"data/{number}"
        answer = self._get(what)
        of_columns = self._get(f"data/features/{number}")
        called = f"OpenML's data set {number}"
        with _documented_response(what):
            about = answer["data_set_description"]
            columns = of_columns["data_features"]["feature"]
            columns = sorted(columns, key=lambda column: int(column["index"]))
            if "sparse" in str(about.get("format")).lower():
                raise DatasetError(f"{called} is sparse, which is not supported")
            target = target or about.get("default_target_attribute")
            target = _target(called, f"openml-{number}", target, columns)
            others = [column for column in columns if column is not target]
            features = [column for column in others if _is_feature(column)]
            dropped = [column for column in others if column not in features]
            categories = [c for c in features if c["data_type"] == "nominal"]
            if not features:
                raise DatasetError(f"{called} has no numeric or categorical columns")
            classes = target["data_type"] in ("nominal", "string")
            url = about.get("url") or about.get("parquet_url")
            rows = SourceFile(
                path=f"openml/{number}/rows.data",
                urls=[self._allowed(url)],
                md5=about.get("md5_checksum"),
            )
            return {
                "task": task or ("classification" if classes else "regression"),
                "format": "table",
                "files": [rows],
                "target": int(target["index"]),
                "drop": _places(dropped),
                "categorical": _places(categories),
                "title": one_line(about["name"]),
                "licence": one_line(about.get("licence") or "not stated by OpenML"),
                "citation": one_line(about.get("citation") or called),
                "homepage": f"{SERVER}/d/{number}",
                "n": self._n_rows(number, target),
                "d": len(features),
            }

    def _n_rows(self, number, target):
        """Number of rows, or None if OpenML does not state it or targets are
        missing.
        """
        found = self._get(f"data/qualities/{number}", {})
        found = found.get("data_qualities", {}).get("quality", [])
        known = {part["name"]: part.get("value") for part in found}
        n = known.get("NumberOfInstances")
        n_missing = target.get("number_of_missing_values")
        return int(float(n)) if n and not int(n_missing or 0) else None

    def _allowed(self, url):
        """Return a URL of a response if it is on one of OpenML's hosts."""
        if host_of(url) not in _hosts():
            raise DatasetError(
                f"OpenML's response links to {one_line(url)}, which is not on "
                f"{' or '.join(sorted(_hosts()))}, so it is not downloaded"
            )
        return url

    def _get(self, what, absent=None):
        """Return a response, cached or new; `absent` if the server has no such
        resource.
        """
        for folder in self.folders:
            path = folder / "openml" / f"{what}.json"
            with suppress(Refused):  # a damaged file is removed and requested again
                if path.is_file():
                    return _parsed(kept(path), path)
        url = f"{_server()}/api/v1/json/{what}"
        try:
            data = download(url, _hosts(), progress=False)
        except Refused as error:
            if absent is None or not isinstance(error, Absent):
                kind, _, number = what.rpartition("/")
                raise DatasetError(
                    f"OpenML's {kind} {number} could not be downloaded: {error} "
                    f"({url}). Without a network, name the data set's files in an "
                    "entry of conf/dataset"
                ) from None
            data = json.dumps(absent).encode()
        found = _parsed(data, url)
        keep(self.folders[0] / "openml" / f"{what}.json", data, url)
        return found


def _server():
    return os.environ.get(SERVER_VARIABLE, SERVER).rstrip("/")


def _hosts():
    """Hosts of OpenML's responses and files."""
    own = host_of(_server())
    return {own, *(["api.openml.org", "data.openml.org"] * (own == "openml.org"))}


def _target(called, name, target, columns):
    """Return the column to predict."""
    if found := [column for column in columns if column["name"] == target]:
        return found[0]
    known = ", ".join(one_line(column["name"]) for column in columns[:20])
    why = f"has no column {target!r} to predict" if target else "names no target"
    raise DatasetError(
        f"{called} {why}; set --target (adakern compare) or dataset.{name}.target "
        f"(adakern run) to one of {known}"
    )


def _places(columns):
    return [int(column["index"]) for column in columns]


def _is_feature(column):
    """Whether a column is a feature; identifiers and free text are not."""
    marks = (column.get("is_ignore"), column.get("is_row_identifier"))
    return "true" not in marks and column["data_type"] != "string"


def _parsed(data, place):
    with _documented_response(place):
        return json.loads(data)


@contextmanager
def _documented_response(place):
    """Raise a DatasetError if a response does not have OpenML's documented format."""
    try:
        yield
    except DatasetError:
        raise
    except Exception as error:
        raise DatasetError(
            f"{place} is not a valid response of OpenML ({type(error).__name__}: "
            f"{error}); try again later or, if it is a file, delete it"
        ) from None
