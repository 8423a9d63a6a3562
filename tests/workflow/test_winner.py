"""Explanations of the best method, on tables with a known answer."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from adakern_bench.data.table import Table
from adakern_bench.records.prepare import Prepared
from adakern_bench.records.read import to_frame
from adakern_bench.records.split import save_splits
from adakern_bench.report import winner
from adakern_bench.report.winner import (
    MOST_COLUMNS,
    Best,
    explain,
    explain_files,
    fitted,
)
from adakern_bench.report.winner_figures import _draw_coverage
from record_factory import failed
from script import run_script

STANDARD = {"scale": "standard", "scale_target": "standard"}
SETTINGS = {"preparation": STANDARD, "seed": 0, "threads": 1, "fixed": []}
SETTINGS |= {"validates_from": None}
FOREST = "sklearn.ensemble.RandomForest"


NOISE = "noise_$_per_$"  # not to be parsed as mathematics


@pytest.fixture
def table(request, rng):
    """The target depends on `size` and `ward`; `copy`, if present, repeats it."""
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
def test_importances_dependence_and_leaking_columns(table):
    kind = "Classifier" if table.task == "classification" else "Regressor"
    settings = SETTINGS | {
        "estimator": {"_target_": f"{FOREST}{kind}", "n_estimators": 30}
    }
    rows = np.arange(200)
    figures, columns = explain("forest", table, rows[:140], rows[140:], settings, {}, 0)
    for figure, caption in figures.values():
        figure.draw_without_rendering()
        assert caption.endswith(".")
    columns = columns.set_index("column")
    # Table and figure have the same unit: accuracy is in percent.
    (axis,) = figures["7_columns"][0].axes
    assert axis.get_xlabel() == columns.columns[0]
    widths = [bar.get_width() for bar in axis.patches]
    np.testing.assert_allclose(widths[::-1], columns.iloc[:, 0])
    unit = 100 if table.task == "classification" else 1
    assert columns.index[-1] == NOISE or columns.loc[NOISE].iloc[0] < 0.05 * unit
    if table.task == "classification":
        assert columns.index[0] == "copy"
        assert columns["hint"].to_dict() == {
            "copy": "nearly determines the target",
            **dict.fromkeys(["size", "ward", NOISE], ""),
        }
        assert list(figures) == [
            "1_errors",
            "2_thresholds",
            "3_gains",
            "4_calibration",
            "7_columns",
            "8_dependence",
        ]
    else:
        assert set(columns["hint"]) == {""}
        assert list(figures) == ["1_errors", "7_columns", "8_dependence"]
        panels = {axis.get_xlabel(): axis for axis in figures["8_dependence"][0].axes}
        north, _, west = panels["ward"].lines[0].get_ydata()
        assert west - north == pytest.approx(2, abs=0.5)
        rising = panels["size"].lines[0].get_ydata()
        assert rising[-1] - rising[0] > 2


@pytest.fixture
def rare_class(rng):
    """Three percent of the rows are ill, mostly those with a large size."""
    n = 1000
    X = rng.normal(size=(n, 2))
    y = np.full(n, "well")
    y[np.argsort(X[:, 0] + 0.3 * rng.normal(size=n))[-30:]] = "ill"
    kinds = dict.fromkeys(["size", NOISE], "numeric")
    return Table(X, y, "my-rare", "classification", ["size", NOISE], kinds=kinds)


LOGISTIC = {"_target_": "sklearn.linear_model.LogisticRegression", "C": 0.003}


@pytest.mark.parametrize("metric", [None, "auc", "log_loss", "calibration_error"])
def test_importances_for_class_that_is_never_predicted(rare_class, metric):
    settings, rows = SETTINGS | {"estimator": LOGISTIC}, np.arange(1000)
    train, test = rows[::2], rows[1::2]
    figures, columns = explain(
        "linear", rare_class, train, test, settings, {}, 0, metric
    )
    columns = columns.set_index("column")
    n_ill = (rare_class.y[test] == "ill").sum()
    assert f"of {n_ill} rows of class 'ill', 0 are pred" in figures["1_errors"][1]
    assert columns.index[0] == "size"
    # Permutation reduces an AUC of at least 90 % to about 50 %.
    assert columns.loc["size"].iloc[0] > (30 if metric == "auc" else 0)
    known = columns["predicted by it alone (%)"]
    assert known["size"] > 20 and known[NOISE] < known["size"] / 2


def test_captions_for_rare_class(rare_class):
    settings, rows = SETTINGS | {"estimator": LOGISTIC}, np.arange(1000)
    train, test = rows[::2], rows[1::2]
    best = fitted("linear", rare_class, train, test, settings, {}, 0, "auc")
    figures, _ = explain("linear", rare_class, train, test, settings, {}, 0, "auc")
    p, ill = best.expected(best.X), rare_class.y[test] == "ill"
    assert best.event == "ill"
    n_predicted, n_correct, n_ill = map(
        int,
        re.search(
            r"of (\d+) rows predicted as 'ill', (\d+) are, out of (\d+)",
            figures["2_thresholds"][1],
        ).groups(),
    )
    assert n_ill == ill.sum() and abs(n_predicted - n_ill) <= 1
    assert n_correct == ill[np.argsort(-p)[:n_predicted]].sum()
    n_needed = int(
        re.search(r"nine in ten, (\d+) of 500", figures["2_thresholds"][1])[1]
    )
    n_found = ill[np.argsort(-p)[:n_needed]].sum()
    assert n_found - 1 < 0.9 * ill.sum() <= n_found
    share = ill[np.argsort(-p)[:50]].mean() / ill.mean()
    assert f"{share:.1f} times as many" in figures["3_gains"][1]
    axis = figures["4_calibration"][0].axes[0]
    ends = axis.transData.transform([(0.0, 0.0), (0.03, 0.03), (axis.get_xlim()[1], 0)])
    assert ends[1, 0] - ends[0, 0] > 0.1 * (ends[2, 0] - ends[0, 0])


def test_error_of_drifting_series_grows_with_time():
    days = np.arange(300.0)
    table = Table(
        days[:, None] % 7,
        days**2,
        "my-series",
        "regression",
        ["weekday"],
        kinds={"weekday": "numeric"},
        times=days + 18_000,
        times_are_dates=True,
    )
    mean = {"_target_": "sklearn.dummy.DummyRegressor"}
    settings, rows = SETTINGS | {"estimator": mean}, np.arange(300)
    figures, _ = explain("mean", table, rows[:200], rows[200:], settings, {}, 0)
    lines = figures["6_distance_in_time"][0].axes[0].lines[0].get_xydata()
    assert (np.diff(lines[:, 1]) > 0).all()
    spans = np.array_split(days[200:], 6)
    assert lines[0, 0] == pytest.approx(np.mean(spans[0]) - 199, abs=0.6)
    times = re.search(r"is ([\d.]+) times that", figures["6_distance_in_time"][1])[1]
    assert float(times) == pytest.approx(lines[-1, 1] / lines[0, 1], rel=0.05)
    assert "chance" not in figures["6_distance_in_time"][1]
    last = np.datetime64("1970-01-01") + np.timedelta64(18_199)
    assert f"fitted to rows up to {last}" in figures["5_over_time"][1]


def test_error_growth_within_noise_is_described_as_chance(rng):
    """The target is noise, so the error does not depend on time."""
    days, y = np.arange(300.0), rng.normal(size=300)
    facts = {"kinds": {"weekday": "numeric"}, "times": days, "times_are_dates": True}
    names = ["weekday"]
    table = Table(days[:, None] % 7, y, "my-series", "regression", names, **facts)
    mean = {"_target_": "sklearn.dummy.DummyRegressor"}
    settings, rows = SETTINGS | {"estimator": mean}, np.arange(300)
    figures, _ = explain("mean", table, rows[:200], rows[200:], settings, {}, 0)
    assert (
        "after it, a difference that may be due to chance"
        in (figures["6_distance_in_time"][1])
    )


def test_calibration_of_rarest_class():
    y, X = np.repeat(list("dcba"), [70, 50, 30, 10]), np.arange(160.0)[:, None]
    table = Table(X, y, "my-t", "classification", ["x"], kinds={"x": "numeric"})
    estimator = {"_target_": "adakern.AdaptiveKernelClassifier", "preset": "fast"}
    settings = SETTINGS | {"estimator": estimator, "preparation": {"raw": True}}
    rows = np.arange(160)
    figures, _ = explain("adaptive", table, rows[::2], rows[1::2], settings, {}, 0)
    assert figures["4_calibration"][0].axes[0].get_title() == "Calibration of a"
    assert "2_thresholds" not in figures  # only for two classes


def test_sorted_table_is_sampled_from_all_classes():
    sizes = [1200, 500, 40]
    y, X = np.repeat(list("abc"), sizes), np.arange(1740.0)[:, None]
    table = Table(X, y, "my-t", "classification", ["x"], kinds={"x": "numeric"})
    settings = SETTINGS | {"estimator": LOGISTIC, "preparation": {"scale": "standard"}}
    rows = np.arange(1740)
    figures, _ = explain("logistic", table, rows[::20], rows, settings, {}, 0)
    # Class counts of 1,000 sampled rows are within five standard errors.
    confusion = next(
        figure for name, (figure, _) in figures.items() if "errors" in name
    )
    shown = [text.get_text() for text in confusion.axes[0].texts]
    counts = np.array([int(re.sub(r"\D", "", text)) for text in shown]).reshape(3, 3)
    share = np.array(sizes) / 1740
    error = np.sqrt(1000 * share * (1 - share))
    assert (np.abs(counts.sum(axis=1) - 1000 * share) < 5 * error).all()
    assert counts.sum() == 1000


def test_number_of_explained_columns_is_limited(tmp_path, rng):
    X = rng.normal(size=(150, 300))
    names, y = [f"x{i}" for i in range(300)], X[:, 7] + 0.1 * rng.normal(size=150)
    table = Table(
        X, y, "my-wide", "regression", names, kinds=dict.fromkeys(names, "numeric")
    )
    estimator = {"_target_": "sklearn.linear_model.Ridge", "alpha": 1.0}
    settings, rows = SETTINGS | {"estimator": estimator}, np.arange(150)
    table.save(tmp_path / "t.npz")
    save_splits(tmp_path / "s.npz", [(rows[:100], rows[100:])])
    out = tmp_path / "figures", tmp_path / "c.csv"
    explain_files(
        "ridge", tmp_path / "t.npz", tmp_path / "s.npz", *out, settings, {}, 0
    )
    columns = pd.read_csv(out[1])
    assert len(columns) == MOST_COLUMNS and columns["column"][0] == "x7"
    captions = json.loads((out[0] / "captions.json").read_text())
    pictures = {path.stem for path in out[0].glob("*.svg")}
    assert pictures == set(captions) and "7_columns" in pictures


def test_no_explanation_without_finished_run(tmp_path):
    """All runs failed or timed out; the report says so."""
    records = [failed("mine", "dummy", k, status="timeout") for k in range(2)]
    records_file = tmp_path / "records.parquet"
    to_frame(records).to_parquet(records_file)
    ranks = tmp_path / "ranks.csv"
    ranks.write_text("task,method\nclassification,dummy\n")
    files = {"ranks": ranks, "records": records_file, "table": "", "split": ""}
    outputs = {"figures": tmp_path / "figures", "table": tmp_path / "columns.csv"}
    settings = {"metric": None, "fits": {"dummy": {}}, "limits": {}, "own": "mine"}
    run_script("winner", files, outputs, **settings)
    captions = json.loads((outputs["figures"] / "captions.json").read_text())
    assert captions == {"": "no run of dummy finished, so there is nothing to explain"}
    assert pd.read_csv(outputs["table"]).empty


def test_column_names_are_not_spreadsheet_formulas(tmp_path, monkeypatch):
    table = pd.DataFrame({"column": ["=cmd|x", "size"], "hint": ["", ""]})
    monkeypatch.setattr(winner, "explain", lambda *_: ({}, table))
    monkeypatch.setattr(winner, "load_split", lambda *_: ([], []))
    monkeypatch.setattr(winner.Table, "load", lambda _: None)
    columns = tmp_path / "columns.csv"
    settings = {"threads": 1}
    winner.explain_files("m", None, "", tmp_path, columns, settings, {}, 0)
    assert columns.read_text().splitlines()[1:] == ["'=cmd|x,", "size,"]


class _Intervals:
    """Predicts 0 and intervals from -1 to 1, whatever the coverage."""

    def predict_interval(self, X, coverage):
        return np.tile([-1.0, 1.0], (len(X), 1))


def test_caption_names_category_with_lowest_coverage():
    ward = np.repeat(["north", "south"], 60)
    y = np.where((ward == "south") & (np.arange(120) % 3 == 0), 2.0, 0.0)
    X = pd.DataFrame({"ward": ward, "size": y})
    data = Prepared(X, y, X, y)
    best = Best("my", "regression", "rmse", _Intervals(), data, None, X, y)
    best.groups = np.repeat([1, 2, 3], [50, 50, 20])
    caption = _draw_coverage(Figure().subplots(), best)
    assert "by category or group: ward: south 67% of 60, north 100% of 60" in caption
    # Group 3 has too few rows.
    assert "group: 2 72% of 50, 1 100% of 50; 1 below 85%." in caption


def test_a_column_named_like_mathematics_is_saved_as_text(rng, tmp_path):
    X = rng.normal(size=(120, 3))
    names = ["$_per_$", "b", "c"]
    y = X[:, 0]
    table = Table(X=X, y=y, name="my-t", task="regression", feature_names=names)
    table.save(tmp_path / "t.npz")
    rows = np.arange(120)
    save_splits(tmp_path / "s.npz", [(rows[:80], rows[80:])])
    settings = SETTINGS | {"estimator": {"_target_": f"{FOREST}Regressor"}}
    explain_files(
        "forest",
        tmp_path / "t.npz",
        tmp_path / "s.npz",
        tmp_path / "figures",
        tmp_path / "columns.csv",
        settings,
        {},
        0,
    )
    drawn = (tmp_path / "figures" / "7_columns.svg").read_text(encoding="utf-8")
    assert "$_per_$" in drawn
