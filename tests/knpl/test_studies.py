import numpy as np
import pytest
from sklearn.datasets import make_moons

from adakern.bench.studies import knpl as study
from adakern.datasets import Table


@pytest.fixture
def table():
    X, y = make_moons(80, noise=0.3, random_state=0)
    return Table(X, y, "moons", "classification", ["a", "b"])


def test_convergence_follows_both_solvers(table):
    frame = study.convergence(table, seed=0, multiples=[1.0, 1000.0], max_outer=3)
    assert set(frame["solver"]) == {"admm", "exact"}
    assert set(frame["quantity"]) == {"residual", "objective", "gap"}
    assert (frame.query("quantity == 'gap'")["value"] >= 0).all()
    rounds = frame.query("solver == 'admm' and quantity == 'gap'")["iteration"]
    assert rounds.max() <= 3
    exact = frame.query("solver == 'exact' and quantity == 'gap'")
    assert (exact.groupby("multiple")["value"].last() <= 1e-3).all()
    figure = study.plot_convergence(frame.assign(dataset="moons"))
    assert len(figure.axes) == 3


def test_boundary_holds_the_plane_and_the_layer(table):
    frame = study.boundary(table, seed=0, multiples=[1.0, 100.0], n_grid=10)
    assert frame["kind"].value_counts().to_dict() == {
        "layer": 1600,
        "grid": 100,
        "train": 40,
        "test": 40,
    }
    rows = frame[frame["kind"] == "train"]
    assert np.mean((rows["knpl"] > 0) == (rows["label"] == 1)) > 0.7
    # The rows of the layer sum to the number of training rows.
    layer = frame[frame["kind"] == "layer"]
    np.testing.assert_allclose(layer.groupby("x")["knpl"].sum(), 40)
    figure = study.plot_boundary(frame.assign(dataset="moons"))
    assert len(figure.axes) == 3
