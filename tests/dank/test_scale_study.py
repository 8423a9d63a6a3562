"""The studies of scale, on small data."""

import numpy as np
import pandas as pd
import pytest

from adakern.bench.studies.scale import (
    clusters,
    exponents,
    plot_clusters,
    plot_rows,
    rows,
)
from adakern.datasets import Table, make_covtype_like


@pytest.fixture(scope="module")
def table():
    X, y = make_covtype_like(n=700)
    names = [str(k) for k in range(54)]
    return Table(X, y, "rows", "classification", names)


def test_rows_measures_every_size_and_method(table):
    frame = rows(
        table, 0, sizes=[200, 400, 9999], C=1.0, gamma=0.5, rows_per_cluster=100
    )
    assert sorted(frame["n"].unique()) == [200, 400, 560]
    assert set(frame["method"]) == {"svc", "decomposed", "whole"}
    assert (frame["status"] == "ok").all()
    assert (frame["seconds"] > 0).all()
    figure = plot_rows(frame.assign(dataset="rows"))
    assert len(figure.axes) == 2
    assert figure.axes[0].get_lines()


def test_a_method_beyond_the_limit_is_left_out(table):
    options = {"C": 1.0, "gamma": 0.5, "methods": ("svc",), "time_limit": 0.0}
    frame = rows(table, 0, sizes=[200, 400], **options)
    assert frame["status"].tolist() == ["timeout"]
    assert len(exponents(frame.assign(dataset="rows", seconds=np.nan))) == 0


def test_exponents_of_a_power_law():
    n = np.array([1000, 10_000, 20_000, 40_000])
    frame = pd.DataFrame(
        {
            "dataset": "law",
            "method": "svc",
            "n": n,
            "status": "ok",
            "seconds": 3e-9 * n**2.0,
            "peak_bytes": 800.0 * n,
        }
    )
    frame.loc[0, "seconds"] = 5.0  # Start-up: left out of the fit.
    found = exponents(frame).set_index("quantity")
    assert found.loc["seconds", "exponent"] == pytest.approx(2.0)
    assert found.loc["peak_bytes", "exponent"] == pytest.approx(1.0)
    assert found.loc["seconds", "smallest"] == 10_000


def test_clusters_cut_more_of_the_kernel_the_more_there_are(table):
    frame = clusters(table, 0, n_rows=400, numbers=[1, 4, 16], C=1.0, gamma=0.5)
    line = frame[frame["method"] == "decomposed"]
    assert line["n_clusters"].tolist() == [1, 4, 16]
    assert line["coupling"].iloc[0] == 0
    assert line["coupling"].is_monotonic_increasing
    assert line["coupling"].iloc[-1] < 1
    figure = plot_clusters(frame.assign(dataset="rows"))
    assert len(figure.axes) == 3
