"""An experiment with overrides that change what is compared is one of its own.

It has a name, and with it a folder and a place in the tracker, that the experiment as
written never writes to, and a title that says what was changed in place of its
description.
"""

import re
from dataclasses import replace

from adakern_bench.base.notes import digest
from adakern_bench.config.compose import ConfigError

#: Settings that do not decide which numbers come out.
NOT_COMPARED = {
    *("name", "title", "description", "figures", "tables", "published"),
    *("jobs", "data", "tracking", "results"),
}
LONGEST = 60


def as_variant(config, overrides):
    """The configuration under a name of its own, where it compares something else."""
    changes = [o for o in overrides if not o.startswith("experiment=")]
    config = replace(config, experiment=config.name, overrides=changes)
    # The last word on a setting counts, and the order of the settings does not.
    telling = {change.partition("=")[0]: change for change in changes}
    listed = sorted(c for c in telling.values() if _section(c) not in NOT_COMPARED)
    changed = f" Changed: {', '.join(listed)}." * bool(listed)
    if "name" in telling:
        experiment = _experiment(overrides) or config.name
        text = f"{config.description.rstrip()}{changed}"
        return replace(config, experiment=experiment, description=text)
    if (asked := _experiment(overrides) or config.name) != config.name:
        raise ConfigError(
            f"experiment {asked} has name={config.name!r} and would write over the "
            f"results of the experiment of that name; write name: {asked} into its file"
        )
    if not listed:
        return config
    return replace(
        config,
        name=f"{config.name}~{_slug(listed)}",
        title=f"{config.title} ({', '.join(listed)})",
        description=f"The experiment {config.name}.{changed}",
    )


def _section(change):
    return re.split(r"\W", change.lstrip("+~"))[0]


def _experiment(overrides):
    """The experiment that is asked for, whatever name its results are to have."""
    asked = [o.partition("=")[2] for o in overrides if o.startswith("experiment=")]
    return asked[-1] if asked else None


def _slug(changes):
    """Changes as a folder's name; where that loses something, with their hash."""
    text = re.sub(r"[\[\]'\" ]", "", "~".join(changes))
    slug = re.sub(r"[^\w.,=+~-]", "_", text)[:LONGEST]
    return slug if slug == text else f"{slug}-{digest(text, 6)}"
