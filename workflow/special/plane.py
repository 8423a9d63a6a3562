"""Decision boundaries of binary classifiers in the plane, and a learned matrix."""

import numpy as np
import pandas as pd

from adakern_bench.report.figures import grid


def over_plane(models, matrix, data, n_grid):
    """Decision values on the rows and on a grid over the unit square, and a matrix.

    Rows and columns of the matrix are sorted by the class of the training rows; each
    entry is a row of the frame.
    """
    ticks = np.linspace(-0.1, 1.1, n_grid)
    square = np.column_stack([axis.ravel() for axis in np.meshgrid(ticks, ticks)])
    positive = np.unique(data.y_train)[1]
    order = np.argsort(data.y_train, kind="stable")
    entries = pd.DataFrame(matrix[np.ix_(order, order)]).stack()
    entries = entries.rename_axis(["x", "y"]).reset_index(name="entry")
    entries.insert(0, "kind", "matrix")
    frames = [entries]
    for kind, rows, labels in (
        ("train", data.X_train, 1.0 * (data.y_train == positive)),
        ("test", data.X_test, 1.0 * (data.y_test == positive)),
        ("grid", square, np.nan),
    ):
        values = {name: model.decision_function(rows) for name, model in models.items()}
        places = {"kind": kind, "x": rows[:, 0], "y": rows[:, 1], "label": labels}
        frames.append(pd.DataFrame(places | values))
    return pd.concat(frames, ignore_index=True)


def table_of_accuracies(frame, keys, method):
    """Training and test accuracy of the SVM and of the method, by the `keys`."""
    rows = frame[frame["kind"].isin(["train", "test"])]
    is_right = (rows[["svm", method]] > 0).eq(rows["label"] == 1, axis=0)
    keys = [rows[name] for name in [*keys, "kind"]]
    shares = is_right.groupby(keys, sort=False).mean().unstack(sort=False)
    shares.columns = [f"{kind}_{model}" for model, kind in shares.columns]
    return shares.reset_index()


def plot_boundaries(frame, keys, method, matrix_title):
    """Plot the boundaries of the SVM and of the method with the training rows, and the
    matrix, for each value of the `keys`.
    """
    styles = {"svm": "--", method: "-"}
    groups = frame.groupby(keys, sort=False)
    figure, axes = grid(len(groups), 2, 5.0, 3.8)
    lines = ", ".join(f"{style} {model}" for model, style in styles.items())
    for (plane, heat), (names, part) in zip(axes, groups, strict=True):
        rows = part[part["kind"] == "train"]
        square = part[part["kind"] == "grid"]
        plane.scatter(rows["x"], rows["y"], c=rows["label"], cmap="coolwarm", s=12)
        for model, style in styles.items():
            line = {"levels": [0.0], "colors": "k", "linestyles": style}
            plane.tricontour(square["x"], square["y"], square[model], **line)
        shown = [f"{key} = {name}" for key, name in zip(keys, names, strict=True)]
        plane.set_title(f"{', '.join(shown)} ({lines})")
        matrix = part[part["kind"] == "matrix"].pivot(
            index="x", columns="y", values="entry"
        )
        figure.colorbar(heat.imshow(matrix, cmap="viridis"), ax=heat)
        heat.grid(visible=False)
        heat.set_title(f"{matrix_title}, training rows by class")
    return figure
