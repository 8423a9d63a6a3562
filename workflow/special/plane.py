"""Binary classifiers over a plane, and a matrix that one of them learned."""

import numpy as np
import pandas as pd

from adakern_bench.report.figures import grid

__all__ = ["accuracies", "over_plane", "plot_boundaries", "table_of_accuracies"]


def over_plane(models, matrix, data, n_grid):
    """Decision values on the rows and on a grid of the unit square, and a matrix.

    The matrix is over the training rows, sorted by class; a row of the frame is an entry.
    """
    ticks = np.linspace(-0.1, 1.1, n_grid)
    square = np.column_stack([axis.ravel() for axis in np.meshgrid(ticks, ticks)])
    positive = np.unique(data.y_train)[1]
    order = np.argsort(data.y_train, kind="stable")
    i, j = np.indices(matrix.shape)
    entries = {"x": i.ravel(), "y": j.ravel(), "entry": matrix[np.ix_(order, order)].ravel()}
    frames = [pd.DataFrame({"kind": "matrix"} | entries)]
    for kind, rows, labels in (
        ("train", data.X_train, 1.0 * (data.y_train == positive)),
        ("test", data.X_test, 1.0 * (data.y_test == positive)),
        ("grid", square, np.nan),
    ):
        values = {name: model.decision_function(rows) for name, model in models.items()}
        places = {"kind": kind, "x": rows[:, 0], "y": rows[:, 1], "label": labels}
        frames.append(pd.DataFrame(places | values))
    return pd.concat(frames, ignore_index=True)


def accuracies(frame, models):
    """Share of the training and test rows on the right side of each boundary."""
    return {
        f"{kind}_{model}": ((part[model] > 0) == (part["label"] == 1)).mean()
        for model in models
        for kind in ("train", "test")
        for part in [frame[frame["kind"] == kind]]
    }


def table_of_accuracies(frame, keys, models):
    """Accuracies of the models, for each value of the `keys`."""
    groups = frame.groupby(keys, sort=False)
    return pd.DataFrame(
        [dict(zip(keys, names, strict=True)) | accuracies(part, models) for names, part in groups]
    )


def plot_boundaries(frame, keys, styles, titles):
    """For each value of the `keys` the boundaries over the training rows, and the matrix."""
    groups = frame.groupby(keys, sort=False)
    figure, axes = grid(len(groups), 2, 5.0, 3.8)
    for (plane, heat), (names, part) in zip(axes, groups, strict=True):
        rows, square = part[part["kind"] == "train"], part[part["kind"] == "grid"]
        plane.scatter(rows["x"], rows["y"], c=rows["label"], cmap="coolwarm", s=12)
        for model, style in styles.items():
            line = {"levels": [0.0], "colors": "k", "linestyles": style}
            plane.tricontour(square["x"], square["y"], square[model], **line)
        entries = part[part["kind"] == "matrix"]
        matrix = entries.pivot(index="x", columns="y", values="entry")
        figure.colorbar(heat.imshow(matrix, cmap="viridis"), ax=heat)
        heat.grid(visible=False)
        for axis, title in zip((plane, heat), titles(part, *names), strict=True):
            axis.set_title(title)
    return figure
