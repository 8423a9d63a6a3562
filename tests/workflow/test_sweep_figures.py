"""The built-in figure and table of a sweep."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from adakern_bench.report.sweep import plot_sweep, sweep_table


def make_records(points, datasets=("heart",), **columns):
    """Two repeats for each point ``(method, swept, accuracy)``."""
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
    defaults = {"task": "classification", "status": "ok", "rank": 3.0}
    return pd.DataFrame(rows).assign(**defaults | columns)


SWEPT = {"svm": 0.6, "0.1": 0.4, "10": 0.5}
ETA = make_records(
    [("svm-cv", {}, 0.7), *((f"dank@eta={v}", {"eta": v}, s) for v, s in SWEPT.items())]
)


def lines_by_label(axis):
    """Label -> (x, y)."""
    return {line.get_label(): [*map(list, line.get_data())] for line in axis.lines}


def test_numeric_points_are_a_line_and_others_are_levels():
    upper, lower = plot_sweep(ETA, x="eta", y=["accuracy", "rank"], log=["rank"]).axes
    lines = lines_by_label(upper)
    x, y = lines["dank"]
    assert x == [0.1, 10] and y == pytest.approx([45, 55]), "means, in per cent"
    assert lines["dank, svm"][1] == pytest.approx([65, 65])
    assert lines["svm-cv"][1] == pytest.approx([75, 75])
    assert upper.get_xscale() == "log" and upper.get_yscale() == "linear"
    assert lower.get_yscale() == "log" and upper.get_title() == "heart"


def test_integer_axis_is_a_line():
    """A column without missing values, such as train_rows, has an integer dtype."""
    points = [(f"dank@train_rows={n}", {"train_rows": n}, n / 1000) for n in (100, 400)]
    runs = make_records(points).astype({"sweep_train_rows": "Int64"})
    ((x, y),) = lines_by_label(plot_sweep(runs, x="train_rows").axes[0]).values()
    assert x == [100, 400] and y == pytest.approx([15, 45])
    both = plot_sweep(runs, x=["train_rows", "n_centers"])  # no method has centres
    assert lines_by_label(both.axes[0]) == lines_by_label(
        plot_sweep(runs, x="train_rows").axes[0]
    )


def test_failed_runs_are_excluded():
    failed = ETA["method"].eq("dank@eta=10") & ETA["repeat"].eq(1)
    partly = ETA.assign(status=np.where(failed, "failed", "ok"))
    _, y = lines_by_label(plot_sweep(partly, x="eta").axes[0])["dank"]
    assert y == pytest.approx([45, 50])
    table = sweep_table(partly, y="accuracy").set_index(["method", "eta"])
    assert table.loc[("dank", "10"), "n"] == 1


@pytest.mark.parametrize(
    ("taus", "scale"), [((0, 0.5), "linear"), ((0, 0.001, 1), "symlog")]
)
def test_one_method_on_several_data_sets_is_one_panel(taus, scale):
    points = [(f"dank@tau={tau}", {"tau": tau}, 0.5) for tau in taus]
    (axis,) = plot_sweep(make_records(points, ("heart", "sonar")), x="tau").axes
    assert (
        set(lines_by_label(axis)) == {"heart", "sonar"} and axis.get_title() == "dank"
    )
    assert axis.get_xscale() == scale, "zero and a wide range share an axis"


def test_several_parameters_on_one_axis_and_train_rows():
    points = [("lab@max_support=20", {"max_support": 20}, 0.5)]
    points += [("falkon@n_centers=20", {"n_centers": 20}, 0.4)]
    figure = plot_sweep(make_records(points), x=["max_support", "n_centers"])
    assert set(lines_by_label(figure.axes[0])) == {"lab", "falkon"}
    sizes = make_records([("svm", {"train_rows": n}, 0.5) for n in (50, 100)])
    sizes["dataset"] += "@train_rows=" + sizes["sweep_train_rows"].astype(str)
    ((x, _),) = lines_by_label(plot_sweep(sizes, x="train_rows").axes[0]).values()
    assert x == [50, 100]


def test_sweep_table_has_means_sorted_numerically():
    table = sweep_table(ETA, y=["accuracy"])
    assert list(table["eta"].fillna("-")) == ["0.1", "10", "svm", "-"]
    assert list(table.columns[3:]) == ["n", "accuracy_mean", "accuracy_std"]
    row = table.set_index(["method", "eta"]).loc[("dank", "0.1")]
    assert row["accuracy_mean"] == pytest.approx(0.45)
    assert row["accuracy_std"] == pytest.approx(0.1 / np.sqrt(2))
    points = [(f"dank@eta={eta}", {"eta": eta}, 0.5) for eta in ("10", "2", "1e-05")]
    assert list(sweep_table(make_records(points))["eta"]) == ["1e-05", "2", "10"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": "tau"}, "there is no sweep over 'tau'; swept are eta"),
        ({"x": "eta", "y": "speed"}, "the records have no quantity 'speed'"),
    ],
)
def test_invalid_name_raises(arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_sweep(ETA, **arguments)
