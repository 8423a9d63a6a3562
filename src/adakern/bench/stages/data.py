"""Stage ``data``: the canonical table of one data set."""

import os
from pathlib import Path

from omegaconf import OmegaConf

from adakern.datasets import DatasetEntry, load_table

__all__ = ["run"]


def run(inputs, outputs, params):
    """Load a table from the first source that has it, check it, and save it."""
    entry = OmegaConf.to_object(OmegaConf.merge(DatasetEntry, params["entry"]))
    target = Path(outputs["table"])
    table = load_table(
        params["name"],
        entry,
        cache_dir=target.parents[1] / "raw",
        mirror=os.environ.get("ADAKERN_DATA_MIRROR"),
        timeout=float(os.environ["ADAKERN_DATA_TIMEOUT"]),
        retries=int(os.environ["ADAKERN_DATA_RETRIES"]),
    )
    table.save(target)


if __name__ == "__main__":
    from adakern.bench.runtime.by_hand import main

    main("data", __doc__)
