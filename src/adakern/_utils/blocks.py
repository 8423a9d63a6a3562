"""Computations block by block, within a given memory."""

from array_api_compat import array_namespace

#: Working memory of one block where a computation goes block by block, in bytes.
BLOCK_BYTES = 64 * 2**20

#: Memory of a tile that stays in the cache of one core.
CACHE_BYTES = 2**18

#: Memory of one tile that is made, used and forgotten; larger ones leave the cache.
TILE_BYTES = 8 * 2**20


def row_blocks(n_rows, bytes_per_row, budget=BLOCK_BYTES):
    """Cut ``range(n_rows)`` into slices that need at most ``budget`` bytes each."""
    size = max(1, int(budget // max(1, bytes_per_row)))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def by_row_blocks(function, X, bytes_per_row, budget=BLOCK_BYTES):
    """``function`` of all rows of X, computed block by block."""
    blocks = [
        function(X[rows, :]) for rows in row_blocks(X.shape[0], bytes_per_row, budget)
    ]
    return array_namespace(*blocks).concat(blocks)
