"""The mirror of the data sets beside the repository, and the tests that need it."""

from pathlib import Path

import pytest

__all__ = ["MIRROR", "needs_mirror"]

MIRROR = Path(__file__).resolve().parents[2] / "shared" / "data"

needs_mirror = pytest.mark.skipif(not MIRROR.is_dir(), reason="no data mirror at ../shared/data")
