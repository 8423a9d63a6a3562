"""Studies of Nyström kernel selection: how close its criterion is, and what it costs.

Figure 1 of Ding et al. (2019), with further samplers, with tests and with the accuracy
of the kernel that each of them selects.
"""

import time
import tracemalloc
from itertools import product

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import train_test_split

from adakern.bench.stages.prepare import prepare
from adakern.evaluation import compare_methods
from adakern.nystrom import NystromKernelSelector

__all__ = [
    "consistency",
    "cost",
    "paired_tests",
    "plot_consistency",
    "plot_cost",
    "summary",
]

#: The paper's seven ways to approximate, then those added here.
SAMPLINGS = (
    "optimal",
    "uniform",
    "column-norm",
    "leverage",
    "adaptive-deshpande",
    "adaptive-kumar",
    "adaptive-criterion",
    "ridge-leverage",
    "rpcholesky",
    "greedy-criterion",
)

#: What is compared at equal numbers of columns; "optimal" draws none.
SAMPLERS = SAMPLINGS[1:]

#: What is tested against the others, and by which scores: whether greater is better.
CRITERION_DRIVEN = ("greedy-criterion", "adaptive-criterion")
SCORES = {"distance": False, "test_accuracy": True}

GAMMAS = tuple(2.0**e for e in range(-10, 3))


def consistency(
    table,
    seed,
    *,
    runs=10,
    test_size=0.2,
    scale="symmetric",
    gammas=GAMMAS,
    samplings=SAMPLINGS,
    **selector_params,
):
    """Exact and approximate criterion of a binary data set, for each gamma and run.

    Every run splits the rows anew. Curves and columns are those of the training part
    (the paper uses all rows, but then none is left to test the selected kernel on);
    the test accuracy is that of kernel ridge regression on the whole training part
    with the selected gamma and alpha = mu l. Of a data set with a published test file
    only the rows of its training file take part (the paper names the set alone).

    Parameters
    ----------
    table : adakern.datasets.Table
    seed : int
        Run r uses ``seed + r`` for its split and its columns.
    runs : int, default=10
    test_size : float, default=0.2
    scale : str, default="symmetric"
        See :func:`adakern.bench.stages.prepare.prepare`.
    gammas : sequence of float, default=2^-10, ..., 2^2
    samplings : sequence of str
        Values of ``NystromKernelSelector(sampling=...)``.
    **selector_params
        Further parameters of :class:`adakern.NystromKernelSelector`.

    Returns
    -------
    DataFrame
        One row per run, sampling and gamma: criterion, exact, and, the same for every
        gamma, the selected gamma, its test accuracy and the sizes of the parts.
    """
    rows = np.arange(len(table.y))
    if table.test_rows is not None:
        rows = np.setdiff1d(rows, table.test_rows)
    frames = []
    for run in range(runs):
        train, test = train_test_split(
            rows,
            test_size=test_size,
            stratify=table.y[rows],
            random_state=seed + run,
        )
        data = prepare(table, train, test, scale=scale)
        fitted = {
            sampling: NystromKernelSelector(
                param_grid={"gamma": list(gammas)},
                sampling=sampling,
                random_state=seed + run,
                **selector_params,
            ).fit(data.X_train, data.y_train)
            for sampling in ("exact", *samplings)
        }
        frames.append(_curves(fitted, data, gammas).assign(run=run))
    return pd.concat(frames, ignore_index=True)


def _curves(fitted, data, gammas):
    accuracies = {}
    parts = []
    for sampling, selector in fitted.items():
        gamma = selector.best_params_["gamma"]
        if gamma not in accuracies:
            accuracies[gamma] = _test_accuracy(data, gamma, selector.ridge)
        parts.append(
            pd.DataFrame(
                {
                    "sampling": sampling,
                    "gamma": gammas,
                    "criterion": selector.criterion_,
                    "exact": fitted["exact"].criterion_,
                    "selected_gamma": gamma,
                    "test_accuracy": accuracies[gamma],
                    "n_train": len(data.X_train),
                    "n_test": len(data.X_test),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def _test_accuracy(data, gamma, ridge):
    positive = data.y_train == np.unique(data.y_train)[1]
    alpha = ridge * len(positive)
    model = KernelRidge(kernel="rbf", gamma=gamma, alpha=alpha)
    model.fit(data.X_train, np.where(positive, 1.0, -1.0))
    decided = model.predict(data.X_test) > 0
    return np.mean(decided == (data.y_test == np.unique(data.y_train)[1]))


def _per_run(frame):
    """One row per data set, sampling and run, with the mean distance to the exact."""
    return (
        frame.assign(distance=frame["criterion"] - frame["exact"])
        .groupby(["dataset", "sampling", "run"], sort=False)
        .agg(
            distance=("distance", "mean"),
            selected_gamma=("selected_gamma", "first"),
            test_accuracy=("test_accuracy", "first"),
            n_train=("n_train", "first"),
            n_test=("n_test", "first"),
        )
        .reset_index()
    )


def summary(frame):
    """Mean distance, selected gamma (median) and test accuracy over the runs.

    Parameters
    ----------
    frame : DataFrame
        Stacked frames of :func:`consistency` with a column "dataset".

    Returns
    -------
    DataFrame
        One row per data set and sampling. ``same_gamma`` is the share of the runs in
        which the exact criterion selects the same gamma; ``closest`` marks the sampler
        with the smallest mean distance on the data set.
    """
    runs = _per_run(frame)
    exact = runs[runs["sampling"] == "exact"].set_index(["dataset", "run"])
    keys = pd.MultiIndex.from_frame(runs[["dataset", "run"]])
    exact_gamma = exact["selected_gamma"].reindex(keys).to_numpy()
    runs["same_gamma"] = runs["selected_gamma"].to_numpy() == exact_gamma
    table = (
        runs.groupby(["dataset", "sampling"], sort=False)
        .agg(
            distance=("distance", "mean"),
            distance_std=("distance", "std"),
            selected_gamma=("selected_gamma", "median"),
            same_gamma=("same_gamma", "mean"),
            test_accuracy=("test_accuracy", "mean"),
        )
        .reset_index()
    )
    drawn = table["distance"].where(table["sampling"].isin(SAMPLERS))
    table["closest"] = drawn == drawn.groupby(table["dataset"]).transform("min")
    return table


def paired_tests(frame):
    """Paired t-tests of the two criterion-driven samplers against every other.

    Parameters
    ----------
    frame : DataFrame
        As in :func:`summary`.

    Returns
    -------
    DataFrame
        One row per data set, score (distance or test accuracy), sampling and other.
        ``difference`` is the sampling's score minus the other's; the corrected p-value
        allows for training parts that overlap between runs.
    """
    rows = []
    for dataset, part in _per_run(frame).groupby("dataset", sort=False):
        sizes = {key: part[key].iloc[0] for key in ("n_train", "n_test")}
        for score, greater_is_better in SCORES.items():
            scores = part.pivot(index="run", columns="sampling", values=score)
            for sampling, other in product(CRITERION_DRIVEN, scores.columns):
                if other == sampling:
                    continue
                (pair,) = compare_methods(
                    scores[[sampling, other]],
                    greater_is_better=greater_is_better,
                    **sizes,
                )
                rows.append(
                    {
                        "dataset": dataset,
                        "score": score,
                        "sampling": sampling,
                        "other": other,
                        "difference": pair.difference,
                        "pvalue": pair.pvalue,
                        "corrected_pvalue": pair.corrected_pvalue,
                        "winner": pair.winner,
                    }
                )
    return pd.DataFrame(rows)


def plot_consistency(frame):
    """Criterion against gamma, one panel for each data set, and the table below.

    Lines are means over the runs, bands one standard deviation.

    Parameters
    ----------
    frame : DataFrame
        Stacked frames of :func:`consistency` with a column "dataset".

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    datasets = frame["dataset"].unique()
    n_rows = -(-len(datasets) // 3)
    heights = [4 * n_rows, 1 + 0.4 * len(datasets)]
    figure = Figure(figsize=(15, sum(heights)), layout="constrained")
    curves, table = figure.subfigures(2, 1, height_ratios=heights)
    axes = curves.subplots(n_rows, 3, squeeze=False).ravel()
    for axis, dataset in zip(axes, datasets, strict=False):
        _draw_curves(axis, frame[frame["dataset"] == dataset])
        axis.set(title=dataset, xlabel="gamma", ylabel="criterion")
    for axis in axes[len(datasets) :]:
        axis.set_axis_off()
    handles, labels = axes[0].get_legend_handles_labels()
    curves.legend(handles, labels, loc="outside upper center", ncols=6)
    _draw_table(table.subplots(), summary(frame))
    return figure


def _draw_curves(axis, frame):
    from matplotlib import colormaps

    colours = colormaps["tab10"].colors
    for sampling, part in frame.groupby("sampling", sort=False):
        curve = part.groupby("gamma")["criterion"].agg(["mean", "std"]).fillna(0)
        exact = sampling == "exact"
        colour = "black" if exact else colours[SAMPLINGS.index(sampling)]
        axis.plot(
            curve.index,
            curve["mean"],
            color=colour,
            linewidth=2 if exact else 1,
            label=sampling,
        )
        low, high = curve["mean"] - curve["std"], curve["mean"] + curve["std"]
        axis.fill_between(curve.index, low, high, color=colour, alpha=0.12, linewidth=0)
    axis.set_xscale("log", base=2)


def _draw_table(axis, table):
    """Distance, selected gamma and accuracy; the closest sampler is shaded."""
    axis.set_axis_off()
    axis.set_title(
        "Mean distance to the exact criterion | median selected gamma | test accuracy,"
        " % (shaded: the closest sampler)"
    )
    table = table.set_index(["dataset", "sampling"])
    datasets = table.index.unique("dataset")
    samplings = [s for s in ("exact", *SAMPLINGS) if s in table.index.unique(1)]
    text, colours = [], []
    for dataset in datasets:
        rows = table.loc[dataset].reindex(samplings)
        text.append(
            [
                f"{row.distance:.3g} | {row.selected_gamma:.3g} | "
                f"{100 * row.test_accuracy:.1f}"
                for row in rows.itertuples()
            ]
        )
        colours.append(["lightgreen" if best else "white" for best in rows["closest"]])
    drawn = axis.table(
        text,
        rowLabels=list(datasets),
        colLabels=samplings,
        cellColours=colours,
        loc="upper center",
    )
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(6)
    drawn.scale(1, 1.6)


def cost(
    table,
    seed,
    *,
    rows=(1024, 2048, 4096),
    fractions=(0.05, 0.1, 0.2),
    samplings=("exact", *SAMPLERS),
    gammas=(0.01, 0.1, 1.0),
    n_features=20,
):
    """Seconds and peak memory of a selection against l and c.

    Parameters
    ----------
    table : None
        The data are generated: two classes in ``n_features`` dimensions.
    seed : int
    rows : sequence of int
        The values of l.
    fractions : sequence of float
        The values of c / l.
    samplings : sequence of str
    gammas : sequence of float
        Candidates of each selection.
    n_features : int, default=20

    Returns
    -------
    DataFrame
        One row per l, c and sampling: ``seconds`` per candidate and ``peak_bytes`` of
        the selection. "exact" is measured once for each l.
    """
    records = []
    for l in rows:
        X, y = make_classification(l, n_features, random_state=seed)
        for fraction in fractions:
            for sampling in samplings:
                if sampling == "exact" and fraction != fractions[0]:
                    continue
                selector = NystromKernelSelector(
                    param_grid={"gamma": list(gammas)},
                    sampling=sampling,
                    n_columns=fraction,
                    random_state=seed,
                )
                seconds, peak = _measure(selector, X, y)
                records.append(
                    {
                        "l": l,
                        "c": round(fraction * l),
                        "fraction": fraction,
                        "sampling": sampling,
                        "seconds": seconds / len(gammas),
                        "peak_bytes": peak,
                    }
                )
    return pd.DataFrame(records)


def _measure(selector, X, y):
    """Seconds of a fit, then the peak bytes of another (tracing slows it down)."""
    start = time.perf_counter()
    selector.fit(X, y)
    seconds = time.perf_counter() - start
    tracemalloc.start()
    try:
        selector.fit(X, y)
        return seconds, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def plot_cost(frame):
    """Time and memory against l, one column of panels for each c / l.

    Parameters
    ----------
    frame : DataFrame
        Of :func:`cost`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    fractions = sorted(frame["fraction"].unique())
    figure = Figure(figsize=(5 * len(fractions), 9), layout="constrained")
    axes = figure.subplots(2, len(fractions), squeeze=False, sharex=True, sharey="row")
    exact = frame[frame["sampling"] == "exact"]
    for (time_axis, memory_axis), fraction in zip(axes.T, fractions, strict=True):
        chosen = (frame["fraction"] == fraction) & (frame["sampling"] != "exact")
        for sampling, part in frame[chosen].groupby("sampling", sort=False):
            time_axis.loglog(part["l"], part["seconds"], "o-", label=sampling)
            memory_axis.loglog(part["l"], part["peak_bytes"] / 2**20, "o-")
        time_axis.loglog(exact["l"], exact["seconds"], "ko--", label="exact")
        memory_axis.loglog(exact["l"], exact["peak_bytes"] / 2**20, "ko--")
        time_axis.set(title=f"c = {fraction:g} l", ylabel="s per candidate kernel")
        memory_axis.set(xlabel="l (rows)", ylabel="peak memory, MiB")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=5)
    return figure
