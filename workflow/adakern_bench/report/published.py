"""The papers' tables in one shape, to be put beside what was measured."""

import pandas as pd

COLUMNS = ["dataset", "method", "setting", "split", "metric", "mean", "std"]

#: Of a table of more methods only those that were measured stand beside the measured
#: numbers; a leaderboard shows all.
MANY_METHODS = 40

#: Published methods and those here that follow their protocol.
SAME_METHOD = {"svm_C": "svm-2014", "rforest_R": "forest-2014"}

#: What a table leaves out if it holds of all its numbers.
_DEFAULTS = {
    "setting": "",
    "split": "test",
    "metric": "accuracy_percent",
    "std": float("nan"),
}


def load_published(path):
    """Read one table of published numbers: a row a number, in the columns of `COLUMNS`.

    Accuracies are fractions, as in the records. What a paper ran in several settings
    has the names of the methods here, such as ``dank@tau=0.01`` and
    ``dank-decomposed``.
    """
    table = pd.read_csv(path)
    if missing := {"dataset", "method", "mean"} - set(table):
        raise ValueError(
            f"{path}: no column {', '.join(sorted(missing))}; a table of published "
            "results "
            f"has dataset, method and mean (columns: {', '.join(table.columns)})."
        )
    table = table.assign(**{k: v for k, v in _DEFAULTS.items() if k not in table})
    table = table.fillna({"setting": "", "split": ""})
    percent = table["metric"] == "accuracy_percent"
    table["metric"] = table["metric"].where(~percent, "accuracy")
    for name in ("mean", "std"):
        table[name] = table[name].where(~percent, table[name] / 100)
    return table[COLUMNS].sort_values(COLUMNS[:5], ignore_index=True)


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
    published = published.replace({"method": SAME_METHOD})
    if published["method"].nunique() > MANY_METHODS:
        published = published[published["method"].isin(summary["method"])]
    measured = summary[[*keys, "mean", "std", "n"]]
    both = published.merge(
        measured, "left", on=keys, suffixes=("_published", "_measured")
    )
    both = both.astype({"n": "Int64"})
    both["difference"] = both["mean_measured"] - both["mean_published"]
    return both
