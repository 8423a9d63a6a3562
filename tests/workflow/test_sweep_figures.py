"""The built-in figure and tables of a sweep, on records made by hand."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from adakern_bench.report.sweep import plot_sweep, sweep_table


def records(points, datasets=("heart",), **columns):
    """Two repeats of each point: ``(method, swept, accuracy)``."""
    rows = []
    for dataset, (method, swept, accuracy), repeat in product(
        datasets, points, range(2)
    ):
        row = {
            "dataset": dataset,
            "base_dataset": dataset,
            "method": method,
            "repeat": repeat,
        }
        row |= {
            "base_method": method.partition("@")[0],
            "test_accuracy": accuracy + 0.1 * repeat,
        }
        rows.append(row | {f"sweep_{axis}": value for axis, value in swept.items()})
    told = {"task": "classification", "status": "ok", "rank": 3.0}
    return pd.DataFrame(rows).assign(**told | columns)


SWEPT = {"svm": 0.6, "0.1": 0.4, "10": 0.5}
ETA = records(
    [("svm-cv", {}, 0.7), *((f"dank@eta={v}", {"eta": v}, s) for v, s in SWEPT.items())]
)


def lines(axis):
    """Label -> (x, y)."""
    return {line.get_label(): [*map(list, line.get_data())] for line in axis.lines}


def test_numbers_are_a_line_and_what_has_none_is_a_level():
    upper, lower = plot_sweep(ETA, x="eta", y=["accuracy", "rank"], log=["rank"]).axes
    drawn = lines(upper)
    x, y = drawn["dank"]
    assert x == [0.1, 10] and y == pytest.approx([45, 55]), "means, in per cent"
    assert drawn["dank, svm"][1] == pytest.approx([65, 65])
    assert drawn["svm-cv"][1] == pytest.approx([75, 75])
    assert upper.get_xscale() == "log" and upper.get_yscale() == "linear"
    assert lower.get_yscale() == "log" and upper.get_title() == "heart"


def test_whole_numbers_that_every_solve_has_are_a_line():
    """A column without a gap, as of training rows, comes as whole numbers."""
    points = [(f"dank@train_rows={n}", {"train_rows": n}, n / 1000) for n in (100, 400)]
    solves = records(points).astype({"sweep_train_rows": "Int64"})
    ((x, y),) = lines(plot_sweep(solves, x="train_rows").axes[0]).values()
    assert x == [100, 400] and y == pytest.approx([15, 45])
    both = plot_sweep(solves, x=["train_rows", "n_centers"])  # no method has centres
    assert lines(both.axes[0]) == lines(plot_sweep(solves, x="train_rows").axes[0])


def test_failed_solves_are_left_out():
    failed = ETA["method"].eq("dank@eta=10") & ETA["repeat"].eq(1)
    partly = ETA.assign(status=np.where(failed, "failed", "ok"))
    _, y = lines(plot_sweep(partly, x="eta").axes[0])["dank"]
    assert y == pytest.approx([45, 50])
    table = sweep_table(partly, y="accuracy").set_index(["method", "eta"])
    assert table.loc[("dank", "10"), "n"] == 1


@pytest.mark.parametrize(
    ("taus", "scale"), [((0, 0.5), "linear"), ((0, 0.001, 1), "symlog")]
)
def test_one_method_on_several_sets_shares_a_panel(taus, scale):
    points = [(f"dank@tau={tau}", {"tau": tau}, 0.5) for tau in taus]
    (axis,) = plot_sweep(records(points, ("heart", "sonar")), x="tau").axes
    assert set(lines(axis)) == {"heart", "sonar"} and axis.get_title() == "dank"
    assert axis.get_xscale() == scale, "zero and a wide range share an axis"


def test_axes_of_one_meaning_and_sizes_of_the_training_part():
    points = [("lab@max_support=20", {"max_support": 20}, 0.5)]
    points += [("falkon@n_centers=20", {"n_centers": 20}, 0.4)]
    figure = plot_sweep(records(points), x=["max_support", "n_centers"])
    assert set(lines(figure.axes[0])) == {"lab", "falkon"}
    sizes = records([("svm", {"train_rows": n}, 0.5) for n in (50, 100)])
    sizes["dataset"] += "@train_rows=" + sizes["sweep_train_rows"].astype(str)
    ((x, _),) = lines(plot_sweep(sizes, x="train_rows").axes[0]).values()
    assert x == [50, 100]


def test_table_has_mean_and_deviation_at_each_point_in_the_order_of_numbers():
    table = sweep_table(ETA, y=["accuracy"])
    assert list(table["eta"].fillna("-")) == ["0.1", "10", "svm", "-"]
    assert list(table.columns[3:]) == ["n", "accuracy_mean", "accuracy_std"]
    found = table.set_index(["method", "eta"]).loc[("dank", "0.1")]
    assert found["accuracy_mean"] == pytest.approx(0.45)
    assert found["accuracy_std"] == pytest.approx(0.1 / np.sqrt(2))
    points = [(f"dank@eta={eta}", {"eta": eta}, 0.5) for eta in ("10", "2", "1e-05")]
    assert list(sweep_table(records(points))["eta"]) == ["1e-05", "2", "10"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"x": "tau"}, "there is no sweep over 'tau'; swept are eta"),
        ({"x": "eta", "y": "speed"}, "the records have no quantity 'speed'"),
    ],
)
def test_a_wrong_name_says_what_there_is(arguments, words):
    with pytest.raises(ValueError, match=words):
        plot_sweep(ETA, **arguments)
