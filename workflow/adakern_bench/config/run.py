"""The file of a run: everything that its jobs need, resolved once at its start."""

from dataclasses import asdict
from pathlib import Path

import yaml

from adakern._utils.files import write_text
from adakern_bench.base.notes import digest
from adakern_bench.config.compose import ConfigError, as_typed
from adakern_bench.config.plan import Plan
from adakern_bench.config.schema import Config

NAME = "run.yaml"


def write_run(plan, path=None):
    """Write the file of a run; return the value of ``--config run=`` (`run_of`)."""
    path = path or plan.results / NAME
    text = _text(plan)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        try:
            write_text(path, text)
        except PermissionError:
            raise
        except OSError as error:
            raise ConfigError(
                f"{path} cannot be written: {error}. Free some space there, or use "
                "another folder (results=...), and run the same command again"
            ) from None
    return run_of(plan, path)


def run_of(plan, path=None):
    """``results/<experiment>/run.yaml@<digest>``, for ``--config run=``."""
    return f"{path or plan.results / NAME}@{digest(_text(plan))}"


def load_run(told):
    """Return the plan of a file that `write_run` wrote."""
    path, _, stated = str(told).rpartition("@")
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"--config run={told}: {error}. It names the file of a run and its digest; "
            "start a run with --config experiment=..., or with adakern run"
        ) from None
    if digest(text) != stated:
        raise ConfigError(
            f"{path} has changed since this run started: it was edited, or "
            "overwritten by another run. Start the run again"
        )
    return Plan(as_typed(Config, yaml.load(text, Loader=yaml.CSafeLoader)))


def _text(plan):
    config = asdict(plan.config)
    style = {"sort_keys": False, "allow_unicode": True, "width": 88}
    return yaml.dump(config, Dumper=yaml.CSafeDumper, **style)
