"""An experiment with overrides that change what is compared is one of its own.

It has a name, and with it a folder and a place in the tracker, that the experiment as
it is written never writes to; its title says what was changed, and the experiment's own
description, which speaks of other settings, is not shown.
"""

import hashlib
import re
from dataclasses import asdict, replace

from adakern.bench.config.compose import load_config

__all__ = ["as_variant"]

#: What does not decide which numbers come out.
NOT_COMPARED = (
    *("name", "title", "description", "overrides", "figures", "tables", "published"),
    *("jobs", "data", "tracking", "results"),
)
LONGEST = 60


def as_variant(config, selected, overrides, conf):
    """The configuration under a name of its own, where it compares something else.

    Parameters
    ----------
    config : adakern.bench.config.schema.Config
    selected : dict of str to list of str
        Data sets and methods to compare.
    overrides : sequence of str
        All that the command line says, the experiment included.
    conf : path

    Returns
    -------
    Config
        With the overrides noted. A name among the overrides is kept as it is.
    """
    chosen = [o for o in overrides if o.startswith("experiment=")]
    changes = [o for o in overrides if o not in chosen]
    config = replace(config, experiment=config.name, overrides=changes)
    if not changes or any(change.startswith("name=") for change in changes):
        return config
    if _compared(config, selected) == _compared(*load_config(chosen, conf)):
        return config
    telling = {
        change.partition("=")[0]: change
        for change in changes
        if re.match(r"\w*", change.lstrip("+~"))[0] not in NOT_COMPARED
    }
    listed = sorted(telling.values())
    return replace(
        config,
        name=f"{config.name}~{_slug(listed)}",
        title=f"{config.title} ({', '.join(listed)})",
        description=f"The experiment {config.name}, changed: {', '.join(listed)}.",
    )


def _compared(config, selected):
    parts = asdict(config)
    return {k: v for k, v in parts.items() if k not in NOT_COMPARED}, selected


def _slug(changes):
    """Changes as a folder's name; where that loses something, with their hash."""
    text = re.sub(r"[\[\]'\" ]", "", "~".join(changes))
    slug = re.sub(r"[^\w.,=+~-]", "_", text)[:LONGEST]
    if slug == text:
        return slug
    return f"{slug}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"
