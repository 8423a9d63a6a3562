"""Results of slow checks by earlier plans, kept for later ones."""

import hashlib
from contextlib import contextmanager, suppress

from adakern._utils.files import read_json, write_json


def digest(text, length=16):
    """Return the first hexadecimal digits of a text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]


@contextmanager
def notes(path):
    """Context of the notes in a file; what the block adds is written to it."""
    known = {}
    with suppress(OSError, ValueError):
        known = dict(read_json(path))
    before = len(known)
    yield known
    if len(known) > before:
        with suppress(OSError):  # only time is lost
            write_json(path, known)
