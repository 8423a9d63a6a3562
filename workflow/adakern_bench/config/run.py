"""The file of a run: the configuration of all its jobs, resolved once at the start."""

from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

import yaml

from adakern._utils.files import write_text
from adakern_bench.base.notes import digest
from adakern_bench.config.compose import ConfigError, as_typed
from adakern_bench.config.entry import DatasetEntry
from adakern_bench.config.plan import Plan
from adakern_bench.config.schema import Config
from adakern_bench.config.sweeps import base_name

NAME = "run.yaml"


def write_run(plan, path=None):
    """Write the file of a run; return the value of ``--config run=`` (`run_of`)."""
    _write(path or plan.results / NAME, _text(plan))
    return run_of(plan, path)


def write_parts(plan):
    """Write the part of the configuration that the job of each group loads."""
    for group, datasets in plan.groups.items():
        entries = {base_name(dataset): plan.entry(dataset) for dataset in datasets}
        part = _dumped(replace(plan.config, dataset=entries))
        seal = digest(digest(_text(plan)) + part)
        _write(_part(plan.results / NAME, group), f"# {seal}\n{part}")


def run_of(plan, path=None):
    """``results/<experiment>/run.yaml@<digest>``, for ``--config run=``."""
    return f"{path or plan.results / NAME}@{digest(_text(plan))}"


def load_run(told, group=None):
    """Return the plan of a file that `write_run` wrote, or its part of one group."""
    name, _, stated = str(told).rpartition("@")
    path = Path(name) if group is None else _part(Path(name), group)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"--config run={told}: {error}. This option is for the jobs of a run; "
            "start one with --config experiment=..., or with adakern run"
        ) from None
    found = digest(text)
    if group is not None:
        seal, _, part = text.partition("\n")
        stated, found = seal, f"# {digest(stated + part)}"
    if found != stated:
        raise ConfigError(
            f"{path} has changed since this run started: it was edited, or another "
            "run has overwritten it. Start the run again"
        )
    plan = Plan(as_typed(Config, yaml.load(text, Loader=yaml.CSafeLoader)))
    if group is not None:
        plan.groups = {group: plan.datasets}
    return plan


def _part(path, group):
    return path.parent / "groups" / f"{group}.yaml"


def _write(path, text):
    """Write a file unless it already contains this text."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    try:
        write_text(path, text)
    except PermissionError:
        raise
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written: {error}. Free some space there, or use "
            "another folder (results=...), and run the same command again"
        ) from None


@cache
def _text(plan):
    return _dumped(plan.config)


def _dumped(config):
    """Return a configuration as YAML; entries omit defaults, since there may be
    thousands.
    """
    unset = asdict(DatasetEntry(task=""))
    described = asdict(config)
    for entry in described["dataset"].values():
        for key in [key for key, value in entry.items() if value == unset[key]]:
            del entry[key]
    style = {"sort_keys": False, "allow_unicode": True, "width": 88}
    return yaml.dump(described, Dumper=yaml.CSafeDumper, **style)
