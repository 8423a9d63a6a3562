"""Reuse of results across files, by a hash of their inputs.

Each search and each record has a key, the hash of its inputs: the contents of the
table, the rows of the repeat, the settings and the version of the code. A result with
the same key in another batch of repeats, or in another experiment, is reused.
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
    """Repeat -> hash of the inputs of its search or fit, given its `settings`.

    A repeat whose split cannot be read has no key; its task will report the error.
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
    """Hash of a table, without its provenance."""
    with opened(table) as stored:
        described = json.loads(str(stored["description"]))
        del described["provenance"]
        digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
        for name in sorted({*stored.files} - {"description"}):
            digest.update(name.encode() + stored[name].tobytes())
    return digest.digest()


def reusable(path, keys):
    """Repeat -> existing result with its key, in any file of results.

    Failed results are computed again; with Snakemake's ``--force``, all are.
    """
    path = Path(path)
    wanted = {*keys.values()}
    if path.with_suffix(AGAIN).exists():
        return {}
    there = repeats_there(path.parents[4], *path.parts[-4:-1])
    return {one["repeat"]: one for one in there if one.get("key") in wanted}


def forget(path):
    """Remove the marker that requests results to be computed again."""
    Path(path).with_suffix(AGAIN).unlink(missing_ok=True)
