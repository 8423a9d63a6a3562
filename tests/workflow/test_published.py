"""Published results and their comparison with measured ones."""

from pathlib import Path

import pandas as pd
import pytest

from adakern.evaluation import QUANTITIES
from adakern_bench.report.compare import compare
from adakern_bench.report.published import (
    COLUMNS,
    beside_measured,
    load_published,
)
from adakern_bench.report.views import make_view
from record_factory import make_record, write_records

PUBLISHED = Path(__file__).parents[2] / "data" / "published"
TABLES = sorted(set(PUBLISHED.glob("*.csv")) - set(PUBLISHED.glob("*_settings.csv")))


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_published_tables_have_known_metrics(path):
    table = load_published(path)
    assert list(table.columns) == COLUMNS
    assert len(table) == len(path.read_text().splitlines()) - 1
    assert table["mean"].notna().all()
    assert set(table["metric"]) <= set(QUANTITIES)
    assert set(table["split"]) <= {"train", "test", ""}
    accuracy = table.loc[table["metric"] == "accuracy", "mean"]
    assert accuracy.between(0, 1).all()
    assert accuracy.empty or accuracy.median() > 0.3  # fractions, not percent
    assert not table.duplicated(COLUMNS[:5]).any()


def select_row(table, **values):
    for name, value in values.items():
        table = table[table[name] == value]
    (row,) = table.to_dict("records")
    return row


@pytest.mark.parametrize(
    ("name", "where", "mean", "std"),
    [
        ("dank_uci_classification", "diabetic svm-cv test", 0.730, 0.017),
        ("dank_uci_regression", "pyrim dank test", 0.457, 0.143),
        ("knpl_uci_classification", "climate knpl test", 0.9514, 0.0098),
        ("dank_tau_sensitivity", "heart dank@tau=0.001 test accuracy", 0.873, 0.022),
        ("dank_tau_sensitivity", "diabetic dank@tau=0 - rank", 340, None),
        ("dank_cifar10", "cifar10 dank", 0.9268, 0.0041),
        ("lab_rbf_regression", "airfoil lab-rbf test r2", 0.9608, 0.0079),
        (
            "dank_large_scale",
            "eeg logdet-decomposed test accuracy scalable",
            0.952,
            None,
        ),
        (
            "dank_large_scale",
            "eeg logdet-decomposed - fit_seconds scalable",
            24.6,
            None,
        ),
        ("dank_synthetic_regression", "step-1d dank test relative_mse", 0.004, None),
    ],
)
def test_published_numbers_equal_the_papers(name, where, mean, std):
    keys = ("dataset", "method", "split", "metric", "setting")
    where = dict(zip(keys, where.split(), strict=False))
    where |= {"split": ""} if where.get("split") == "-" else {}
    row = select_row(load_published(PUBLISHED / f"{name}.csv"), **where)
    assert row["mean"] == pytest.approx(mean)
    assert std is None or row["std"] == pytest.approx(std)


def test_table_of_settings_is_not_a_results_table():
    with pytest.raises(
        ValueError, match=r"no column mean, method; .* \(found: dataset, n_fea"
    ):
        load_published(PUBLISHED / "dank_large_scale_settings.csv")


def test_published_and_measured_are_compared(tmp_path):
    records = [make_record("heart", "svm-cv", k) for k in range(4)]
    path = PUBLISHED / "dank_uci_classification.csv"
    compare(write_records(tmp_path, records), tmp_path, path)
    table = pd.read_csv(tmp_path / "published.csv")
    assert set(table["dataset"]) == {"heart"}
    row = select_row(table, method="svm-cv", split="test", metric="accuracy")
    measured = sum(r["metrics"]["test"]["accuracy"] for r in records) / 4
    assert row["mean_measured"] == pytest.approx(measured)
    assert row["n"] == 4
    published = select_row(
        load_published(path), dataset="heart", method="svm-cv", split="test"
    )
    assert row["mean_published"] == pytest.approx(published["mean"])
    assert row["difference"] == pytest.approx(measured - published["mean"])
    other = select_row(table, method="bmkl", split="test")
    assert pd.isna(other["mean_measured"]) and pd.isna(other["difference"])


@pytest.mark.parametrize(
    ("name", "dataset", "method", "published"),
    [
        (
            "dank_large_scale",
            "eeg",
            "dank-decomposed",
            0.963,
        ),  # their setting "scalable"
        ("uci121_classifiers", "uci121-abalone", "svm-2014", 0.66),  # their svm_C
    ],
)
def test_measured_method_is_matched_to_published_protocol(
    name, dataset, method, published
):
    measured = {
        "dataset": dataset,
        "method": method,
        "split": "test",
        "metric": "accuracy",
    }
    summary = pd.DataFrame([measured | {"mean": 0.7, "std": 0.0, "n": 4}])
    table = beside_measured(summary, load_published(PUBLISHED / f"{name}.csv"))
    row = select_row(table, method=method, metric="accuracy")
    assert row["mean_published"] == pytest.approx(published)
    assert row["difference"] == pytest.approx(0.7 - published) and row["n"] == 4


def test_table_function_gets_published_numbers_as_argument():
    def beside(records, published, dataset):
        return records.assign(
            published=select_row(published, dataset=dataset, method="dank")["mean"]
        )

    records = pd.DataFrame({"dataset": ["step-1d"], "method": "dank", "rank": 2.0})
    files = [PUBLISHED / "dank_synthetic_regression.csv"]
    view = make_view(beside, records, {"dataset": "step-1d"}, published=files)
    pd.testing.assert_frame_equal(view, records.assign(published=0.004))
    assert make_view(pd.DataFrame.copy, records, {}, published=files).equals(records)
