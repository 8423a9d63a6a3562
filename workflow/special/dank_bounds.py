"""Figure 5 of Liu et al. (JMLR 2020): what a partition costs, and what bounds say."""

import numpy as np
import pandas as pd
from sklearn.svm import SVC

from adakern.dank import DANKClassifier
from adakern.dank.objective import saddle_gradient, saddle_value
from adakern.dank.papers import between_clusters, partition_bounds, screened_rows
from adakern.dank.partition import partition
from adakern.kernels import gram_matrix
from adakern.svm.dual import classification_dual
from shared import axes_grid, fit_quietly


def compute(data, seed, *, clusters=(2, 5, 10, 50, 100, 200), C=32.0, gamma=2.0):
    """JMLR, figure 5: Q(pi), the bounds and what they bound, against the clusters."""
    X, y = data.X_train, data.y_train
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
        alpha, other = np.abs(whole["d"]), np.abs(part["d"])
        gradient = saddle_gradient(other, part["F"], K_bar, dual)
        facts = {
            "clusters": v,
            "between": between_clusters(K, labels),
            "total": np.abs(K).sum(),
            "screened": screened_rows(gradient, K, C, low, high).sum(),
            "non_support": (alpha == 0).sum(),
        }
        loss = abs(_h(K, whole, dual, eta) - _h(K, part, dual, eta))
        moved = np.linalg.norm(whole["F"] - part["F"])
        for quantity, measured, bound in (
            ("objective", loss, predicted.objective),
            ("coefficients", ((alpha - other) ** 2).sum(), predicted.coefficients_printed),
            ("factor", moved, predicted.factor_printed),
        ):
            records.append(facts | {"quantity": quantity, "measured": measured, "bound": bound})
    return pd.DataFrame(records)


def _solve_on(K, y, C, eta):
    """DANK without intercept and nuclear norm on a Gram matrix: d and F."""
    model = DANKClassifier(C=C, kernel="precomputed", eta=eta, tau=0.0, fit_intercept=False)
    fit_quietly(model, K, y)
    d = np.zeros(len(K))
    d[model.support_] = model.dual_coef_[0]
    return {"d": d, "F": model.adaptive_factor_ @ model.adaptive_factor_.T}


def _h(K, solution, dual, eta):
    return saddle_value(np.abs(solution["d"]), solution["F"], K, dual, eta, tau=0.0)


def plot(frame):
    """Q(pi) against its limit, and each bound beside what it bounds."""
    figure, axes = axes_grid(1, 4, width=3.6)
    for k, (dataset, part) in enumerate(frame.groupby("dataset")):
        first = part[part["quantity"] == "objective"]
        axes[0].plot(first["clusters"], first["between"], f"C{k}o-", label=dataset)
        axes[0].axhline(first["total"].iloc[0], color=f"C{k}", ls=":")
        for ax, (quantity, curve) in zip(
            axes[1:], part.groupby("quantity", sort=False), strict=True
        ):
            ax.loglog(curve["clusters"], curve["measured"], f"C{k}o-")
            ax.loglog(curve["clusters"], curve["bound"], f"C{k}^--")
            ax.set(title=f"{quantity}: — measured, -- bound", xlabel="clusters")
    screened = frame.groupby("dataset")["screened"].max()
    axes[0].set(title=f"Q(π); rows screened: {int(screened.max())}", xlabel="clusters")
    axes[0].legend(fontsize=8)
    return figure


def table(frame):
    """Each bound, what it bounds, and how loose it is."""
    frame = frame.assign(looseness=frame["bound"] / frame["measured"])
    keys = ["dataset", "clusters", "quantity", "measured", "bound", "looseness"]
    return frame[[*keys, "between", "total", "screened", "non_support"]]
