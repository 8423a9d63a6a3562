"""Variants: an experiment whose overrides change its results is a separate experiment.

It has its own name, and hence its own folder and its own experiment in the tracker, and
its title states the changes.
"""

import re
from dataclasses import replace

from adakern_bench.base.notes import digest
from adakern_bench.config.compose import ConfigError

#: Settings that do not affect the results.
NOT_COMPARED = {
    *("name", "title", "description", "figures", "tables", "published"),
    *("jobs", "data", "tracking", "results"),
}
LONGEST = 60
#: Start of an override that selects an experiment's file.
SELECTS = "experiment="


def as_variant(config, overrides):
    """Rename a configuration if its overrides change its results."""
    changes = [o for o in overrides if not o.startswith(SELECTS)]
    selected = [o.removeprefix(SELECTS) for o in overrides if o.startswith(SELECTS)]
    experiment = [config.name, *filter(None, selected)][-1]
    config = replace(config, experiment=config.name, overrides=changes)
    # The last value of a setting counts; the order of the settings does not matter.
    telling = {change.partition("=")[0]: change for change in changes}
    listed = sorted(c for c in telling.values() if _section(c) not in NOT_COMPARED)
    changed = f" Changed: {', '.join(listed)}." * bool(listed)
    if "name" in telling:
        text = f"{config.description.rstrip()}{changed}"
        return replace(config, experiment=experiment, description=text)
    if experiment != config.name:
        raise ConfigError(
            f"experiment {experiment} has name={config.name!r} and would overwrite the "
            f"results of that experiment; set name: {experiment} in its file"
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


def _slug(changes):
    """Return changes as the name of a folder, with a hash if characters are lost."""
    text = re.sub(r"[\[\]'\" ]", "", "~".join(changes))
    slug = re.sub(r"[^\w.,=+~-]", "_", text)[:LONGEST]
    return slug if slug == text else f"{slug}-{digest(text, 6)}"
