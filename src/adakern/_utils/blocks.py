"""Computations block by block, within a given memory."""

from array_api_compat import array_namespace

__all__ = ["BLOCK_BYTES", "CACHE_BYTES", "TILE_BYTES", "by_row_blocks", "row_blocks"]

#: Working memory of one block where a computation goes block by block, in bytes.
BLOCK_BYTES = 64 * 2**20

#: Memory of a tile that stays in the cache of one core.
CACHE_BYTES = 2**18

#: Memory of one tile that is made, used and forgotten; larger ones leave the cache.
TILE_BYTES = 8 * 2**20


def row_blocks(n_rows, bytes_per_row, budget=BLOCK_BYTES):
    """Cut ``range(n_rows)`` into slices that need at most ``budget`` bytes each.

    Parameters
    ----------
    n_rows : int
        Number of rows to go through.
    bytes_per_row : int
        Memory that one row takes in the computation.
    budget : int, default=64 MiB
        Bytes that one block may take; a block has at least one row.

    Yields
    ------
    slice
        Consecutive, non-overlapping, covering all rows.

    Examples
    --------
    >>> from adakern._utils.blocks import row_blocks
    >>> list(row_blocks(5, bytes_per_row=8, budget=16))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = max(1, int(budget // max(1, bytes_per_row)))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def by_row_blocks(function, X, bytes_per_row, budget=BLOCK_BYTES):
    """``function`` of all rows of X, computed block by block.

    Parameters
    ----------
    function : callable
        From rows of X to an array of as many rows.
    X : array of shape (n, d)
        At least one row.
    bytes_per_row : int
        Memory that one row takes in the computation.
    budget : int, default=64 MiB
        Bytes that one block may take.

    Returns
    -------
    array of n rows

    Examples
    --------
    >>> import numpy as np
    >>> from adakern._utils.blocks import by_row_blocks
    >>> X = np.arange(3.0)[:, None]
    >>> by_row_blocks(lambda rows: rows.sum(axis=1), X, bytes_per_row=8, budget=16)
    array([0., 1., 2.])
    """
    blocks = [
        function(X[rows, :]) for rows in row_blocks(X.shape[0], bytes_per_row, budget)
    ]
    return array_namespace(*blocks).concat(blocks)
