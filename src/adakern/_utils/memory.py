"""Computations within a memory budget: checks before they start, blocks of rows."""

import os

import numpy as np
from array_api_compat import array_namespace

#: Default working memory of a block, in bytes.
BLOCK_BYTES = 64 * 2**20

#: Size in bytes of a tile that fits into the cache of one core.
CACHE_BYTES = 2**18

#: Size in bytes of a temporary tile; larger ones do not stay in the cache.
TILE_BYTES = 8 * 2**20


def row_blocks(n_rows, bytes_per_row, budget=BLOCK_BYTES):
    """Cut ``range(n_rows)`` into slices that need at most ``budget`` bytes each."""
    size = max(1, int(budget // max(1, bytes_per_row)))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def by_row_blocks(function, X, bytes_per_row, budget=BLOCK_BYTES):
    """Apply ``function`` to the rows of X by blocks, and concatenate the results."""
    blocks = [
        function(X[rows, :]) for rows in row_blocks(X.shape[0], bytes_per_row, budget)
    ]
    return array_namespace(*blocks).concat(blocks)


def require_memory(n_bytes, purpose, way_out):
    """Raise MemoryError, with the way out, if the machine lacks the memory."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not known on this system
        physical = np.inf
    try:
        np.empty(n_bytes, dtype=np.uint8)
    except (MemoryError, ValueError):  # ValueError: more than any array may have
        physical = 0
    if n_bytes > physical:
        raise MemoryError(
            f"{purpose} needs {n_bytes / 1e9:.1f} GB, which this machine does not "
            f"have; {way_out}"
        )
