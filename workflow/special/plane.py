"""Decision values of binary classifiers over a plane, for the scripts of boundaries."""

import numpy as np
import pandas as pd

from shared import axes_grid

__all__ = [
    *("accuracies", "decision_values", "matrix_entries", "plot_boundaries"),
    "table_of_accuracies",
]


def decision_values(models, data, n_grid):
    """Decision values on training and test rows and on a grid of the unit square."""
    ticks = np.linspace(-0.1, 1.1, n_grid)
    plane = np.column_stack([axis.ravel() for axis in np.meshgrid(ticks, ticks)])
    positive = next(iter(models.values())).classes_[1]
    frames = []
    for kind, rows, labels in (
        ("train", data.X_train, 1.0 * (data.y_train == positive)),
        ("test", data.X_test, 1.0 * (data.y_test == positive)),
        ("grid", plane, np.nan),
    ):
        values = {name: model.decision_function(rows) for name, model in models.items()}
        places = {"kind": kind, "x": rows[:, 0], "y": rows[:, 1], "label": labels}
        frames.append(pd.DataFrame(places | values))
    return pd.concat(frames, ignore_index=True)


def matrix_entries(matrix, y, *, kind, model):
    """A matrix over the training rows, sorted by class: x, y and the entry."""
    order = np.argsort(y, kind="stable")
    i, j = np.indices(matrix.shape)
    entries = matrix[np.ix_(order, order)]
    return pd.DataFrame({"kind": kind, "x": i.ravel(), "y": j.ravel(), model: entries.ravel()})


def accuracies(frame, models):
    """Share of the training and test rows on the right side of each boundary."""
    rows = frame[frame["kind"].isin(["train", "test"])]
    return {
        f"{kind}_{model}": ((part[model] > 0) == (part["label"] == 1)).mean()
        for model in models
        for kind, part in rows.groupby("kind", sort=False)
    }


def plot_boundaries(frame, keys, styles, kind, titles):
    """Rows of two panels: the boundaries over the training rows, and a matrix over them.

    One row for each value of the `keys`; `titles` says of both what the last model is.
    """
    groups = frame.groupby(keys, sort=False)
    figure, axes = axes_grid(len(groups), 2)
    for (plane, heat), (names, part) in zip(np.atleast_2d(axes), groups, strict=True):
        draw_boundaries(plane, part, styles)
        draw_matrix(figure, heat, part, kind=kind, model=list(styles)[-1])
        for axis, title in zip((plane, heat), titles(part, *names), strict=True):
            axis.set_title(title, fontsize=9)
    return figure


def table_of_accuracies(frame, keys, styles):
    """Accuracies of the models, for each value of the `keys`."""
    groups = frame.groupby(keys, sort=False)
    return pd.DataFrame(
        [dict(zip(keys, names, strict=True)) | accuracies(part, styles) for names, part in groups]
    )


def draw_boundaries(axis, frame, styles):
    """Training rows and, for each model, the line of decision value zero."""
    rows = frame[frame["kind"] == "train"]
    axis.scatter(rows["x"], rows["y"], c=rows["label"], cmap="coolwarm", s=12)
    grid = frame[frame["kind"] == "grid"]
    for model, style in styles.items():
        values = grid.pivot(index="y", columns="x", values=model)
        places = (values.columns, values.index, values.to_numpy())
        axis.contour(*places, levels=[0.0], colors="k", linestyles=style)


def draw_matrix(figure, axis, frame, *, kind, model):
    """The entries of a matrix as a picture."""
    entries = frame[frame["kind"] == kind]
    matrix = entries.pivot(index="x", columns="y", values=model).to_numpy()
    figure.colorbar(axis.imshow(matrix, cmap="viridis"), ax=axis)
