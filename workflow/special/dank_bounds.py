"""Figure 5 of Liu et al. (JMLR 2020): the cost of a partition, and its bounds."""

import numpy as np
import pandas as pd
from sklearn.svm import SVC

from adakern.dank import DANKClassifier
from adakern.dank.objective import saddle_gradient, saddle_value
from adakern.dank.partition import partition
from adakern.kernels import gram_matrix
from adakern.svm.dual import classification_dual
from adakern_bench.report.figures import add_legend, grid
from dank_papers import between_clusters, partition_bounds, screened_rows
from shared import fit_quietly


def compute(data, seed, *, clusters=(2, 5, 10, 50, 100, 200), C=32.0, gamma=2.0):
    """Q(pi), the bounds and the quantities that they bound, by number of clusters."""
    X = data.X_train
    y = data.y_train
    K = gram_matrix(X, gamma=gamma)
    eta = float((SVC(C=C, gamma=gamma).fit(X, y).dual_coef_ ** 2).sum())
    signs = np.where(y == y.max(), 1.0, -1.0)
    dual = classification_dual(signs, C, fit_intercept=False)
    whole = _solve_on(K, y, C, eta)
    records = []
    for v in clusters:
        labels = partition(X, v, seed).labels
        K_bar = K * (labels[:, None] == labels)
        part = _solve_on(K_bar, y, C, eta)
        low = min(whole["F"].min(), part["F"].min())
        high = max(whole["F"].max(), part["F"].max())
        predicted = partition_bounds(K, labels, C, eta, low, high)
        alpha = np.abs(whole["d"])
        other = np.abs(part["d"])
        gradient = saddle_gradient(other, part["F"], K_bar, dual)
        facts = {
            "clusters": v,
            "between": between_clusters(K, labels),
            "total": np.abs(K).sum(),
            "screened": screened_rows(gradient, K, C, low, high).sum(),
            "non_support": (alpha == 0).sum(),
        }
        found = {
            "objective": abs(_h(K, whole, dual, eta) - _h(K, part, dual, eta)),
            "coefficients": ((alpha - other) ** 2).sum(),
            "factor": np.linalg.norm(whole["F"] - part["F"]),
        }
        for quantity, measured in found.items():
            measures = {"measured": measured, "bound": predicted[quantity]}
            records.append(facts | {"quantity": quantity} | measures)
    return pd.DataFrame(records)


def _solve_on(K, y, C, eta):
    """Dual coefficients d and matrix F of DANK without intercept and nuclear norm."""
    model = DANKClassifier(
        C=C, kernel="precomputed", eta=eta, tau=0.0, fit_intercept=False
    )
    fit_quietly(model, K, y)
    d = np.zeros(len(K))
    d[model.support_] = model.dual_coef_[0]
    return {"d": d, "F": model.adaptive_factor_ @ model.adaptive_factor_.T}


def _h(K, solution, dual, eta):
    return saddle_value(np.abs(solution["d"]), solution["F"], K, dual, eta, tau=0.0)


def plot(frame):
    """Plot Q(pi) with its limit, and each bound with the quantity that it bounds."""
    datasets = frame.groupby("dataset")
    figure, axes = grid(len(datasets), 4, 3.6, 3.8)
    for (first, *others), (dataset, part) in zip(axes, datasets, strict=True):
        first.plot(part["clusters"], part["between"], "o-")
        first.axhline(part["total"].iloc[0], ls=":")
        first.set(title=f"{dataset}: Q(π); rows screened: {part['screened'].max()}")
        parts = part.groupby("quantity", sort=False)
        for axis, (quantity, curve) in zip(others, parts, strict=True):
            axis.loglog(curve["clusters"], curve["measured"], "o-", label="measured")
            axis.loglog(curve["clusters"], curve["bound"], "^--", label="bound")
            axis.set_title(f"{dataset}: {quantity}")
    figure.supxlabel("clusters", fontsize=9)
    add_legend(figure)
    return figure


def table(frame):
    """Each bound, the quantity that it bounds, and their ratio."""
    frame = frame.assign(looseness=frame["bound"] / frame["measured"])
    keys = ["dataset", "clusters", "quantity", "measured", "bound", "looseness"]
    return frame[[*keys, "between", "total", "screened", "non_support"]]
