"""Existing repeats in all result files."""

import glob
from contextlib import suppress
from pathlib import Path

from adakern._utils.files import read_json


def repeats_there(root, kind, dataset, method):
    """Yield the successful repeats of a cell in all experiments of a folder.

    `kind` is "records" or "search".
    """
    cell = Path(kind, glob.escape(dataset), glob.escape(method), "[!.]*.json")
    for file in Path(root).glob(f"*/{cell}"):
        with suppress(OSError, ValueError, TypeError, AttributeError):
            yield from (one for one in read_json(file) if one.get("status") == "ok")
