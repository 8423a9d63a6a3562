"""Plots of fitted adaptive estimators."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from adakern._utils.wording import count

#: Maximum number of features shown, by decreasing importance.
MAX_FEATURES = 20


def plot_adaptive(model, *, axes=None):
    """Plot the weights of the members and the feature importances.

    Needs matplotlib.

    Parameters
    ----------
    model : AdaptiveKernelRegressor or AdaptiveKernelClassifier
        Fitted estimator.
    axes : pair of matplotlib Axes, default=None
        Axes to draw on. If None, a new figure is created.

    Returns
    -------
    pair of matplotlib Axes
        Weights of members; importances of features.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from adakern.adaptive import AdaptiveKernelClassifier, plot_adaptive
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AdaptiveKernelClassifier(members=["linear", "rbf"], random_state=0)
    >>> left, right = plot_adaptive(model.fit(X, y))
    >>> right.get_xlabel()
    'permutation importance (share of the total increase in loss)'
    """
    check_is_fitted(model)
    if axes is None:
        from matplotlib import pyplot

        _, axes = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left, right = axes
    members = [m for m in model.members_ if not m.dropped][::-1]
    bars = left.barh([m.name for m in members], [m.weight for m in members])
    left.bar_label(bars, [f"{m.score:.3f}" for m in members], padding=3)
    left.set_xlabel("weight (labels: out-of-fold score)")
    left.margins(x=0.15)
    importances = model.feature_importances_
    names = getattr(
        model, "feature_names_in_", [f"feature {j}" for j in range(len(importances))]
    )
    shown = np.argsort(importances, kind="stable")[-MAX_FEATURES:]
    # Matplotlib would render text between two dollar signs as a formula.
    labels = [str(names[j]).replace("$", r"\$") for j in shown]
    right.barh(labels, importances[shown])
    right.set_xlabel("permutation importance (share of the total increase in loss)")
    return left, right


def plot_errors(model, X, y, axis):
    """Plot predicted against true values, or the reliability of probabilities."""
    y = np.asarray(y)
    if not hasattr(model, "classes_"):
        predicted = np.asarray(model.predict(X))
        axis.plot(predicted, y, ".")
        middle = np.nanmean(y)
        axis.axline((middle, middle), slope=1, color="0.5", ls="--")
        axis.set(xlabel="predicted", ylabel="true")
        return
    proba = np.asarray(model.predict_proba(X))
    sure = proba.max(axis=1)
    right = model.classes_[proba.argmax(axis=1)] == y
    parts = np.array_split(np.argsort(sure, kind="stable"), min(10, len(y)))
    means = [(sure[part].mean(), right[part].mean()) for part in parts]
    axis.plot(*np.transpose(means), "o")
    axis.axline((0.5, 0.5), slope=1, color="0.5", ls="--")
    axis.set(xlabel="probability of the predicted class", ylabel="accuracy")


def plot_explanation(explanation, row, label, axis):
    """Plot contributions of columns to one prediction, or to all if row is None."""
    values, base, predicted = explanation.of_class(label)
    if axis is None:
        from matplotlib import pyplot

        _, axis = pyplot.subplots(figsize=(7, 4), layout="constrained")
    what = "prediction" if explanation.classes is None else "probability of the class"
    size = np.abs(values).mean(axis=0) if row is None else np.abs(values[row])
    shown = np.argsort(size, kind="stable")[-MAX_FEATURES:]
    names = [str(explanation.names[j]) for j in shown]
    axis.axvline(0, color="0.5", lw=0.8)
    if row is None:
        for place, j in enumerate(shown):
            # Spread points of similar values, which would otherwise overlap.
            order = np.argsort(np.argsort(values[:, j], kind="stable"))
            shift = 0.3 * (order % 5 - 2) / 2
            axis.plot(values[:, j], place + shift, ".", color="#0072b2", alpha=0.6)
        axis.set_title(count(len(values), "row"))
    else:
        given = explanation.data[row]
        names = [
            f"{name} = {_shown(given[j])}" for name, j in zip(names, shown, strict=True)
        ]
        colours = np.where(values[row, shown] < 0, "#d55e00", "#0072b2")
        bars = axis.barh(range(len(shown)), values[row, shown], color=colours)
        axis.bar_label(bars, [f"{v:+.3g}" for v in values[row, shown]], padding=3)
        axis.margins(x=0.15)
        axis.set_title(f"mean {base[row]:.4g}, here {predicted[row]:.4g}")
    axis.set_yticks(range(len(shown)), names)
    axis.set_xlabel(f"contribution to the {what}")
    return axis


def _shown(cell):
    """Format a cell as a label."""
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)[:30]
