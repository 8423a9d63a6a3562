"""The mirror of the data sets next to the repository, and a marker for tests that need
it.
"""

from pathlib import Path

import pytest

MIRROR = Path(__file__).resolve().parents[2] / "shared" / "data"

needs_mirror = pytest.mark.skipif(
    not MIRROR.is_dir(), reason="no data mirror at ../shared/data"
)


def read_entry(path):
    """The entry in one file of conf/dataset."""
    from omegaconf import OmegaConf

    from adakern_bench.config.entry import DatasetEntry

    own = OmegaConf.load(path)
    bases = [name for name in own.pop("defaults", []) if name != "_self_"]
    parts = [
        OmegaConf.load(path.parent / f"{base.removesuffix('@_here_')}.yaml")
        for base in bases
    ]
    entry = OmegaConf.merge(*parts, own)
    return DatasetEntry(**OmegaConf.to_container(entry, resolve=True))
