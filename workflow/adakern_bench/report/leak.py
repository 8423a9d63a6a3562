"""What it is worth to tune on rows that are tested on: ``protocol.tuning=both``."""

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from adakern.evaluation import GREATER_IS_BETTER
from adakern_bench.report.leaderboard import LEADING_METRIC, by_dataset

__all__ = ["leak"]


def leak(records):
    """Scores after tuning on the published split beside those after nested tuning.

    Parameters
    ----------
    records : DataFrame
        As in ``records.parquet``, of an experiment with ``protocol.tuning=both``.

    Returns
    -------
    DataFrame
        One row a task and method, over the data sets that finished both ways:
        `nested` and `published`, the means of the leading metric; `difference`, the
        second less the first; on how many sets the published tuning is `better` and
        `worse`; and the two-sided `p_value` of Wilcoxon's signed-rank test over them,
        NaN where no set differs.

    Raises
    ------
    ValueError
        If the records are not of such an experiment.
    """
    if "sweep_tuning" not in records:
        raise ValueError(
            "the records have no two ways of tuning to compare; run the experiment "
            "with protocol.tuning=both"
        )
    rows = [
        {"task": task, "method": method} | _compared(task, part)
        for task, of_task in records.groupby("task")
        for method, part in of_task.groupby("base_method")
    ]
    table = pd.DataFrame(rows)
    return table.sort_values("difference", ascending=False, ignore_index=True)


def _compared(task, records):
    """The numbers of one method: each data set is one pair."""
    nested, published = (
        _scores(records[records["sweep_tuning"] == tuning])
        for tuning in ("nested", "published")
    )
    pairs = pd.DataFrame({"nested": nested, "published": published}).dropna()
    difference = pairs["published"] - pairs["nested"]
    gain = difference if GREATER_IS_BETTER[LEADING_METRIC[task]] else -difference
    p_value = wilcoxon(difference).pvalue if difference.any() else np.nan
    return {
        "n_datasets": len(pairs),
        **pairs.mean(),
        "difference": difference.mean(),
        "better": int((gain > 0).sum()),
        "worse": int((gain < 0).sum()),
        "p_value": p_value,
    }


def _scores(records):
    """Means over the repeats of one method by the data set's own name."""
    same_name = records.assign(dataset=records["base_dataset"])
    return by_dataset(same_name).iloc[:, 0]
