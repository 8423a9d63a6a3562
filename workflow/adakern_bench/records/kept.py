"""A repeat is kept by what it depends on, whatever file of results holds it.

Each search and each record has a key, the hash of all that it depends on: the contents
of the table, the rows of the repeat, the settings and the version of the code. Where
another batch of repeats, or another experiment, holds one of the same key, it is taken
over and not computed again.
"""

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from adakern_bench.base.paths import AGAIN
from adakern_bench.data.table import opened
from adakern_bench.records.repeats import repeats_there
from adakern_bench.records.split import load_split


def keys_of(table, split, settings):
    """Repeat -> the hash of what its search or fit depends on, by its own `settings`.

    A repeat whose split cannot be read has none: its task will say what is wrong.
    """
    contents = _contents(table)
    keys = {}
    for repeat, own in settings.items():
        digest = hashlib.sha256(contents)
        with suppress(KeyError, ValueError):
            for rows in load_split(split, repeat):
                digest.update(rows.tobytes())
            digest.update(json.dumps([repeat, own], sort_keys=True).encode())
            keys[repeat] = digest.hexdigest()[:32]
    return keys


def _contents(table):
    """Hash of a table, wherever it came from."""
    with opened(table) as stored:
        described = json.loads(str(stored["description"]))
        del described["provenance"]
        digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
        for name in sorted({*stored.files} - {"description"}):
            digest.update(name.encode() + stored[name].tobytes())
    return digest.digest()


def taken_over(path, keys):
    """Repeat -> what some file of results, `path` among them, holds of its key.

    What failed is tried again, and all of it where Snakemake was told to (``--force``).
    """
    path = Path(path)
    wanted = {*keys.values()}
    if path.with_suffix(AGAIN).exists():
        return {}
    there = repeats_there(path.parents[4], *path.parts[-4:-1])
    return {one["repeat"]: one for one in there if one.get("key") in wanted}


def forget(path):
    """What was to be computed again has been."""
    Path(path).with_suffix(AGAIN).unlink(missing_ok=True)
