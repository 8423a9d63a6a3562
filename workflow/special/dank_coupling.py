"""How much of the kernel a partition cuts: Q(pi) against the number of clusters."""

import numpy as np
import pandas as pd

from adakern.dank.papers import coupling
from adakern.dank.partition import partition
from adakern_bench.report.sweep import plot_lines


def compute(data, seed, *, clusters, gamma):
    """Q(pi) of k-means clusters, as a share of the sum of all |K_ij|."""
    X, kernel = data.X_train, {"kernel": "rbf", "gamma": gamma}
    of_all_rows = coupling(X, np.arange(len(X)), kernel, random_state=seed)
    cut = [coupling(X, partition(X, v, seed).labels, kernel, random_state=seed) for v in clusters]
    return pd.DataFrame({"clusters": clusters, "coupling": np.array(cut) / of_all_rows})


def plot(frame):
    """One line for each data set."""
    return plot_lines(frame, "clusters", "coupling", "dataset")


def table(frame):
    """As measured."""
    return frame[["dataset", "clusters", "coupling"]]
