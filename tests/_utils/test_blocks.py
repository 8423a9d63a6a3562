"""Blocks of rows."""

import numpy as np

from adakern._utils.blocks import row_blocks


def test_blocks_cover_all_rows_once():
    rows = np.concatenate([np.arange(100)[b] for b in row_blocks(100, 24, 100)])
    np.testing.assert_array_equal(rows, np.arange(100))
