"""Studies of DANK at scale: what grows with the rows, and with the clusters."""

import time

import numpy as np
import pandas as pd
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from adakern.bench.runtime.isolate import isolated
from adakern.bench.stages.prepare import prepare
from adakern.dank import DANKClassifier
from adakern.dank.theory import coupling

__all__ = ["clusters", "exponents", "plot_clusters", "plot_rows", "rows"]

#: Test rows at most: enough for the accuracy, and prediction is not what is studied.
MAX_TEST = 20_000


def rows(
    table,
    seed,
    *,
    sizes,
    C,
    gamma,
    scale="unit",
    rows_per_cluster=1000,
    time_limit=600.0,
    methods=("svc", "decomposed", "whole"),
):
    """Time, memory and accuracy of each method on growing parts of the rows.

    Parameters
    ----------
    table : adakern.datasets.Table
    seed : int
    sizes : sequence of int
        Numbers of training rows; those that the data do not have are cut to what they
        have, once.
    C, gamma : float
        Of every method.
    scale : str, default="unit"
        See :func:`adakern.bench.stages.prepare.prepare`.
    rows_per_cluster : int, default=1000
    time_limit : float, default=600
        Seconds of one fit. A method that exceeds it is left out from there on.
    methods : sequence of {"svc", "exact", "decomposed", "whole"}

    Returns
    -------
    DataFrame
        One row per size and method: seconds, peak_bytes, accuracy, n_support, status.
    """
    data = _parts(table, seed, scale)
    available = len(data.y_train)
    outcomes, given_up = [], set()
    for size in sorted({min(size, available) for size in sizes}):
        for method in methods:
            if method in given_up:
                continue
            n_clusters = max(1, round(size / rows_per_cluster))
            model = _model(method, C, gamma, n_clusters)
            outcome = isolated(_fit, model, data, size, time_limit=time_limit)
            if outcome.status != "ok":
                given_up.add(method)
            measured = outcome.value or {}
            outcomes.append(
                {
                    "n": size,
                    "method": method,
                    "status": outcome.status,
                    "peak_bytes": outcome.peak_memory_bytes,
                    "n_clusters": n_clusters,
                    **measured,
                }
            )
    return pd.DataFrame(outcomes)


def clusters(table, seed, *, n_rows, numbers, C, gamma, scale="unit"):
    """Q(pi), time and test accuracy against the number of clusters.

    Parameters
    ----------
    table : adakern.datasets.Table
    seed : int
    n_rows : int
        Training rows at most.
    numbers : sequence of int
        Numbers of clusters.
    C, gamma : float
    scale : str, default="unit"
        See :func:`adakern.bench.stages.prepare.prepare`.

    Returns
    -------
    DataFrame
        One row per number: coupling (Q(pi) as a share of the sum of all |k|),
        accuracy, seconds, objective. The rows "svc" and "whole" have one cluster.
    """
    data = _parts(table, seed, scale)
    X = data.X_train[:n_rows]
    kernel = {"kernel": "rbf", "gamma": gamma}
    everything = coupling(X, np.arange(len(X)), kernel, random_state=seed)
    outcomes = []
    for method, number in [("svc", 1), ("whole", 10)] + [
        ("decomposed", number) for number in numbers
    ]:
        model = _model(method, C, gamma, number)
        measured = _fit(model, data, n_rows)
        if method == "decomposed":
            labels = model.machines_[0].partition.labels
            number = int(labels.max()) + 1
            between = coupling(X, labels, kernel, random_state=seed)
            measured |= {
                "coupling": between / everything,
                "objective": model.objective_,
                "rank": model.rank_,
            }
        outcomes.append({"method": method, "n_clusters": number, **measured})
    return pd.DataFrame(outcomes)


def _parts(table, seed, scale):
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(table.y))
    if table.test_rows is None:
        n_test = min(MAX_TEST, len(order) // 5)
        test, train = order[:n_test], order[n_test:]
    else:
        test = rng.permutation(table.test_rows)[:MAX_TEST]
        train = np.setdiff1d(order, table.test_rows)
        train = rng.permutation(train)
    return prepare(table, train, test, scale=scale)


def _model(method, C, gamma, n_clusters):
    if method == "svc":
        return SVC(C=C, gamma=gamma)
    options = {} if method == "exact" else {"n_clusters": n_clusters, "n_jobs": 2}
    return DANKClassifier(C=C, gamma=gamma, strategy=method, random_state=0, **options)


def _fit(model, data, size):
    # One thread, so that times compare; and a pool of OpenMP threads that the parent
    # has started does not survive the fork: the child would wait for them forever.
    with threadpool_limits(1):
        start = time.perf_counter()
        model.fit(data.X_train[:size], data.y_train[:size])
        seconds = time.perf_counter() - start
        return {
            "seconds": seconds,
            "accuracy": model.score(data.X_test, data.y_test),
            "n_support": len(model.support_),
        }


def exponents(frame):
    """Fitted growth ``quantity = c n^p`` of each method, by least squares on the logs.

    Parameters
    ----------
    frame : DataFrame
        Of :func:`rows`.

    Returns
    -------
    DataFrame
        dataset, method, quantity, exponent p, and the sizes it was fitted on: those
        from 10,000 rows on where there are two or more, since small fits are all
        start-up.
    """
    found = []
    done = frame[frame["status"] == "ok"]
    for (dataset, method), part in done.groupby(["dataset", "method"], sort=False):
        large = part[part["n"] >= 10_000]
        part = large if len(large) > 1 else part
        for quantity in ("seconds", "peak_bytes"):
            positive = part[part[quantity] > 0]
            if len(positive) < 2:
                continue
            slope = np.polyfit(np.log(positive["n"]), np.log(positive[quantity]), 1)[0]
            found.append(
                {
                    "dataset": dataset,
                    "method": method,
                    "quantity": quantity,
                    "exponent": slope,
                    "smallest": int(positive["n"].min()),
                    "largest": int(positive["n"].max()),
                }
            )
    return pd.DataFrame(found)


def plot_rows(frame):
    """Time and memory against the rows, with the fitted exponents in the legend.

    Parameters
    ----------
    frame : DataFrame
        Of :func:`rows`, with a column ``dataset``.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    names = list(frame["dataset"].unique())
    fitted = exponents(frame)
    if len(fitted):
        fitted = fitted.set_index(["dataset", "method", "quantity"])["exponent"]
    figure = Figure(figsize=(5 * len(names), 8), layout="constrained")
    axes = figure.subplots(2, len(names), squeeze=False, sharex=True, sharey="row")
    units = (("seconds", 1, "s"), ("peak_bytes", 2**20, "MiB"))
    for column, name in enumerate(names):
        part = frame[(frame["dataset"] == name) & (frame["status"] == "ok")]
        for row, (quantity, unit, label) in enumerate(units):
            axis = axes[row, column]
            for method, line in part.groupby("method", sort=False):
                power = fitted.get((name, method, quantity))
                text = method if power is None else f"{method}, n^{power:.2f}"
                axis.loglog(line["n"], line[quantity] / unit, "o-", label=text)
            axis.set(
                xlabel="training rows", ylabel=f"{quantity.split('_')[0]}, {label}"
            )
            axis.legend()
        axes[0, column].set_title(name)
    return figure


def plot_clusters(frame):
    """Q(pi), accuracy and time against the number of clusters.

    Parameters
    ----------
    frame : DataFrame
        Of :func:`clusters`, with a column ``dataset``.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4), layout="constrained")
    axes = figure.subplots(1, 3)
    labels = ("Q(π), share of all pairs", "test accuracy", "fit, s")
    for axis, quantity, label in zip(
        axes, ("coupling", "accuracy", "seconds"), labels, strict=True
    ):
        for number, (name, part) in enumerate(frame.groupby("dataset", sort=False)):
            line = part[part["method"] == "decomposed"]
            color = f"C{number}"
            axis.semilogx(
                line["n_clusters"], line[quantity], "o-", color=color, label=name
            )
            for method, style in (("svc", ":"), ("whole", "--")):
                level = part.loc[part["method"] == method, quantity]
                if quantity != "coupling" and len(level):
                    axis.axhline(
                        level.iloc[0], ls=style, color=color, label=f"{name}, {method}"
                    )
        axis.set(xlabel="clusters", ylabel=label)
    axes[1].legend(fontsize="small")
    return figure
