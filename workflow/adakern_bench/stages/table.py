"""Stage ``table``: the canonical table of one data set."""

from pathlib import Path

from adakern_bench.data import DatasetEntry, load_table

__all__ = ["run"]


def run(inputs, outputs, params):
    """Load a table from the first source that has it, check it, and save it.

    Parameters
    ----------
    inputs : dict
        Paths by name.
    outputs : dict
        Paths by name.
    params : dict
        Settings of the stage.
    """
    target = Path(outputs["table"])
    entry = DatasetEntry(**params["entry"])
    table = load_table(
        params["name"],
        entry,
        cache_dir=target.parents[1] / "raw",
        mirror=params["mirror"],
        timeout=params["timeout"],
        retries=params["retries"],
    )
    table.provenance["content"] = {
        "n": len(table.X),
        "d": table.X.shape[1],
        "n_test": 0 if table.test_rows is None else len(table.test_rows),
        "classes": {str(label): n for label, n in table.class_counts.items()},
        "fingerprint": table.provenance["fingerprint"],
    }
    table.provenance["made_by"] = params["made_by"]
    table.save(target)
