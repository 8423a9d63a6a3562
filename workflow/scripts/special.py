"""What the special computations share: how they are run, the tuned SVM, empty axes.

A special computation is no solve, such as the convergence of a solver or the entries of
a learned matrix, and is a script of this folder with three functions:

- ``compute(data, seed, **params)`` gives a DataFrame for one data set; ``data`` is the
  split of the protocol, prepared as for a solve, ``params`` stand in the experiment's file;
- ``plot(frame)`` gives the figure and ``table(frame)`` the table of all data sets, told
  apart by the column ``dataset``. A table with a parameter ``published`` gets the
  experiment's published numbers.
"""

import warnings
from inspect import signature
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from adakern._utils.files import atomic_path
from adakern.bench.report.figures import to_svg
from adakern.bench.report.published import load_published
from adakern.bench.stages.prepare import prepare
from adakern.bench.stages.split import load_split
from adakern.datasets import Table

__all__ = ["axes_grid", "fit_quietly", "run", "tuned"]

#: sigma and C in 2^-5, ..., 2^5, every other point, as for the experiments' SVM.
POWERS = range(-5, 6, 2)
GRID = {
    "C": [2.0**power for power in POWERS],
    "gamma": [1 / (2 * 4.0**power) for power in POWERS],
}


def run(snakemake, compute, plot, table):
    """The job: frame, figure and table of the experiment's data sets."""
    frame = compute_all(
        snakemake.input.tables,
        snakemake.input.splits,
        compute,
        threads=snakemake.threads,
        **{k: v for k, v in snakemake.params.settings.items() if k != "code"},
    )
    arguments = [frame]
    if "published" in signature(table).parameters:
        arguments += map(load_published, snakemake.input.published)
    with atomic_path(snakemake.output.frame) as path:
        frame.to_parquet(path, index=False)
    with atomic_path(snakemake.output.figure) as path:
        path.write_text(to_svg(plot(frame)), encoding="utf-8")
    with atomic_path(snakemake.output.table) as path:
        table(*arguments).to_csv(path, index=False, float_format="%.6g")


def compute_all(tables, splits, compute, *, preparation, seed, params, threads=1):
    """The frames of all data sets below each other."""
    frames = []
    with threadpool_limits(threads):
        for table, split in zip(tables, splits, strict=True):
            dataset = Path(split).stem
            rows = load_split(split, 0)
            data = prepare(Table.load(table), *rows, **preparation[dataset])
            frames.append(compute(data, seed, **params).assign(dataset=dataset))
    return pd.concat(frames, ignore_index=True)


def tuned(machine, X, y):
    """The support vector machine of the best C and gamma in five folds."""
    return GridSearchCV(machine, GRID, cv=5).fit(X, y).best_estimator_


def fit_quietly(model, X, y):
    """Fit where non-convergence is a result, not a surprise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def axes_grid(n_rows, n_columns, *, width=5.0, height=3.8):
    """A figure and its axes; width and height are those of one, in inches."""
    figure = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns)
