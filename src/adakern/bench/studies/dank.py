"""Studies of DANK: the figures of Liu et al. (JMLR 2020) and of its preprint."""

import time

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, SVR

from adakern.bench.studies.common import (
    SVM_GRID,
    axes_grid,
    fit_quietly,
    random_half,
    summarise,
    tuned_svm,
)
from adakern.dank import DANKClassifier, DANKRegressor

__all__ = [
    "boundary",
    "convergence",
    "convergence_table",
    "eta_sensitivity",
    "eta_sensitivity_table",
    "extensions",
    "extensions_table",
    "plot_boundary",
    "plot_convergence",
    "plot_eta_sensitivity",
    "plot_extensions",
    "plot_rank",
    "plot_synthetic",
    "synthetic",
    "synthetic_table",
]

#: eta as multiples of C^2 (preprint, figure 8).
MULTIPLES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)

METHODS = ("newton", "accelerated", "nesterov", "projected-gradient")

EXTENSIONS = {
    "reciprocal": {"extension": "reciprocal"},
    "1 neighbour": {"extension": "knn", "n_neighbors": 1},
    "5 neighbours": {"extension": "knn", "n_neighbors": 5},
    "nystrom": {"extension": "nystrom"},
    "hyperkernel": {"extension": "hyperkernel"},
    "none": {"extension": "none"},
}


def _like(svm, **parameters):
    """DANK with the kernel and C of a support vector machine, and the papers' rule."""
    options = {"extension": "reciprocal", **parameters}
    return DANKClassifier(C=svm.C, gamma=svm.gamma, **options)


def convergence(table, seed, *, methods=METHODS, max_iter=2000, tau=0.01, tol=1e-6):
    """JMLR, figure 4: objective, gap and step length of each method, by iteration.

    Parameters
    ----------
    table : adakern.datasets.Table
    seed : int
        Of the half that trains and of the folds that choose C and gamma.
    methods : sequence of str
        Values of ``DANKClassifier.method``.
    max_iter : int, default=2000
    tau, tol : float

    Returns
    -------
    pandas.DataFrame
        Columns: method, iteration, seconds (since the start), objective, gap (relative
        to the objective), step.
    """
    X, y, _, _ = random_half(table, seed)
    svm = tuned_svm(X, y)
    frames = []
    for method in methods:
        model = _like(svm, method=method, max_iter=max_iter, tau=tau, tol=tol)
        frame = pd.DataFrame(fit_quietly(model, X, y).history_)
        frame["seconds"] = frame["seconds"].cumsum()
        frame["gap"] /= frame["objective"].abs()
        frame.insert(0, "method", method)
        frame.insert(1, "iteration", np.arange(len(frame)))
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def plot_convergence(frame):
    """Distance to the best objective, relative gap and step length by iteration."""
    figure, axes = axes_grid(1, 3, width=4.2)
    best = frame.groupby("dataset")["objective"].transform("max")
    frame = frame.assign(distance=(best - frame["objective"]) / best.abs())
    titles = {
        "distance": "Below the best objective, relative",
        "gap": "Duality gap / objective",
        "step": "Length of the step",
    }
    for ax, (quantity, title) in zip(axes, titles.items(), strict=True):
        for method, curve in frame.groupby("method", sort=False):
            positive = curve[curve[quantity] > 0]
            x = positive["iteration"] + 1
            ax.loglog(x, positive[quantity], ".-", ms=3, label=method)
        ax.set(title=title, xlabel="iteration")
    axes[0].legend(fontsize=8)
    figure.suptitle(", ".join(frame["dataset"].unique()))
    return figure


def convergence_table(frame, *, near=1e-4):
    """What each method reached, and when it was within `near` of the best objective."""
    rows = []
    for dataset, part in frame.groupby("dataset", sort=False):
        best = part["objective"].max()
        for method, curve in part.groupby("method", sort=False):
            close = curve[best - curve["objective"] <= near * abs(best)]
            first = close.iloc[0] if len(close) else {}
            rows.append(
                {
                    "dataset": dataset,
                    "method": method,
                    "iterations": len(curve),
                    "seconds": curve["seconds"].iloc[-1],
                    "objective": curve["objective"].iloc[-1],
                    "relative_gap": curve["gap"].iloc[-1],
                    "iterations_to_near": first.get("iteration"),
                    "seconds_to_near": first.get("seconds"),
                    "near": near,
                }
            )
    return pd.DataFrame(rows)


def eta_sensitivity(table, seed, *, multiples=MULTIPLES, repeats=5, tau=0.01):
    """Preprint, figure 8: test accuracy and rank against eta.

    Returns
    -------
    pandas.DataFrame
        Columns: repeat, eta ("svm" or the multiple of C^2), accuracy, rank, svm (the
        accuracy of the support vector machine itself).
    """
    records = []
    for repeat in range(repeats):
        X, y, X_test, y_test = random_half(table, seed + repeat)
        svm = tuned_svm(X, y)
        for multiple in ("svm", *multiples):
            eta = multiple if multiple == "svm" else multiple * svm.C**2
            model = fit_quietly(_like(svm, eta=eta, tau=tau), X, y)
            records.append(
                {
                    "repeat": repeat,
                    "eta": str(multiple),
                    "accuracy": model.score(X_test, y_test),
                    "rank": float(np.mean(model.rank_)),
                    "svm": svm.score(X_test, y_test),
                }
            )
    return pd.DataFrame(records)


def plot_eta_sensitivity(frame):
    """Accuracy and rank against eta / C^2, the rule and the SVM as lines."""
    figure, axes = axes_grid(1, 2)
    rule = frame["eta"] == "svm"
    for k, (dataset, part) in enumerate(frame.groupby("dataset")):
        numeric = part[~rule].assign(eta=part["eta"][~rule].astype(float))
        means = numeric.groupby("eta")[["accuracy", "rank"]].mean()
        for ax, quantity in zip(axes, means, strict=True):
            ax.semilogx(
                means.index, means[quantity], "o-", color=f"C{k}", label=dataset
            )
            level = part[rule][quantity].mean()
            ax.axhline(level, color=f"C{k}", ls="--", lw=0.8)
        axes[0].axhline(part["svm"].mean(), color=f"C{k}", ls=":", lw=0.8)
    axes[0].set(ylabel="test accuracy", xlabel="eta / C²")
    axes[1].set(ylabel="rank of F", xlabel="eta / C²", yscale="log")
    axes[0].legend(fontsize=8, title="-- eta = |α|², ·· SVM", title_fontsize=8)
    return figure


def eta_sensitivity_table(frame):
    """Mean accuracy and rank by eta, with the accuracy of the SVM."""
    return summarise(frame, ["dataset", "eta"], ["accuracy", "rank", "svm"])


def boundary(table, seed, *, gammas=(0.5,), multiple=None, n_grid=80):
    """JMLR, figures 1 and 2: decision values over the plane and the entries of F.

    Parameters
    ----------
    gammas : sequence of float or "cv"
        Kernel widths to show; "cv" stands for the cross-validated one.
    multiple : float, default=None
        eta in units of C^2; None is the papers' rule.

    Returns
    -------
    pandas.DataFrame
        Columns: gamma, rank, kind ("train", "grid" or "factor"), x, y, label, svm,
        dank. For "factor", x and y are training rows sorted by class and dank is F.
    """
    X, y, _, _ = random_half(table, seed)
    tuned = tuned_svm(X, y)
    ticks = np.linspace(-0.05, 1.05, n_grid)
    plane = np.column_stack([axis.ravel() for axis in np.meshgrid(ticks, ticks)])
    order = np.argsort(y, kind="stable")
    frames = []
    for gamma in gammas:
        width = tuned.gamma if gamma == "cv" else gamma
        svm = SVC(C=tuned.C, gamma=width).fit(X, y)
        eta = "svm" if multiple is None else multiple * svm.C**2
        model = fit_quietly(_like(svm, eta=eta), X, y)
        F = (model.adaptive_factor_ @ model.adaptive_factor_.T)[np.ix_(order, order)]
        i, j = np.indices(F.shape)
        parts = [
            _plane_frame("train", X, svm, model).assign(label=y),
            _plane_frame("grid", plane, svm, model),
            pd.DataFrame(
                {"kind": "factor", "x": i.ravel(), "y": j.ravel(), "dank": F.ravel()}
            ),
        ]
        frames += [part.assign(gamma=width, rank=model.rank_) for part in parts]
    return pd.concat(frames, ignore_index=True)


def _plane_frame(kind, rows, svm, model):
    return pd.DataFrame(
        {
            "kind": kind,
            "x": rows[:, 0],
            "y": rows[:, 1],
            "svm": svm.decision_function(rows),
            "dank": model.decision_function(rows),
        }
    )


def plot_boundary(frame):
    """One row for each kernel width: both boundaries, and F as a picture."""
    gammas = frame["gamma"].unique()
    figure, axes = axes_grid(len(gammas), 2)
    axes = np.atleast_2d(axes)
    for (plane, heat), gamma in zip(axes, gammas, strict=True):
        part = frame[frame["gamma"] == gamma]
        rows = part[part["kind"] == "train"]
        plane.scatter(rows["x"], rows["y"], c=rows["label"], cmap="coolwarm", s=12)
        grid = part[part["kind"] == "grid"]
        for method, style in (("svm", "--"), ("dank", "-")):
            values = grid.pivot(index="y", columns="x", values=method)
            plane.contour(
                values.columns,
                values.index,
                values.to_numpy(),
                levels=[0.0],
                colors="k",
                linestyles=style,
            )
        plane.set_title(f"gamma = {gamma:.3g}; -- SVM, — DANK")
        entries = part[part["kind"] == "factor"]
        F = entries.pivot(index="x", columns="y", values="dank").to_numpy()
        figure.colorbar(heat.imshow(F, cmap="viridis"), ax=heat)
        heat.set_title(f"F, rows sorted by class; rank {part['rank'].iloc[0]}")
    return figure


def synthetic(table, seed, *, multiples=(None,), epsilon=0.01):
    """JMLR, figure 6: test functions recovered by SVR and by DANK.

    Every other row trains (the functions are noiseless and the rows are spread evenly),
    all rows are predicted. C and gamma are cross-validated on the SVR.

    Returns
    -------
    pandas.DataFrame
        Columns: x0 (and x1), y, method, prediction, train (bool), relative_mse (of the
        rows that did not train), rank.
    """
    rng = np.random.default_rng(seed)
    train = np.zeros(len(table.y), dtype=bool)
    train[rng.permutation(len(table.y))[: len(table.y) // 2]] = True
    low, high = table.X[train].min(axis=0), table.X[train].max(axis=0)
    X, y = (table.X - low) / (high - low), table.y
    centre, spread = y[train].mean(), y[train].std()
    target = (y - centre) / spread
    search = GridSearchCV(SVR(epsilon=epsilon), SVM_GRID, cv=5)
    svr = search.fit(X[train], target[train]).best_estimator_
    models = {"svr": svr}
    for multiple in multiples:
        eta = "svm" if multiple is None else multiple * svr.C**2
        name = "dank" if multiple is None else f"dank, eta = {multiple:g} C²"
        model = DANKRegressor(
            C=svr.C,
            gamma=svr.gamma,
            epsilon=epsilon,
            eta=eta,
            extension="reciprocal",
        )
        models[name] = fit_quietly(model, X[train], target[train])
    frames = []
    for name, model in models.items():
        prediction = model.predict(X) * spread + centre
        frame = pd.DataFrame({f"x{k}": column for k, column in enumerate(table.X.T)})
        frames.append(
            frame.assign(
                y=y,
                method=name,
                prediction=prediction,
                train=train,
                relative_mse=1 - r2_score(y[~train], prediction[~train]),
                rank=getattr(model, "rank_", np.nan),
            )
        )
    return pd.concat(frames, ignore_index=True)


def plot_synthetic(frame):
    """The function and its reconstructions; over a plane, as coloured points."""
    datasets = frame["dataset"].unique()
    methods = frame["method"].unique()
    figure, axes = axes_grid(len(datasets), len(methods), width=4.2)
    axes = np.asarray(axes).reshape(len(datasets), len(methods))
    for row, dataset in zip(axes, datasets, strict=True):
        for ax, method in zip(row, methods, strict=True):
            part = frame[(frame["dataset"] == dataset) & (frame["method"] == method)]
            if "x1" in part and part["x1"].notna().all():
                points = ax.scatter(part["x0"], part["x1"], c=part["prediction"], s=14)
                figure.colorbar(points, ax=ax)
            else:
                part = part.sort_values("x0")
                ax.plot(part["x0"], part["y"], "k:", lw=1)
                ax.plot(part["x0"], part["prediction"], "C3-", lw=1.2)
            error = part["relative_mse"].iloc[0]
            ax.set_title(f"{dataset}, {method}: {error:.4f}", fontsize=9)
    return figure


def synthetic_table(frame, published):
    """Relative squared error of each method, beside the paper's."""
    errors = frame.groupby(["dataset", "method"], sort=False)
    errors = errors[["relative_mse", "rank"]].first().reset_index()
    published = published.replace({"method": {"svr-cv": "svr"}})
    published = published.rename(columns={"mean": "published"})
    keys = ["dataset", "method"]
    return errors.merge(published[[*keys, "published"]], on=keys, how="left")


def extensions(
    table, seed, *, sizes=(100, 200, 300, 400, 500), n_test=2000, repeats=5, eta=0.1
):
    """Preprint, figure 7: accuracy and time of the out-of-sample extensions.

    Parameters
    ----------
    sizes : sequence of int
        Training rows, drawn at random.
    n_test : int, default=2000
        Test rows.
    eta : float or None, default=0.1
        In units of C^2 (the preprint's alternative); None is the papers' rule, under
        which F stays so near to one that the extensions hardly differ.

    Returns
    -------
    pandas.DataFrame
        Columns: repeat, size, extension ("svm" for the support vector machine),
        accuracy, seconds (of the prediction, with what the rule prepares for it).
    """
    records = []
    for repeat in range(repeats):
        rows = np.random.default_rng(seed + repeat).permutation(len(table.y))
        X_test, y_test = table.X[rows[-n_test:]], table.y[rows[-n_test:]]
        for size in sizes:
            X, y = table.X[rows[:size]], table.y[rows[:size]]
            svm = tuned_svm(X, y)
            scale = "svm" if eta is None else eta * svm.C**2
            models = {"svm": svm} | {
                name: fit_quietly(_like(svm, eta=scale, random_state=0, **rule), X, y)
                for name, rule in EXTENSIONS.items()
            }
            for name, model in models.items():
                start = time.perf_counter()
                accuracy = model.score(X_test, y_test)
                records.append(
                    {
                        "repeat": repeat,
                        "size": size,
                        "extension": name,
                        "accuracy": accuracy,
                        "seconds": time.perf_counter() - start,
                    }
                )
    return pd.DataFrame(records)


def plot_extensions(frame):
    """Mean accuracy with its standard deviation, and mean seconds, by training rows."""
    figure, (left, right) = axes_grid(1, 2)
    for name, part in frame.groupby("extension", sort=False):
        summary = part.groupby("size")[["accuracy", "seconds"]].agg(["mean", "std"])
        accuracy = summary["accuracy"]
        left.errorbar(summary.index, accuracy["mean"], accuracy["std"], label=name)
        right.semilogy(summary.index, summary["seconds"]["mean"], "o-", ms=3)
    left.set(xlabel="training rows", ylabel="test accuracy")
    right.set(xlabel="training rows", ylabel="seconds to predict")
    left.legend(fontsize=8)
    return figure


def extensions_table(frame):
    """Mean accuracy and seconds by training rows and extension."""
    return summarise(frame, ["dataset", "size", "extension"], ["accuracy", "seconds"])


def plot_rank(records):
    """Rank of F against tau from the records of a sweep, one curve for each set."""
    figure, ax = axes_grid(1, 1)
    records = records[records["rank"].notna()]
    tau = records["method"].str.extract(r"tau=([0-9.eE+-]+)", expand=False)
    records = records.assign(tau=tau.astype(float)).dropna(subset="tau")
    for dataset, part in records.groupby("dataset"):
        means = part.groupby("tau")["rank"].mean()
        ax.plot(means.index, means, "o-", ms=3, label=dataset)
    ax.set_xscale("symlog", linthresh=1e-3)
    ax.set(yscale="log", xlabel="tau", ylabel="rank of F")
    ax.legend(fontsize=7)
    return figure
