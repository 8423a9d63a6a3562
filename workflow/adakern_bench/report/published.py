"""Published results in a common format, for comparison with measured ones."""

import pandas as pd

COLUMNS = ["dataset", "method", "setting", "split", "metric", "mean", "std"]

#: Of tables with more methods than this, only methods that were run are compared;
#: leaderboards include all.
MANY_METHODS = 40

#: Published method -> method of this project that follows its protocol.
SAME_METHOD = {"svm_C": "svm-2014", "rforest_R": "forest-2014"}

#: Optional columns and their defaults.
_DEFAULTS = {
    "setting": "",
    "split": "test",
    "metric": "accuracy_percent",
    "std": float("nan"),
}


def load_published(path):
    """Read a table of published results: a row per number, with the columns `COLUMNS`.

    Accuracies become fractions, as in the records. Settings of a method have the names
    used here, such as ``dank@tau=0.01`` and ``dank-decomposed``.
    """
    table = pd.read_csv(path)
    if missing := {"dataset", "method", "mean"} - set(table):
        raise ValueError(
            f"{path}: no column {', '.join(sorted(missing))}; a table of published "
            "results must have the columns dataset, method and mean (found: "
            f"{', '.join(table.columns)})."
        )
    table = table.assign(**{k: v for k, v in _DEFAULTS.items() if k not in table})
    table = table.fillna({"setting": "", "split": ""})
    percent = table["metric"] == "accuracy_percent"
    table["metric"] = table["metric"].where(~percent, "accuracy")
    for name in ("mean", "std"):
        table[name] = table[name].where(~percent, table[name] / 100)
    return table[COLUMNS].sort_values(COLUMNS[:5], ignore_index=True)


def beside_measured(summary, published):
    """Join the published results of the data sets with the measured ones.

    The columns are `COLUMNS`, where mean and std have the suffixes ``_published`` and
    ``_measured``, the measured `n`, and `difference` (measured - published). Published
    methods that were not run are kept, with missing measured values.
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
