"""The studies of LAB RBF, on data small enough for a test."""

import pytest
from sklearn.exceptions import ConvergenceWarning

pytest.importorskip("pandas")
pytest.importorskip("matplotlib")

from adakern.bench.studies.lab import (
    plot_sine,
    plot_support,
    sine,
    sine_table,
    support,
    support_table,
)
from adakern.datasets import Table, make_sin_2x3


def test_sine_is_figure_1():
    frame = sine(None, 0, rows=300, support=30, high=2.5)
    r2 = frame.groupby("model").r2.first()
    assert r2["local"] > 0.99
    assert r2["local"] > r2["global, gamma = 20"]
    assert r2["local"] > r2["global, gamma = 100"]
    bandwidths = frame[frame.model == "bandwidth"]
    slow = bandwidths[bandwidths.x < 1.25].value.median()
    fast = bandwidths[bandwidths.x > 1.25].value.median()
    assert fast > 1.5 * slow
    assert len(plot_sine(frame).axes) == 4
    assert sine_table(frame)["r2"].tolist() == r2[sine_table(frame)["model"]].tolist()


@pytest.mark.filterwarnings("ignore", category=ConvergenceWarning)
def test_support_compares_the_methods_at_equal_size():
    X, y = make_sin_2x3(200, 2.5)
    table = Table(X, y, "chirp", "regression", ["x"])
    frame = support(table, 0, sizes=[30, 500], repeats=1)
    assert set(frame.method) == {"lab-rbf", "lab-ard", "falkon", "rbf-krr"}
    assert set(frame[frame.method == "falkon"].n_support) == {30}
    assert set(frame[frame.method == "rbf-krr"].n_support) == {160}
    r2 = frame.set_index(["method", "n_support"]).r2
    assert r2["lab-rbf", 30] > r2["falkon", 30]
    frame = frame.assign(dataset="chirp")
    assert len(support_table(frame)) == 4
    figure = plot_support(frame)
    assert len(figure.axes) == 1
    assert len(figure.axes[0].get_legend().get_texts()) == 4
