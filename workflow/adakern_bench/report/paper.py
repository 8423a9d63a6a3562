"""What a paper needs of a finished run: tables, figures, sentences and references.

The tables are for LaTeX's package booktabs; they are marked as the report is.
"""

import re
import shutil
from urllib.parse import quote

import numpy as np
import pandas as pd

from adakern._utils.files import write_text
from adakern._utils.wording import count
from adakern.evaluation import GREATER_IS_BETTER
from adakern.evaluation.ranking import ALPHA, are_tied
from adakern_bench.config.sweeps import base_name
from adakern_bench.report.compare import shared
from adakern_bench.report.figures import (
    grid,
    method_styles,
    save_pdf,
    save_svg,
)
from adakern_bench.report.findings import by_task
from adakern_bench.report.headline import headline
from adakern_bench.report.leaderboard import by_dataset
from adakern_bench.report.render import latex, rendered
from adakern_bench.report.tables import heading, read_tables, scaled
from adakern_bench.report.wording import span

#: Maximum number of rows of a table on one page.
PAGE_ROWS = 40


def write_paper(results, config, target):
    """Write tables, figures, sentences and references of a run; return the tables.

    `results` contains the tables written by `compare`, `config` is the configuration as
    a mapping. The folder `target` is replaced.
    """
    tables = read_tables(results)
    records = pd.read_parquet(results / "records.parquet")
    shutil.rmtree(target, ignore_errors=True)
    texts = {}
    comparisons = []
    for task in by_task(tables, shared(records)):
        texts[f"{task.name}.tex"] = _table(task, config["name"])
        comparisons += _comparisons(task)
        for name, figure in _figures(task):
            save_svg(figure, target / f"{task.name}_{name}.svg")
            save_pdf(figure, target / f"{task.name}_{name}.pdf")
    sentences = "\n\n".join([*headline(tables, records), *comparisons])
    written = texts | {
        "sentences.txt": f"{sentences}\n",
        "references.bib": "\n".join(references(config, records)),
    }
    for name, text in written.items():
        write_text(target / name, text)
    return list(texts.values())


def _table(task, experiment):
    """LaTeX table with a row per data set and a column per method, best rank first."""
    cells = task.cells
    datasets = list(cells.index.unique("dataset"))
    experiment = re.sub(r"[^A-Za-z0-9-]+", "-", experiment)
    return rendered(
        "table.tex.j2",
        metric=heading(task.metric),
        repeats=span(cells["n"] + cells["missing"]),
        label=f"{experiment}-{task.name}",
        methods=list(task.ranks["method"]),
        datasets=datasets,
        cells=cells.to_dict("index"),
        average_ranks=list(task.ranks["average_rank"]),
        is_long=len(datasets) >= PAGE_ROWS,
    )


def _figures(task):
    """Yield (name, figure) if there are several methods and data sets."""
    ranks = task.ranks
    if len(ranks) < 2 or task.runs["dataset"].nunique() < 2:
        return
    styles = method_styles(ranks["method"])
    if np.isfinite(ranks["critical_distance"].iloc[0]):
        yield "critical_difference", plot_critical_difference(ranks)
    scores = by_dataset(task.runs, metric=task.metric)[list(ranks["method"])]
    yield "profile", plot_profile(scores, task.metric, styles)


def alike(average_ranks, distance):
    """(first, last) of each maximal group of methods that do not differ; ranks ascend.

    >>> from adakern_bench.report.paper import alike
    >>> alike([1.2, 2.0, 2.9, 5.0], 1.0)
    [(0, 1), (1, 2)]
    """
    groups = []
    for first, rank in enumerate(average_ranks):
        last = int(np.searchsorted(average_ranks, rank + distance, "right")) - 1
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups


def plot_critical_difference(ranks):
    """Plot a critical difference diagram (Demsar, JMLR 2006).

    A bar joins methods whose mean ranks do not differ significantly, by Nemenyi's
    critical distance if Friedman's test rejects; otherwise no methods differ.
    """
    ranks = ranks.dropna(subset="average_rank").sort_values("average_rank")
    values = ranks["average_rank"].to_numpy()
    k = len(ranks)
    distance, pvalue = ranks[["critical_distance", "friedman_pvalue"]].iloc[0]
    groups = alike(values, distance if pvalue <= ALPHA else np.inf)
    figure, axes = grid(1, 1, 6.5, 0.3 + 0.16 * (k + len(groups)), sharey=True)
    axis = axes[0, 0]
    for row, (first, last) in enumerate(groups):
        ends = values[first] - 0.02 * k, values[last] + 0.02 * k
        axis.plot(ends, [0.45 + 0.45 * row] * 2, color="#000000", lw=3)
    depth = 0.45 * len(groups)
    for place, (name, rank) in enumerate(zip(ranks["method"], values, strict=True)):
        is_left = place < (k + 1) // 2
        below = depth + 1 + (place if is_left else k - 1 - place)
        edge = 1 - 0.05 * k if is_left else k + 0.05 * k
        axis.plot([rank, rank, edge], [0, below, below], color="#000000", lw=0.7)
        side = "right" if is_left else "left"
        label = f" {name} ({rank:.2f}) "
        axis.text(edge, below, label, ha=side, va="center", fontsize=9)
    shown = f"critical distance {distance:.2f}, Friedman p = {pvalue:.2g}"
    axis.set(xlim=(1, k), xlabel=f"Mean rank (1: best); {shown}", yticks=[])
    axis.set_ylim(depth + 1.5 + (k + 1) // 2, 0)
    axis.xaxis.tick_top()
    axis.xaxis.set_label_position("top")
    axis.spines[["left", "bottom"]].set_visible(False)
    axis.spines["top"].set_visible(True)
    axis.grid(visible=False)
    for line in axis.lines:
        line.set_clip_on(False)
    return figure


def distance_to_best(scores, metric):
    """Distance of each method from the best on each data set; inf if it failed.

    It is the ratio of errors or, if greater is better, the difference of scores.
    """
    if GREATER_IS_BETTER[metric]:
        behind = scaled(metric, scores.rsub(scores.max(axis=1), axis=0))
        return behind.fillna(np.inf).clip(lower=0.0)
    best = scores.min(axis=1)
    unit = scores.abs().max(axis=1).fillna(0.0)
    ratios = scores.div(best.where(best > 0), axis=0)
    is_best = scores.apply(lambda column: are_tied(column, best, unit))
    return ratios.mask(is_best, 1.0).fillna(np.inf)


def plot_profile(scores, metric, styles):
    """Plot the fraction of data sets on which a method is within a distance of the
    best.
    """
    behind = distance_to_best(scores, metric)
    is_ratio = not GREATER_IS_BETTER[metric]
    finite = behind.to_numpy()[np.isfinite(behind.to_numpy())]
    start = 1.0 if is_ratio else 0.0
    end = max(finite.max(initial=start), start + 1e-3)
    figure, axes = grid(1, 1, 5.2, 2.8)
    axis = axes[0, 0]
    for name in behind:
        reached = np.sort(behind[name][np.isfinite(behind[name])])
        shares = np.arange(len(reached) + 1) / len(behind)
        axis.step(
            np.concatenate([[start], reached, [end]]),
            np.append(shares, shares[-1]),
            where="post",
            color=styles[name].colour,
            marker=styles[name].marker,
            markevery=0.1,
            markersize=4,
            label=name,
        )
    unit = f"{heading(metric)}, ratio to the best" if is_ratio else None
    label = unit or f"{heading(metric)}, below the best"
    axis.set(xlabel=label, ylabel="Share of the data sets", ylim=(0, 1.02))
    if is_ratio:
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter("{x:g}")
    axis.legend(frameon=False, fontsize=8)
    return figure


def _comparisons(task):
    """Yield a sentence on the leader and each of the other methods."""
    pairs = task.over_sets
    for pair in pairs[pairs["holm"].notna()].itertuples():
        yield (
            f"{task.name.capitalize()}: {task.leader} against {pair.method} over "
            f"{count(pair.n_datasets, 'data set')}: better on {pair.better}, worse "
            f"on {pair.worse}, tied on {pair.tied}; Wilcoxon's signed-rank test "
            f"p = {pair.pvalue:.3g}, after Holm's correction {pair.holm:.3g}."
        )


def references(config, records):
    """Yield BibTeX entries of data sets and methods, one per distinct citation."""
    for group, key in (("dataset", "citation"), ("method", "reference")):
        entries = config.get(group, {})
        cited = {}
        for name in dict.fromkeys(map(base_name, records[group].unique())):
            entry = entries.get(name) or {}
            cited.setdefault(entry.get(key) or "", []).append(name)
        for text, names in sorted(cited.items(), key=lambda item: item[1]):
            if not text:
                yield f"% No {key} is known for {', '.join(names)}.\n"
                continue
            yield _reference(f"{group}-{names[0]}", names, text, entries[names[0]])


def _reference(key, names, text, entry):
    years = re.findall(r"\b(?:19|20)\d\d\b", text)
    fields = {"key": names[0]}
    if len(names) == 1:
        title = entry.get("title") or entry.get("description") or names[0]
        fields["title"] = f"{{{latex(' '.join(title.split()))}}}"
    fields["note"] = latex(" ".join(text.split()))
    if years:
        fields["year"] = years[-1]
    if entry.get("homepage"):
        address = quote(entry["homepage"], safe="/:?#&=%+,;@~")
        fields["howpublished"] = rf"\url{{{address}}}"
    listed = "\n".join(f"  {name} = {{{value}}}," for name, value in fields.items())
    safe = re.sub(r"[^A-Za-z0-9:.-]+", "-", key)
    return f"% {', '.join(names)}\n@misc{{{safe},\n{listed}\n}}\n"
