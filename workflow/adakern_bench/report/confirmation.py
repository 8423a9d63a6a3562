"""Results of a confirmation, in the sentences that were registered for each outcome.

tables:
  registered:
    function: adakern_bench.report.confirmation.registered
    params: {flagship: adaptive, rivals: {CatBoost: [catboost]}, sentences: {...}}
"""

import numpy as np
import pandas as pd

from adakern.evaluation import holm_correction
from adakern.evaluation.ranking import ALPHA, FEWEST_SETS
from adakern_bench.report.contrast import interval, over_sets
from adakern_bench.report.leaderboard import per_task, scores_of

#: Task -> its error, and a constant to add, since ratios of log losses are meaningless
#: near 0.
ERROR = {"classification": ("log_loss", 1e-3), "regression": ("rmse", 0.0)}
COLUMNS = ["task", "rival", "method", "n_datasets", "better", "worse", "tied"]
COLUMNS += ["ratio", "low", "high", "p"]


def registered(records, flagship, rivals, sentences):
    """Compare the flagship with each baseline over the data sets of each task.

    `rivals` maps the name of a baseline to its methods, of which the one with the
    smallest geometric mean of errors is compared. There is one row per task and
    baseline: `better`, `worse` and `tied` count data sets; `ratio` is the geometric
    mean of the baseline's error divided by the flagship's, with a 95 % bootstrap
    interval over the data sets (`low`, `high`); `p` is the p-value of Wilcoxon's test
    after Holm's correction over all baselines. `sentence` is that of the outcome in
    `sentences`: ``ahead``, ``behind``, ``undecided``, ``few`` or ``absent``, followed
    by ``floor`` if no p-value could be significant with so few data sets and so many
    baselines.
    """
    if flagship not in records["method"].unique():
        sentence = f"{flagship} was not run, so no registered hypothesis is tested."
        return pd.DataFrame({"sentence": [sentence]}).reindex(
            columns=[*COLUMNS, "sentence"]
        )
    return per_task(records, _of_task, flagship, rivals, sentences)


def errors(runs):
    """Mean error of one task over the splits, with a row per data set and a column per
    method; a failed run counts as the worst finished one.
    """
    metric, floor = ERROR[runs["task"].iloc[0]]
    scores = scores_of(runs, metric)
    worst = scores.groupby([runs["dataset"], runs["repeat"]]).transform("max")
    cells = scores.fillna(worst).groupby([runs["dataset"], runs["method"]])
    return floor + cells.mean().unstack()


def _of_task(task, runs, flagship, rivals, sentences):
    table = errors(runs)
    rows = []
    for rival, methods in rivals.items():
        row = {"task": task, "rival": rival, "n_datasets": len(table)}
        if run := [method for method in methods if method in table]:
            row |= _compared(table, flagship, run)
        rows.append(row)
    comparisons = pd.DataFrame(rows).reindex(columns=COLUMNS)
    comparisons["p"] = holm_correction(comparisons["p"].astype(float))
    least = 2 / 2 ** len(table) * comparisons["method"].notna().sum()
    return comparisons.assign(
        sentence=[_sentence(row, least, sentences) for row in comparisons.itertuples()]
    )


def _compared(table, flagship, methods):
    """Compare the flagship with the best of a baseline's methods."""
    method = np.log(table[methods]).mean().idxmin()
    pair = over_sets(table[flagship], table[method], "rmse")
    ratios = np.log(table[method] / table[flagship]).to_numpy()
    low, high = np.exp(interval(ratios))
    counts = {key: getattr(pair, key) for key in ("better", "worse", "tied")}
    ratio = {"ratio": np.exp(ratios.mean()), "low": low, "high": high}
    return {"method": method, **counts, **ratio, "p": pair.pvalue}


def _sentence(row, least, sentences):
    if pd.isna(row.method):
        return sentences["absent"].format(**row._asdict())
    outcome = "ahead" if row.ratio > 1 else "behind"
    if row.n_datasets < FEWEST_SETS:
        outcome = "few"
    elif not row.p <= ALPHA:
        outcome = "undecided"
    sentence = sentences[outcome]
    if outcome == "undecided" and least > ALPHA:
        sentence += f" {sentences['floor']}"
    counts = {key: int(getattr(row, key)) for key in ("better", "worse", "tied")}
    return sentence.format(**row._asdict() | counts, least=min(1.0, least))
