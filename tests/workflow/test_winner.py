"""What is seen in the best method of one table, on a table whose answer is known."""

import numpy as np
import pandas as pd
import pytest

from adakern_bench.data import Table
from adakern_bench.records.split import save_splits
from adakern_bench.report.winner import MOST_COLUMNS, explain, explain_files

STANDARD = {"scale": "standard", "scale_target": "standard"}
SETTINGS = {"preparation": STANDARD, "seed": 0, "threads": 1, "fixed": []}
FOREST = "sklearn.ensemble.RandomForest"


NOISE = "noise_$_per_$"  # which is no mathematics


@pytest.fixture
def table(request, rng):
    """The target is of the size and the ward; `copy` repeats it, if it is there."""
    n, (task, leaks) = 200, request.param
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 3, n), rng.normal(size=n)])
    X[3, 0] = np.nan
    y = np.nan_to_num(X[:, 0]) + 2.0 * (X[:, 1] == 2)
    names, X = ["size", "ward", NOISE], np.column_stack([X, y]) if leaks else X
    y = np.where(y > 0.5, "ill", "well") if task == "classification" else y
    names += ["copy"] * leaks
    kinds = dict.fromkeys(names, "numeric") | {"ward": "categorical"}
    mixed = {"categories": {"ward": ["north", "south", "west"]}, "kinds": kinds}
    return Table(X=X, y=y, name="my-t", task=task, feature_names=names, **mixed)


@pytest.mark.parametrize(
    "table", [("classification", True), ("regression", False)], indirect=True, ids=str
)
def test_importances_dependences_and_columns_that_give_the_target_away(table):
    kind = "Classifier" if table.task == "classification" else "Regressor"
    settings = SETTINGS | {
        "estimator": {"_target_": f"{FOREST}{kind}", "n_estimators": 30}
    }
    rows = np.arange(200)
    figure, columns = explain("forest", table, rows[:140], rows[140:], settings, {}, 0)
    figure.draw_without_rendering()
    columns = columns.set_index("column")
    assert columns.index[-1] == NOISE or columns.loc[NOISE].iloc[0] < 0.05
    if table.task == "classification":
        assert columns.index[0] == "copy"
        assert columns["hint"].to_dict() == {
            "copy": "nearly gives the target away",
            **dict.fromkeys(["size", "ward", NOISE], ""),
        }
        assert figure.axes[0].get_title() == "Confusion matrix"
        assert figure.axes[1].get_title() == "Calibration"
    else:
        assert set(columns["hint"]) == {""}
        drawn = {axis.get_xlabel(): axis for axis in figure.axes}
        north, _, west = (bar.get_height() for bar in drawn["ward"].patches)
        assert west - north == pytest.approx(2, abs=0.5)
        rising = drawn["size"].lines[0].get_ydata()
        assert rising[-1] - rising[0] > 2


def test_the_flagship_is_calibrated_on_the_most_frequent_classes():
    y, X = np.repeat(list("dcba"), [70, 50, 30, 10]), np.arange(160.0)[:, None]
    table = Table(X, y, "my-t", "classification", ["x"], kinds={"x": "numeric"})
    estimator = {"_target_": "adakern.AdaptiveKernelClassifier", "preset": "fast"}
    settings = SETTINGS | {"estimator": estimator, "preparation": {"raw": True}}
    rows = np.arange(160)
    figure, _ = explain("adaptive", table, rows[::2], rows[1::2], settings, {}, 0)
    axis = figure.axes[1]
    assert axis.get_title() == "Calibration of the 3 most frequent classes"
    assert axis.get_legend_handles_labels()[1][-3:] == ["d", "c", "b"]


def test_a_table_of_many_columns_is_bounded(tmp_path, rng):
    X = rng.normal(size=(150, 300))
    names, y = [f"x{i}" for i in range(300)], X[:, 7] + 0.1 * rng.normal(size=150)
    table = Table(
        X, y, "my-wide", "regression", names, kinds=dict.fromkeys(names, "numeric")
    )
    estimator = {"_target_": "sklearn.linear_model.Ridge", "alpha": 1.0}
    settings, rows = SETTINGS | {"estimator": estimator}, np.arange(150)
    table.save(tmp_path / "t.npz")
    save_splits(tmp_path / "s.npz", [(rows[:100], rows[100:])])
    out = tmp_path / "f.svg", tmp_path / "c.csv"
    explain_files(
        "ridge", tmp_path / "t.npz", tmp_path / "s.npz", *out, settings, {}, 0
    )
    columns = pd.read_csv(out[1])
    assert len(columns) == MOST_COLUMNS and columns["column"][0] == "x7"
    assert out[0].read_text().count("<svg") == 1
