"""Cached results of slow checks, from one plan to the next."""

import hashlib
from contextlib import contextmanager, suppress

from adakern._utils.files import read_json, write_json


def digest(text, length=16):
    """Return the first hexadecimal digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]


@contextmanager
def notes(path):
    """Yield the notes in a file as a dict; additions are written back to it."""
    known = {}
    with suppress(OSError, ValueError):
        known = dict(read_json(path))
    before = len(known)
    yield known
    if len(known) > before:
        with suppress(OSError):  # the check is only repeated
            write_json(path, known)
