"""The special computations for figures of the papers, on small data."""

from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons

from adakern.datasets import make_clowns, make_sin_2x3, make_step_1d
from adakern_bench.data.table import Table
from adakern_bench.records.prepare import prepare
from adakern_bench.records.split import load_split, make_splits
from adakern_bench.report.published import load_published
from project import REPOSITORY
from rules import Rules
from script import run_script

PUBLISHED = load_published(REPOSITORY / "data/published/dank_synthetic_regression.csv")


def make_table(X, y, task="classification"):
    names = [f"x{k}" for k in range(X.shape[1])]
    return Table(X=X, y=y, name="small", task=task, feature_names=names)


HOLDOUT = {
    "kind": "holdout",
    "repeats": 1,
    "test_size": 0.5,
    "n_splits": 2,
    "stratify": True,
}


def prepare_split(rows, **preparation):
    """The prepared split of the protocol."""
    ((train, test),) = make_splits(rows, **HOLDOUT, seed=0, published=False)
    return prepare(rows, train, test, **preparation)


CLOWNS = prepare_split(make_table(*make_clowns(n=100)))
MOONS = prepare_split(make_table(*make_moons(80, noise=0.3, random_state=0)))
STEP = prepare_split(
    make_table(*make_step_1d(n=80), "regression"), scale="unit", scale_target="standard"
)
SINE = prepare_split(
    make_table(*make_sin_2x3(400, 2.5), "regression"), scale="symmetric"
)


def run_compute(script, data, **params):
    return import_module(script).compute(data, 0, **params).assign(dataset="small")


@pytest.mark.parametrize(
    ("script", "data", "params"),
    [
        ("dank_boundary", CLOWNS, {"gammas": (0.5, "cv"), "n_grid": 5}),
        ("dank_bounds", CLOWNS, {"clusters": (2, 4)}),
        ("dank_convergence", CLOWNS, {"max_iter": 50}),
        ("dank_synthetic", STEP, {"multiples": (None, 0.1)}),
        ("knpl_boundary", MOONS, {"multiples": (1.0, 100.0), "n_grid": 5}),
        ("knpl_convergence", MOONS, {"multiples": (1.0,), "max_outer": 3}),
        ("lab_sine", SINE, {"support": 20}),
    ],
)
def test_special_computation_has_figure_and_table(script, data, params):
    module = import_module(script)
    frame = run_compute(script, data, **params)
    timed = frame.columns.intersection(["seconds"])
    again = run_compute(script, data, **params)
    pd.testing.assert_frame_equal(frame.drop(columns=timed), again.drop(columns=timed))
    assert all(axis.has_data() for axis in module.plot(frame).axes)
    if script == "dank_convergence":  # the objective increases
        for _, curve in frame.groupby("method"):
            assert curve["objective"].iloc[-1] >= curve["objective"].iloc[0]
            assert (curve["gap"] >= -1e-9).all()
    arguments = [PUBLISHED] if script == "dank_synthetic" else []
    rows = module.table(frame, *arguments)
    assert len(rows) and set(rows["dataset"]) == {"small"}


def test_special_computation_uses_rows_and_preparation_of_split(tmp_path, monkeypatch):
    rules = Rules(
        "experiment=dank_boundary", "protocol.test_size=0.25", "protocol.scale=none"
    )
    params = rules.params("special", special="dank_boundary")
    rows, stored, split = (
        make_table(*make_clowns(n=100)),
        tmp_path / "t.npz",
        tmp_path / "clowns.npz",
    )
    rows.save(stored)
    split_params = rules.params("split", dataset="clowns")
    run_script("split", {"table": stored}, {"split": split}, **split_params)
    calls = []

    def compute(data, seed, gammas):
        calls.append((data, seed, gammas))
        return pd.DataFrame({"n": [len(data.y_train)]})

    monkeypatch.setattr("dank_boundary.compute", compute)
    inputs, output = {"tables": [stored], "splits": [split]}, tmp_path / "frame.parquet"
    run_script("special", inputs, {"frame": output}, **params)
    assert pd.read_parquet(output).to_dict("records") == [
        {"n": 75, "dataset": "clowns"}
    ]
    ((data, seed, gammas),) = calls
    train, test = load_split(split, 0)
    np.testing.assert_array_equal(data.X_train, rows.X[train])
    np.testing.assert_array_equal(data.X_test, rows.X[test])
    assert (seed, gammas) == (0, [0.5, 100.0, "cv"])


def test_convergence_table_has_iterations_to_near_optimum():
    frame = pd.DataFrame(
        {
            "dataset": "small",
            "method": ["a", "a", "a", "b", "b"],
            "iteration": [0, 1, 2, 0, 1],
            "seconds": [0.1, 0.2, 0.3, 0.1, 0.2],
            "objective": [1.0, 9.9995, 10.0, 1.0, 5.0],
            "gap": [1.0, 0.1, 0.0, 1.0, 0.5],
        }
    )
    table = import_module("dank_convergence").table(frame).set_index("method")
    assert table.loc["a", "iterations_to_near"] == 1
    assert np.isnan(table.loc["b", "iterations_to_near"])
    assert table.loc["b", "relative_gap"] == 0.5


def test_dank_bounds_hold():
    frame = run_compute("dank_bounds", CLOWNS, clusters=(2, 5), C=2.0)
    objective = frame[frame["quantity"] == "objective"]
    assert (objective["measured"] <= objective["bound"]).all()
    assert (frame["between"] <= frame["total"]).all()


def test_synthetic_table_contains_published_error():
    frame = run_compute("dank_synthetic", STEP).assign(dataset="step-1d")
    table = import_module("dank_synthetic").table(frame, PUBLISHED).set_index("method")
    assert table.loc["dank", "published"] == 0.004
    held_out = frame[(frame["method"] == "dank") & ~frame["train"]]
    error = ((held_out["prediction"] - held_out["y"]) ** 2).mean() / held_out["y"].var(
        ddof=0
    )
    assert table.loc["dank", "relative_mse"] == pytest.approx(error)


def test_knpl_convergence_of_both_solvers():
    frame = run_compute("knpl_convergence", MOONS, multiples=[1.0, 1000.0], max_outer=3)
    assert set(frame["solver"]) == {"admm", "exact"}
    assert (frame["gap"].dropna() >= 0).all() and frame["residual"].notna().any()
    ends = import_module("knpl_convergence").table(frame).set_index("solver")
    assert (ends.loc["admm", "rounds"] <= 3).all()
    assert (ends.loc["exact", "gap"] <= 1e-3).all()
    labels = set(frame["line"])
    lines = import_module("knpl_convergence").plot(frame).axes[1].lines
    assert {line.get_label() for line in lines} == labels and len(labels) == 4


def test_knpl_boundary_contains_grid_and_layer():
    frame = run_compute("knpl_boundary", MOONS, multiples=[1.0, 100.0], n_grid=10)
    counts = frame["kind"].value_counts().to_dict()
    assert counts == {"matrix": 1600, "grid": 100, "train": 40, "test": 40}
    rows = frame[frame["kind"] == "train"]
    share = np.mean((rows["knpl"] > 0) == (rows["label"] == 1))
    assert share > 0.7
    assert import_module("knpl_boundary").table(frame)["train_knpl"].tolist() == [share]
    # The rows of the layer sum to the number of training rows.
    layer = frame[frame["kind"] == "matrix"]
    np.testing.assert_allclose(layer.groupby("x")["entry"].sum(), 40)


def test_lab_sine_reproduces_figure_1():
    rows = prepare_split(
        make_table(*make_sin_2x3(600, 2.5), "regression"), scale="symmetric"
    )
    frame = run_compute("lab_sine", rows, support=30)
    r2 = import_module("lab_sine").table(frame).set_index("model")["r2"]
    assert r2["local"] > 0.99
    assert r2["local"] > max(r2["global, gamma = 20"], r2["global, gamma = 100"])
    bandwidths = frame[frame["model"] == "bandwidth"]
    medians = bandwidths.groupby(bandwidths["x"] > 0)["value"].median()
    assert medians[True] > 1.5 * medians[False]


def spreadsheet_formulas(records):
    return pd.DataFrame({"=cmd|x": ["=1+1", "-", "plain"], "score": [-1.0, 2.0, 3.0]})


def test_table_cells_are_not_spreadsheet_formulas(tmp_path):
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "frame")
    view = {"function": f"{__name__}.spreadsheet_formulas", "params": {}}
    files = {"frame": tmp_path / "frame", "published": []}
    outputs = {"table": tmp_path / "t.csv"}
    run_script("summary_table", files, outputs, view=view, metric="accuracy")
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert lines == ["'=cmd|x,score", "'=1+1,-1", "-,2", "plain,3"]
