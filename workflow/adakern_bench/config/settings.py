"""What each job is given: one function per rule, under the rule's name.

Snakemake runs a job again when this changes, and only then. So it is the part of the
configuration that the result depends on, with the version of its code: no title, no
place of data, no time limit.
"""

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path

import adakern_bench.report
from adakern_bench.base.dotted import targets
from adakern_bench.base.paths import SCRIPTS
from adakern_bench.config.code_version import code_version
from adakern_bench.config.schema import View
from adakern_bench.config.sweeps import base_name
from adakern_bench.data.parsers import PARSERS, format_of

#: What an entry says for the reader, checks, or tells a later stage.
NOT_IN_TABLE = (
    *("title", "licence", "citation", "homepage", "note", "openml"),
    *("n", "d", "n_test", "classes", "fingerprint", "clip"),
)


def table(plan, dataset):
    """What the rule ``table`` is given."""
    entry = asdict(plan.entry(dataset))
    for key in NOT_IN_TABLE:
        del entry[key]
    files = [*entry["files"], *filter(None, (entry["splits"], entry["tuning_split"]))]
    for file in files:
        for key in ("urls", "url_tried", "sha256", "md5"):
            del file[key]
    return {"entry": entry, "code": code_version(*_makers_of(plan.entry(dataset)))}


def _makers_of(entry):
    """Functions that make a table: its generator, or the parsers of its files."""
    if entry.loader:
        return "adakern_bench.data.assemble.table_from_loader", *targets(entry.loader)
    reading_splits = ["adakern_bench.data.splits.read_splits"] if entry.splits else []
    if entry.split_seeds:
        reading_splits = ["adakern_bench.data.splits.seeded_splits"]
    parsers = {PARSERS[format_of(entry, file)] for file in entry.files}
    return (
        "adakern_bench.data.assemble.table_from_frames",
        "adakern.tables.unpack.unpack",
        *reading_splits,
        *sorted(f"{parser.__module__}.{parser.__name__}" for parser in parsers),
    )


def source(plan, dataset):
    """Where a table may come from, and how its content is checked."""
    data = plan.config.data
    made_by = json.dumps(table(plan, dataset), sort_keys=True, default=str)
    return {
        "name": dataset,
        "made_by": hashlib.sha256(made_by.encode()).hexdigest()[:12],
        "entry": asdict(plan.entry(dataset)),
        "mirror": data.mirror or os.environ.get("ADAKERN_DATA_MIRROR"),
    }


def split(plan, dataset):
    """What the rule ``split`` is given."""
    protocol = plan.config.protocol
    keys = (
        "kind",
        "repeats",
        "test_size",
        "n_splits",
        "stratify",
        "seed",
        "max_splits",
    )
    return {key: getattr(protocol, key) for key in keys} | {
        "train_rows": plan.dataset_variants[dataset].swept.get("train_rows"),
        "max_train_rows": protocol.max_train_rows,
        "test_rows": protocol.test_rows,
        "published": plan.uses_published_split(dataset),
        "code": code_version(SCRIPTS / "split.py"),
    }


def search(plan, dataset, method):
    """What the rule ``search`` is given."""
    searching = plan.config.search
    swept = plan.dataset_variants[dataset].swept
    recipe = plan.recipe(dataset, method)
    return _cell(plan, dataset, method, "search") | {
        "grid": recipe["grid"],
        "random": recipe["random"],
        "tuning": swept.get("tuning", plan.config.protocol.tuning),
        "folds": recipe["folds"] or searching.folds,
        # Stated folds of a method hold for large data sets too.
        "holdout_rows": None if recipe["folds"] else searching.holdout_rows,
        "step": searching.step,
        "max_rows": searching.max_rows,
        "train_rows": swept.get("train_rows"),
    }


def solve(plan, dataset, method):
    """What the rule ``solve`` is given."""
    return _cell(plan, dataset, method, "solve") | {
        "identity": {
            "experiment": plan.config.name,
            "dataset": dataset,
            "method": method,
            "task": plan.entry(dataset).task,
            "base_dataset": base_name(dataset),
            "base_method": base_name(method),
            "sweep": plan.swept(dataset, method),
        },
        "described": _described(plan, dataset, method),
    }


def _cell(plan, dataset, method, stage):
    recipe = plan.recipe(dataset, method)
    raw = plan.config.method[base_name(method)].raw_columns
    is_own = plan.entry(dataset).format == "table"
    return {
        "preparation": _preparation(plan, dataset)
        | ({"raw": True} if raw and is_own else {}),
        "seed": plan.config.protocol.seed,
        "estimator": recipe["estimator"],
        "fixed": recipe["fixed"],
        "threads": plan.config.jobs.threads,
        "code": code_version(SCRIPTS / f"{stage}.py", *targets(recipe["estimator"])),
    }


def _preparation(plan, dataset):
    protocol = plan.config.protocol
    keys = ("scale", "scale_fit", "scale_target")
    clip = plan.entry(dataset).clip if protocol.clip else None
    return {key: getattr(protocol, key) for key in keys} | {"clip": clip}


def _described(plan, dataset, method):
    """How the rows were split and the parameters found, for the record alone."""
    source = plan.search_method(dataset, method)
    splitting = split(plan, dataset)
    del splitting["code"]
    if source is None:
        return {"protocol": splitting, "search": None}
    searching = search(plan, dataset, source)
    keys = ("grid", "random", "tuning", "folds", "holdout_rows", "step", "max_rows")
    described = {"method": source} | {key: searching[key] for key in keys}
    return {"protocol": splitting, "search": described}


def special(plan, name):
    """Settings of a special computation."""
    function = f"{name}.compute"
    return {
        "function": function,
        "params": plan.config.special[name],
        "preparation": {d: _preparation(plan, d) for d in plan.datasets},
        "seed": plan.config.protocol.seed,
        "threads": plan.config.jobs.threads,
        "code": code_version(SCRIPTS / "special.py", function),
    }


def configuration(plan):
    """What the rule ``configuration`` is given."""
    return asdict(plan.config)


def compare(plan):
    """What the rule ``compare`` is given."""
    return {"metric": plan.config.metric, "code": code_version(SCRIPTS / "compare.py")}


def winner(plan, dataset):
    """What the rule ``winner`` is given: how each method is fitted, whichever wins."""
    methods = [method for of, method in plan.cells if of == dataset]
    cells = {method: _cell(plan, dataset, method, "winner") for method in methods}
    return {"metric": plan.config.metric, "methods": cells}


def figure(plan, name):
    """Settings of one figure."""
    return _view(plan, plan.config.figures.get(name, View(f"{name}.plot")), "figure")


def summary_table(plan, name):
    """Settings of one table."""
    return _view(
        plan, plan.config.tables.get(name, View(f"{name}.table")), "summary_table"
    )


def _view(plan, view, rule):
    shown = asdict(view)
    code = code_version(SCRIPTS / f"{rule}.py", shown["function"])
    return shown | {"metric": plan.config.metric, "code": code}


def report(plan):
    """What the rule ``report`` is given."""
    templates = Path(adakern_bench.report.__path__[0]) / "templates"
    files = sorted(path for path in templates.rglob("*") if path.is_file())
    return {"code": code_version(SCRIPTS / "report.py", files=tuple(files))}


def track(plan):
    """What the rule ``track`` is given."""
    uri = os.environ.get("MLFLOW_TRACKING_URI") or plan.config.tracking.uri
    code = code_version(SCRIPTS / "track.py")
    return {
        "tracking_uri": uri,
        "register": plan.config.tracking.register,
        "code": code,
    }
