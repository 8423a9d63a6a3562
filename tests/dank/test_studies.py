"""The studies behind the papers' figures, on small tables."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from adakern.bench.report.published import load_published
from adakern.bench.studies import dank, dank_bounds
from adakern.datasets import make_clowns, make_step_1d
from adakern.datasets.table import Table


def table(X, y, task):
    names = [f"x{k}" for k in range(X.shape[1])]
    return Table(X=X, y=y, name="small", task=task, feature_names=names)


CLOWNS = table(*make_clowns(n=100), "classification")
PUBLISHED = load_published(
    Path(__file__).parents[2] / "data/published/dank_synthetic_regression.csv"
)
STEP = table(*make_step_1d(n=60), "regression")


def _module(name):
    return dank_bounds if name == "bounds" else dank


@pytest.mark.parametrize(
    ("study", "data", "params"),
    [
        ("convergence", CLOWNS, {"max_iter": 20}),
        ("eta_sensitivity", CLOWNS, {"repeats": 1, "multiples": (0.1,)}),
        ("boundary", CLOWNS, {"gammas": (0.5, "cv"), "n_grid": 5}),
        ("synthetic", STEP, {"multiples": (None, 0.1)}),
        ("extensions", CLOWNS, {"sizes": (40,), "n_test": 30, "repeats": 1}),
        ("bounds", CLOWNS, {"n_rows": 60, "clusters": (2, 4)}),
    ],
)
def test_study_gives_a_frame_that_its_figure_shows(study, data, params):
    frame = getattr(_module(study), study)(data, 0, **params)
    again = getattr(_module(study), study)(data, 0, **params)
    timed = frame.columns.intersection(["seconds"])
    pd.testing.assert_frame_equal(frame.drop(columns=timed), again.drop(columns=timed))
    figure = getattr(_module(study), f"plot_{study}")(frame.assign(dataset="small"))
    assert all(ax.has_data() for ax in figure.axes)


def test_convergence_table_tells_who_came_near_the_best_and_when():
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
    table = dank.convergence_table(frame).set_index("method")
    assert table.loc["a", "iterations_to_near"] == 1
    assert np.isnan(table.loc["b", "iterations_to_near"])
    assert table.loc["b", "relative_gap"] == 0.5


def test_synthetic_table_puts_the_published_error_beside_ours():
    frame = dank.synthetic(STEP, 0).assign(dataset="step-1d")
    table = dank.synthetic_table(frame, PUBLISHED).set_index("method")
    assert table.loc["dank", "published"] == 0.004
    one = frame[frame["method"] == "dank"]
    assert table.loc["dank", "relative_mse"] == one["relative_mse"].iloc[0]


def test_repeats_are_condensed_to_mean_and_deviation():
    frame = pd.DataFrame(
        {"dataset": "a", "eta": ["1", "1"], "accuracy": [0.5, 0.7], "rank": 2, "svm": 1}
    )
    (row,) = dank.eta_sensitivity_table(frame).to_dict("records")
    assert row["accuracy_mean"] == pytest.approx(0.6)
    assert row["accuracy_std"] == pytest.approx(np.sqrt(0.02))


def test_convergence_of_every_method_is_an_ascent_from_its_start():
    frame = dank.convergence(CLOWNS, 0, max_iter=50)
    for _, curve in frame.groupby("method"):
        assert curve["objective"].iloc[-1] >= curve["objective"].iloc[0]
        assert (curve["gap"] >= -1e-9).all()


def test_bounds_bound_what_they_claim():
    frame = dank_bounds.bounds(CLOWNS, 0, n_rows=80, clusters=(2, 5), C=2.0)
    objective = frame[frame["quantity"] == "objective"]
    assert (objective["measured"] <= objective["bound"]).all()
    assert (frame["between"] <= frame["total"]).all()


def test_rank_is_drawn_for_each_set():
    records = pd.DataFrame(
        {
            "dataset": np.repeat(["heart", "sonar"], 3),
            "method": ["dank@tau=0", "dank@tau=0.01", "svm-cv"] * 2,
            "rank": [50.0, 5.0, np.nan] * 2,
        }
    )
    (ax,) = dank.plot_rank(records).axes
    assert [list(line.get_ydata()) for line in ax.lines] == [[50, 5], [50, 5]]
