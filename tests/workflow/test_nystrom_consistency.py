"""Figure and tables of nystrom_consistency, from records of real fits."""

from pathlib import Path

import pandas as pd
import pytest
from scipy.stats import ttest_rel
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

import nystrom_consistency as script
from adakern.nystrom import SelectedKernelRidgeClassifier
from adakern_bench.records.read import to_frame
from adakern_bench.records.solve import fitted_facts
from record_factory import make_record

GAMMAS = [0.25, 1.0, 4.0]
SAMPLINGS = ["exact", "optimal", "uniform", "adaptive-criterion", "greedy-criterion"]


@pytest.fixture(scope="module")
def records():
    X, y = make_moons(120, noise=0.25, random_state=0)
    runs = []
    for repeat in range(5):
        train, test, y_train, y_test = train_test_split(
            X, y, test_size=0.2, random_state=repeat
        )
        for sampling in SAMPLINGS:
            model = SelectedKernelRidgeClassifier(
                param_grid={"gamma": GAMMAS},
                sampling=sampling,
                n_columns=0.1,
                random_state=repeat,
            ).fit(train, y_train)
            facts = {
                "sweep": {"sampling": sampling},
                "metrics": {"test": {"accuracy": model.score(test, y_test)}},
                "extra": fitted_facts(model)["extra"],
                "n_train": len(train),
                "n_test": len(test),
            }
            runs.append(
                make_record("moons", f"nystrom@sampling={sampling}", repeat, **facts)
            )
    return to_frame(runs)


def test_curves_contain_the_criterion_of_every_candidate(records):
    points = script.curves(records)
    assert len(points) == 5 * len(GAMMAS) * len(SAMPLINGS)
    assert (points["criterion"] >= points["exact"] - 1e-8).all()
    exact = points[points["sampling"] == "exact"]
    assert (exact["criterion"] == exact["exact"]).all()
    assert len(script.plot(records).axes[0].lines) == len(SAMPLINGS)


def test_summary_has_mean_distance_and_marks_the_closest(records):
    summary = script.summary(records).set_index("sampling")
    points = script.curves(records)
    uniform = points[points["sampling"] == "uniform"]
    distance = (uniform["criterion"] - uniform["exact"]).mean()
    assert summary.loc["uniform", "distance"] == pytest.approx(distance)
    assert (
        summary.loc["exact", "distance"] == 0
        and summary.loc["exact", "same_gamma"] == 1
    )
    best = summary.loc[SAMPLINGS[2:], "distance"].idxmin()
    assert list(summary.index[summary["closest"]]) == [best]
    accuracy = records.groupby("sweep_sampling")["test_accuracy"].mean()
    pd.testing.assert_series_equal(
        summary["test_accuracy"].sort_index(), accuracy, check_names=False
    )


def test_paired_ttests_with_holm_correction_over_all_pairs(records):
    pairs = script.paired_tests(records)
    assert len(pairs) == 2 * 7 and set(pairs["metric"]) == {"distance", "accuracy"}
    runs = script.with_distance(records)
    runs = runs.pivot(index="repeat", columns="sampling", values="test_distance")
    for pair in pairs[pairs["metric"] == "distance"].itertuples():
        a, b = runs[pair.method_a], runs[pair.method_b]
        assert pair.difference == pytest.approx((a - b).mean())
        assert pair.pvalue == pytest.approx(ttest_rel(a, b).pvalue)
        if pair.winner:
            assert pair.winner == (
                pair.method_a if pair.difference < 0 else pair.method_b
            )
    significant = pairs["corrected_holm_pvalue"] <= 0.05
    assert ((pairs["winner"] != "") == significant).all()


def test_published_marks_match_published_records():
    """Regression test: 34 of 230 winners were marked without Holm's correction."""
    folder = Path(__file__).parents[2] / "docs/results/nystrom_consistency"
    records = pd.read_parquet(folder / "records.parquet")
    published = pd.read_csv(folder / "tables/paired_tests.csv", keep_default_na=False)
    assert (
        published["winner"].tolist() == script.paired_tests(records)["winner"].tolist()
    )
    distance = script.summary(records).pivot(
        index="dataset", columns="sampling", values="distance"
    )
    distance = distance.drop(columns=["exact", "optimal"])
    assert (distance.idxmin(axis=1) == "greedy-criterion").sum() == 12
    assert (distance["adaptive-criterion"] > distance["uniform"]).sum() == 11
