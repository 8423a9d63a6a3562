"""Studies of the pairwise layer: figures 2 and 3 of Liu et al. (AAAI 2018)."""

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV

from adakern.bench.studies.common import fit_quietly, random_half, tuned_svm
from adakern.knpl import KNPLClassifier

__all__ = ["boundary", "convergence", "plot_boundary", "plot_convergence"]

#: reg as multiples of C^2.
MULTIPLES = (0.1, 1.0, 10.0, 100.0, 1000.0)


def convergence(table, seed, *, multiples=MULTIPLES, max_outer=10, max_inner=15):
    """Both algorithms of the paper round by round, beside the exact ascent.

    C and gamma are those of the cross-validated SVM on a random half of the rows.

    Parameters
    ----------
    table : adakern.datasets.Table
    seed : int
        Of the half and of the folds.
    multiples : sequence of float
        Values of reg, in units of C^2.
    max_outer, max_inner : int
        Limits of algorithms 2 and 1, the paper's by default.

    Returns
    -------
    pandas.DataFrame
        Columns: quantity ("residual" of algorithm 1 in the first round, "objective" or
        relative "gap" of a round), solver, multiple, iteration, value.
    """
    X, y, _, _ = random_half(table, seed)
    svm = tuned_svm(X, y)
    records = []
    for multiple in multiples:
        for solver in ("admm", "exact"):
            model = _knpl(
                svm, multiple, solver=solver, max_outer=max_outer, max_inner=max_inner
            )
            history = fit_quietly(model, X, y).history_
            # Less the constant reg n^2 that the layer G = 11' costs.
            objective = np.array(history["objective"]) - model.reg * len(y) ** 2
            quantities = {
                "objective": objective,
                "gap": np.array(history["gap"]) / np.abs(objective),
                "residual": history.get("inner_residuals", [[]])[0],
            }
            records += [
                {
                    "quantity": quantity,
                    "solver": solver,
                    "multiple": multiple,
                    "iteration": iteration,
                    "value": value,
                }
                for quantity, values in quantities.items()
                for iteration, value in enumerate(values, start=1)
            ]
    return pd.DataFrame(records)


def plot_convergence(frame):
    """Figure 3: residuals of algorithm 1, objective and gap of the outer rounds."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4), layout="constrained")
    axes = figure.subplots(1, 3)
    titles = {
        "residual": "Algorithm 1: Diff, first round",
        "objective": "Objective, less reg n²",
        "gap": "Saddle gap / |objective|",
    }
    colours = {m: f"C{k}" for k, m in enumerate(sorted(frame["multiple"].unique()))}
    for ax, (quantity, title) in zip(axes, titles.items(), strict=True):
        part = frame[frame["quantity"] == quantity]
        groups = part.groupby(["dataset", "solver", "multiple"])
        for (_, solver, multiple), curve in groups:
            ax.plot(
                curve["iteration"],
                curve["value"],
                "o--" if solver == "admm" else "-",
                ms=3,
                color=colours[multiple],
                label=f"{solver}, reg = {multiple:g} C²",
            )
        ax.set(title=title, xlabel="iteration")
        if quantity == "objective":
            ax.set_yscale("symlog")
        else:
            ax.set_yscale("log")
        if quantity != "residual":
            ax.set_xscale("log")
    axes[2].legend(fontsize=7)
    figure.suptitle(", ".join(frame["dataset"].unique()))
    return figure


def boundary(table, seed, *, multiples=MULTIPLES, n_grid=80):
    """Decision values of the tuned SVM and of KNPL over the plane, and the layer G.

    Parameters
    ----------
    table : adakern.datasets.Table
        Two features, two classes.
    seed : int
        Of the half that trains and of the folds.
    multiples : sequence of float
        Values of reg, in units of C^2, of which cross-validation takes one.
    n_grid : int, default=80
        Points of the grid along each axis.

    Returns
    -------
    pandas.DataFrame
        Columns: kind ("train", "test", "grid" or "layer"), x, y, label, svm, knpl. For
        "layer", x and y are training rows sorted by class and knpl is the entry of G.
    """
    X, y, X_test, y_test = random_half(table, seed)
    svm = tuned_svm(X, y)
    grid = {"reg": [multiple * svm.C**2 for multiple in multiples]}
    search = GridSearchCV(_knpl(svm, 1.0), grid, cv=5)
    knpl = fit_quietly(search, X, y).best_estimator_
    ticks = np.linspace(-0.1, 1.1, n_grid)
    plane = np.column_stack([axis.ravel() for axis in np.meshgrid(ticks, ticks)])
    frames = []
    for kind, rows, labels in (
        ("train", X, y),
        ("test", X_test, y_test),
        ("grid", plane, np.full(len(plane), np.nan)),
    ):
        frames.append(
            pd.DataFrame(
                {
                    "kind": kind,
                    "x": rows[:, 0],
                    "y": rows[:, 1],
                    "label": np.searchsorted(knpl.classes_, labels)
                    if kind != "grid"
                    else labels,
                    "svm": svm.decision_function(rows),
                    "knpl": knpl.decision_function(rows),
                }
            )
        )
    order = np.argsort(y, kind="stable")
    layer = knpl.pairwise_layer_[np.ix_(order, order)]
    i, j = np.indices(layer.shape)
    frames.append(
        pd.DataFrame(
            {"kind": "layer", "x": i.ravel(), "y": j.ravel(), "knpl": layer.ravel()}
        )
    )
    return pd.concat(frames, ignore_index=True)


def plot_boundary(frame):
    """Figure 2: both boundaries over the training rows, and the entries of G."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.8), layout="constrained")
    plane, heat = figure.subplots(1, 2)
    rows = frame[frame["kind"] == "train"]
    for label, marker, colour in ((0, "x", "tab:red"), (1, "*", "tab:green")):
        part = rows[rows["label"] == label]
        plane.scatter(part["x"], part["y"], marker=marker, color=colour, s=25)
    grid = frame[frame["kind"] == "grid"]
    for method, style, colour in (("svm", "--", "k"), ("knpl", "-", "tab:blue")):
        values = grid.pivot(index="y", columns="x", values=method)
        plane.contour(
            values.columns,
            values.index,
            values.to_numpy(),
            levels=[0.0],
            linestyles=style,
            colors=colour,
        )
    shares = {
        (kind, method): np.mean((part[method] > 0) == (part["label"] == 1))
        for kind, part in frame.groupby("kind")
        if kind in ("train", "test")
        for method in ("svm", "knpl")
    }
    plane.set_title(
        "\n".join(
            f"{name}: {shares['train', method]:.1%} training, "
            f"{shares['test', method]:.1%} test accuracy"
            for name, method in (("SVM (dashed)", "svm"), ("KNPL (solid)", "knpl"))
        ),
        fontsize=9,
    )
    layer = frame[frame["kind"] == "layer"]
    size = int(layer["x"].max()) + 1
    image = heat.imshow(layer["knpl"].to_numpy().reshape(size, size))
    figure.colorbar(image, ax=heat)
    heat.set(title="Pairwise layer G, training rows by class")
    return figure


def _knpl(svm, multiple, **params):
    return KNPLClassifier(C=svm.C, gamma=svm.gamma, reg=multiple * svm.C**2, **params)
