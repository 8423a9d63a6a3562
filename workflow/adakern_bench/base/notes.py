"""What earlier plans have found out, kept because finding it out is slow."""

import hashlib
from contextlib import contextmanager, suppress

from adakern._utils.files import read_json, write_json


def digest(text, length=16):
    """So many hexadecimal digits of a text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]


@contextmanager
def notes(path):
    """The notes of a file, which keeps what the block adds."""
    known = {}
    with suppress(OSError, ValueError):
        known = dict(read_json(path))
    before = len(known)
    yield known
    if len(known) > before:
        with suppress(OSError):  # it is a matter of time alone
            write_json(path, known)
