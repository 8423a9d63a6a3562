"""The papers' tables in one shape, to be put beside what was measured."""

from inspect import signature

import pandas as pd

__all__ = ["COLUMNS", "beside_measured", "condensed", "load_published"]

COLUMNS = ["dataset", "method", "setting", "split", "metric", "mean", "std"]

#: Of a table of more methods only those that were measured stand beside the measured
#: numbers; a leaderboard shows all.
MANY_METHODS = 40

# A column of a wide table -> (split, metric) of one row each.
_QUANTITIES = {
    "accuracy_percent": ("test", "accuracy_percent"),
    "relative_mse": ("test", "relative_mse"),
    "r2": ("test", "r2"),
    "train_seconds": ("", "fit_seconds"),
    "rank_F": ("", "rank"),
    "n_support": ("", "n_support"),
}


def load_published(path):
    """Read one table of published numbers and bring it to the columns of `COLUMNS`.

    One row a published number, sorted. Accuracies are fractions, as in the records.
    What a paper ran in several settings has the names of the methods here: with a
    column `tau` ``dank@tau=0.01``, as sweeps are named; ``dank-decomposed`` where
    `setting` says "scalable".
    """
    table = pd.read_csv(path, dtype={"tau": str})
    table = table.rename(columns={"function": "dataset"})
    if "tau" in table:
        table["method"] = "dank@tau=" + table["tau"]
    if "method" not in table:
        raise ValueError(
            f"{path}: no column 'method'; a table of published results needs one "
            f"(columns: {', '.join(table.columns)})."
        )
    for name, default in (("dataset", "cifar10"), ("setting", "")):
        if name not in table:
            table[name] = default
    scalable = table["setting"] == "scalable"
    table.loc[scalable, "method"] += "-decomposed"
    rows = table if "metric" in table else _from_wide(table, path)
    percent = rows["metric"] == "accuracy_percent"
    rows = rows.assign(
        metric=rows["metric"].where(~percent, "accuracy"),
        mean=rows["mean"].where(~percent, rows["mean"] / 100),
        std=rows["std"].where(~percent, rows["std"] / 100),
    )
    return rows[COLUMNS].sort_values(COLUMNS[:5], ignore_index=True)


def _from_wide(table, path):
    parts = []
    for quantity, (split, metric) in _QUANTITIES.items():
        mean = next((c for c in (quantity, f"{quantity}_mean") if c in table), None)
        if mean is None:
            continue
        std = table.get(f"{quantity}_std", table.get("std"))
        main = split == "test"  # a bare `std` belongs to the score
        parts.append(
            table[["dataset", "method", "setting"]].assign(
                split=split,
                metric=metric,
                mean=table[mean].astype(float),
                std=std if main and std is not None else float("nan"),
            )
        )
    if not parts:
        raise ValueError(
            f"{path}: no column of {', '.join(_QUANTITIES)}; columns there: "
            f"{', '.join(table.columns)}."
        )
    return pd.concat(parts, ignore_index=True).dropna(subset=["mean"])


def beside_measured(summary, published):
    """Every published number of the measured data sets, with the measured one if any.

    Columns of `COLUMNS` with the suffixes ``_published`` and ``_measured`` behind
    mean and std, the measured `n`, and `difference` (measured - published). Methods
    of the papers that the experiment did not run stay, with blanks for measured.
    """
    keys = ["dataset", "method", "split", "metric"]
    if published is None:
        published = pd.DataFrame(columns=COLUMNS)
    published = published[published["dataset"].isin(summary["dataset"])]
    if published["method"].nunique() > MANY_METHODS:
        published = published[published["method"].isin(summary["method"])]
    both = published.merge(
        summary[[*keys, "mean", "std", "n"]],
        on=keys,
        how="left",
        suffixes=("_published", "_measured"),
    ).astype({"n": "Int64"})
    both["difference"] = both["mean_measured"] - both["mean_published"]
    return both


def condensed(function, frame, published, params):
    """A table that a function makes of records.

    One with a parameter ``published`` gets the numbers of the experiment's file.
    """
    asks = "published" in signature(function).parameters
    return function(frame, *map(load_published, published if asks else []), **params)
