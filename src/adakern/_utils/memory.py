"""Check of the available memory, before time is spent on a computation."""

import os

import numpy as np


def require_memory(n_bytes, purpose, way_out):
    """Raise MemoryError, with the way out, if the machine lacks the memory."""
    try:
        np.empty(n_bytes, dtype=np.uint8)
        enough = n_bytes <= _physical_memory()
    except (MemoryError, ValueError):  # ValueError: more than any array may have
        enough = False
    if not enough:
        raise MemoryError(
            f"{purpose} needs {n_bytes / 1e9:.1f} GB, which this machine does not "
            f"have; {way_out}"
        )


def _physical_memory():
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not known on this system
        return np.inf
