"""Tables written from records; the tests recompute every number from the records."""

import io
import json
import statistics

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from adakern.evaluation import METRICS
from adakern_bench.config.plan import load_plan
from adakern_bench.records.process import OVER
from adakern_bench.records.read import read_records, to_frame
from adakern_bench.report.compare import compare, shared
from adakern_bench.report.contrast import against_all
from adakern_bench.report.headline import headline
from adakern_bench.report.leaderboard import leaderboard
from adakern_bench.report.show import print_table
from adakern_bench.report.tables import comparison, read_runs, read_tables
from adakern_bench.report.views import make_view
from adakern_bench.tracking.runs import ranks_of
from record_factory import demo_records, failed, make_record, write_records


@pytest.fixture
def comparison_folder(tmp_path):
    """A folder that `compare` wrote, and its records."""
    records = demo_records()
    compare(write_records(tmp_path, records), tmp_path)
    return tmp_path, records


def successful(records, dataset, method):
    cell = (dataset, method, "ok")
    return [r for r in records if (r["dataset"], r["method"], r["status"]) == cell]


def print_to_string(out, **options):
    stream = io.StringIO()
    print_table(out, stream, **options)
    return stream.getvalue()


def records_with_accuracies(method, values):
    """One record per repeat of `method` on heart, with these accuracies."""
    records = [make_record("heart", method, repeat) for repeat in range(len(values))]
    for record, value in zip(records, values, strict=True):
        record["metrics"]["test"]["accuracy"] = value
    return records


def test_summary_matches_records(comparison_folder):
    out, records = comparison_folder
    summary = pd.read_csv(out / "summary.csv", keep_default_na=False)
    for row in summary.to_dict("records"):
        successes = successful(records, row["dataset"], row["method"])
        if row["split"]:
            values = [r["metrics"][row["split"]][row["metric"]] for r in successes]
        else:
            values = [
                r[row["metric"]] for r in successes if r[row["metric"]] is not None
            ]
        assert float(row["mean"]) == pytest.approx(statistics.mean(values))
        assert float(row["std"]) == pytest.approx(statistics.stdev(values))
        assert row["n"] == len(values)
    seen = set(map(tuple, summary[["dataset", "method", "split", "metric"]].to_numpy()))
    for record in records:
        of_record = {("", "fit_seconds"), ("", "n_support")}
        of_record |= {
            (s, m) for s in ("train", "test") for m in METRICS[record["task"]]
        }
        assert {
            (record["dataset"], record["method"], *column) for column in of_record
        } <= seen


def test_other_metric_is_used_for_ranks_tests_and_headline(tmp_path):
    records = [
        make_record(method=method, repeat=r, metrics=metrics(accuracy, auc + r / 1000))
        for method, accuracy, auc in (("dank", 0.9, 0.7), ("svm-cv", 0.8, 0.75))
        for r in range(6)
    ]
    paths = write_records(
        tmp_path, [*records, make_record(method="knpl", metrics=metrics(0.9))]
    )
    compare(paths, tmp_path, metric="auc")
    tables = read_tables(tmp_path)
    assert list(tables["ranks"]["method"]) == ["svm-cv", "dank", "knpl"]
    assert set(tables["ttest"]["metric"]) == {"auc"}
    runs = pd.read_parquet(tmp_path / "records.parquet")
    assert list(runs["reason"].dropna()) == ["the method has no auc"]
    sentence = headline(tables, runs)[0]
    assert "svm-cv is first, with area under the ROC curve 75.25 %" in sentence
    assert "which is 5.0 points higher than dank's" in sentence


@pytest.mark.parametrize("is_dependent", [True, False])
def test_splits_of_one_table_are_not_independent_data_sets(tmp_path, is_dependent):
    records = [
        make_record(
            f"set{k}@kind={kind}",
            method,
            metrics=metrics(accuracy + k / 1000),
            base_dataset=f"set{k}" if is_dependent else f"set{k}@kind={kind}",
        )
        for k in range(8)
        for kind in ("declared", "holdout")
        for method, accuracy in (("dank", 0.9), ("svm-cv", 0.8), ("knpl", 0.7))
    ]
    compare(write_records(tmp_path, records), tmp_path)
    tables = read_tables(tmp_path)
    runs = pd.read_parquet(tmp_path / "records.parquet")
    ranks = tables["ranks"]
    assert list(ranks["average_rank"]) == [1, 2, 3]
    text = " ".join(headline(tables, runs))
    comparisons = against_all(runs, "dank")
    if is_dependent:
        assert comparisons.empty
        assert ranks[["friedman_pvalue", "critical_distance"]].isna().all(axis=None)
        assert "the 16 data sets are splits of 8 tables" in ranks["note"][0]
        assert "No test over data sets" in text and "Wilcoxon" not in text
    else:
        # 16 pairs of one sign.
        assert comparisons["holm"].max() < 1e-3
        assert ranks["friedman_pvalue"].max() < 1e-5
        assert "Over 16 data sets dank is better than svm-cv on 16" in text


def test_plans_with_different_metrics_are_independent(tmp_path):
    scores = {"dank": metrics(0.9), "svm-cv": metrics(0.8)}
    for method, f1 in (("dank", 0.1), ("svm-cv", 0.2)):
        scores[method]["test"] |= {"f1": f1}
    records = [make_record("heart", m, metrics=scores[m]) for m in scores]
    paths = write_records(tmp_path, records)
    frame = to_frame(records)

    def first(plan):
        out = tmp_path / str(plan.config.metric)
        out.mkdir(exist_ok=True)
        compare(paths, out, metric=plan.config.metric)
        boards = [
            make_view(leaderboard, frame, {}, metric=plan.config.metric),
            read_tables(out)["ranks"],
        ]
        (best,) = {board["method"].iloc[0] for board in boards}
        return best

    selected = ["experiment=quickstart", "dataset=[sk-wine]", "method=[dank,svm-cv]"]
    by_accuracy, by_f1 = load_plan(selected), load_plan([*selected, "metric=f1"])
    assert [first(plan) for plan in (by_accuracy, by_f1, by_accuracy)] == [
        "dank",
        "svm-cv",
        "dank",
    ]


def metrics(accuracy, auc=None):
    scores = dict.fromkeys(METRICS["classification"], 0.5)
    return {"train": scores, "test": scores | {"accuracy": accuracy, "auc": auc}}


def test_failures_are_listed_and_counted(comparison_folder):
    out, records = comparison_folder
    runs = pd.read_parquet(out / "records.parquet")
    assert len(runs) == len(records)
    row = runs[(runs["status"] == "timeout")].iloc[0]
    assert [*row[["dataset", "method", "repeat", "reason"]]] == [
        "sonar",
        "dank",
        5,
        "after 60 s",
    ]
    cell = pd.read_csv(out / "summary.csv").query(
        "method == 'dank' and dataset == 'sonar'"
    )
    assert set(map(tuple, cell[["n_timeout", "n_failed", "n"]].to_numpy())) == {
        (1, 0, 5)
    }
    text = print_to_string(out)
    assert (
        "2 of 108 runs failed or ran out of time" in text
        and "sonar / dank: 1 x timeout: after 60 s" in text
    )


def test_ttests_match_records(comparison_folder):
    out, records = comparison_folder
    ttest = pd.read_csv(out / "ttest.csv", keep_default_na=False)
    assert len(ttest) == 6 * 3
    for row in ttest.to_dict("records"):
        a, b = (
            {
                r["repeat"]: r["metrics"]["test"][row["metric"]]
                for r in successful(records, row["dataset"], row[f"method_{side}"])
            }
            for side in "ab"
        )
        difference = np.array([a[k] - b[k] for k in sorted(a.keys() & b.keys())])
        n = len(difference)
        assert row["n"] == n
        assert row["pvalue"] == pytest.approx(stats.ttest_1samp(difference, 0).pvalue)
        t = difference.mean() / np.sqrt((1 / n + 40 / 60) * difference.var(ddof=1))
        assert row["corrected_pvalue"] == pytest.approx(2 * stats.t.sf(abs(t), n - 1))
        assert row["holm_pvalue"] >= row["pvalue"]
    assert ttest["note"].str.contains("finished by one method").sum() == 4


def test_ranks_match_records(comparison_folder):
    out, records = comparison_folder
    ranks = pd.read_csv(out / "ranks.csv")
    for task, metric, sign in (
        ("classification", "accuracy", -1),
        ("regression", "rmse", 1),
    ):
        losses = [
            # A failed repeat fails the cell.
            sign * r["metrics"]["test"][metric] if r["status"] == "ok" else np.inf
            for r in records
            if r["task"] == task
        ]
        cells = pd.DataFrame([r for r in records if r["task"] == task]).assign(
            loss=losses
        )
        means = cells.groupby(["dataset", "method"])["loss"].mean().unstack()
        expected = stats.rankdata(means, axis=1).mean(axis=0)
        of_task = ranks[ranks["task"] == task].set_index("method")
        np.testing.assert_allclose(of_task.loc[means.columns, "average_rank"], expected)
        assert of_task["wins"].sum() == 3 and of_task["friedman_pvalue"].isna().all()
        assert of_task["note"].str.contains("5 data sets").all()


def test_method_missing_on_most_data_sets_is_not_ranked(tmp_path):
    records = demo_records()
    records += [make_record("heart", "knpl", k) for k in range(6)]
    compare(write_records(tmp_path, records), tmp_path)
    ranks = (
        pd.read_csv(tmp_path / "ranks.csv")
        .set_index(["task", "method"])
        .loc["classification"]
    )
    assert np.isnan(ranks.loc["knpl", "average_rank"])
    assert (
        ranks["average_rank"].drop("knpl").notna().all()
        and (ranks["n_datasets"] == 3).all()
    )
    assert ranks["note"].str.contains("not ranked: knpl").all()


def test_means_that_differ_by_rounding_are_tied_in_all_tables(tmp_path):
    """Regression test: 0.7307692307692308 was ranked above 0.7307692307692307."""
    records = []
    for method, value in (("a", 19 / 26), ("b", 19 / 26 - 1e-16), ("c", 0.7)):
        records += records_with_accuracies(
            method, [value + 0.01 * (repeat % 3) for repeat in range(6)]
        )
    compare(write_records(tmp_path, records), tmp_path)
    tables = read_tables(tmp_path)
    ranks = tables["ranks"].set_index("method")
    assert ranks["average_rank"].to_dict() == {"a": 1.5, "b": 1.5, "c": 3.0}
    assert comparison(tables, "classification")["best"].tolist() == [True, True, False]
    text = " ".join(print_to_string(tmp_path).split())
    assert (
        "on heart a and b are tied, with accuracy 74.08 % (mean over 6 repeats)."
        in text
    )
    assert "No difference was tested for significance: all differences are eq" in text


def test_compare_is_deterministic(comparison_folder, tmp_path_factory):
    out, records = comparison_folder
    other = tmp_path_factory.mktemp("other")
    compare(write_records(other, records[::-1])[::-1], other)
    for name in ("records.parquet", "summary.csv", "ttest.csv", "ranks.csv"):
        assert (out / name).read_bytes() == (other / name).read_bytes()
    assert not [path for path in other.iterdir() if path.name.startswith(".")]


def test_method_without_finished_run_has_no_mean(tmp_path):
    records = [make_record(method="svm-cv", repeat=k) for k in range(3)]
    records += [failed("heart", "dank", k) for k in range(3)]
    compare(write_records(tmp_path, records), tmp_path)
    summary = pd.read_csv(tmp_path / "summary.csv")
    row = summary[(summary["method"] == "dank") & (summary["metric"] == "accuracy")]
    assert row[["split", "n", "n_failed"]].values.tolist() == [["test", 0, 3]]
    assert row["mean"].isna().all()
    pair = pd.read_csv(tmp_path / "ttest.csv").iloc[0]
    assert "not tested" in pair["note"] and np.isnan(pair["pvalue"])
    assert "no Friedman test" in pd.read_csv(tmp_path / "ranks.csv")["note"][0]


def test_repeats_after_time_limit_are_excluded_for_all_methods(tmp_path):
    records = [make_record("heart", m, r) for m in ("svm-cv", "knpl") for r in range(3)]
    records[5] = failed("heart", "knpl", 2, OVER, "timeout")
    records += [
        failed("heart", "dank", r, f"search: {OVER}", "timeout") for r in range(3)
    ]
    compare(write_records(tmp_path, records), tmp_path)
    cells = comparison(read_tables(tmp_path), "classification").loc["heart"]
    assert cells["n"].to_dict() == {"svm-cv": 2, "knpl": 2, "dank": 0}
    assert cells["missing"].to_dict() == {"svm-cv": 0, "knpl": 0, "dank": 2}
    assert len(frame := pd.read_parquet(tmp_path / "records.parquet")) == 9
    ranks = pd.read_csv(tmp_path / "ranks.csv", index_col="method")["average_rank"]
    assert ranks_of(frame, "accuracy") == ranks.fillna(3).to_dict()
    assert leaderboard(shared(frame))["n_failed"].sum() == 1


def test_names_that_look_numeric_or_missing_are_kept(tmp_path):
    compare(
        write_records(tmp_path, [make_record("2048", m) for m in ("NA", "007")]),
        tmp_path,
    )
    cells = comparison(read_tables(tmp_path), "classification").loc["2048"]
    assert set(cells.index) == {"NA", "007"} and "007" in print_to_string(tmp_path)


def test_long_name_is_printed_with_its_score(tmp_path):
    name = f"dank@{'a' * 120}=1"
    compare(
        write_records(tmp_path, [make_record(method=m) for m in (name, "svm")]),
        tmp_path,
    )
    text = print_to_string(tmp_path, width=80)
    assert (
        name in text and "Empty DataFrame" not in text and "more data set" not in text
    )


def test_single_run_has_no_standard_deviation(tmp_path):
    compare(write_records(tmp_path, [make_record()]), tmp_path)
    summary = pd.read_csv(tmp_path / "summary.csv")
    assert summary["std"].isna().all() and (summary["n"] == 1).all()
    assert pd.read_csv(tmp_path / "ttest.csv").empty
    text = print_to_string(tmp_path)
    assert (
        "No failed runs (1 run)." in text
        and "mean over" not in text
        and "rank" not in text
    )


def test_nan_score_is_a_failure(tmp_path):
    compare(
        write_records(tmp_path, records_with_accuracies("dank", [0.9, float("nan")])),
        tmp_path,
    )
    runs = pd.read_parquet(tmp_path / "records.parquet")
    assert runs["status"].tolist() == ["ok", "failed"]
    assert "accuracy is nan" in runs["reason"][1]
    assert pd.read_csv(tmp_path / "summary.csv")["mean"].notna().all()


def test_columns_of_mixed_types_become_strings():
    records = [
        make_record(repeat=0, params={"eta": "svm", "C": 1.0, "deep": {"a": [1]}}),
        make_record(repeat=1, params={"eta": 0.5, "C": 2, "deep": None}),
        make_record(repeat=2, params={"eta": None, "C": None}, extra={"profile": "l1"}),
    ]
    frame = to_frame(records)
    assert frame["param_eta"].tolist()[:2] == ["svm", "0.5"] and pd.isna(
        frame["param_eta"][2]
    )
    assert frame["param_C"].dtype == "float64"
    assert frame["param_deep"][0] == '{"a": [1]}' and frame["extra_profile"][2] == "l1"


def file_content(**changes):
    """Content of the record file of the cell heart / svm-cv."""
    return json.dumps([make_record(method="svm-cv") | changes])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"svm-cv/0-9\.json.* not valid JSON"),
        ('[{"status": "ok"}]', r"svm-cv/0-9\.json .*lacks dataset"),
        (file_content(method="krr-cv"), "which belongs in another file"),
        (file_content(repeat=17), "which belongs in another file"),
        (file_content(experiment="another"), "a single experiment.*another"),
        (
            file_content(data_fingerprint="of another table"),
            "was made from another table of heart",
        ),
    ],
)
def test_invalid_or_foreign_record_file_raises(tmp_path, content, message):
    paths = write_records(
        tmp_path, [make_record(method=name) for name in ("dank", "svm-cv")]
    )
    assert len(read_records(paths)) == 2
    paths[1].write_text(content)
    for files, expected in ((paths, message), ([], "no records")):
        with pytest.raises(ValueError, match=expected):
            read_records(files)


def test_printed_table_marks_best_and_significantly_worse(tmp_path):
    """a is best, b significantly worse, c worse only by the plain t-test, d tied."""
    a = np.array([0.90, 0.91, 0.92, 0.93, 0.90, 0.91])
    noise = np.array([0, 1, -1, 1, 0, -1])
    records = records_with_accuracies("a", a)
    records += records_with_accuracies("b", a - 0.2 + 0.001 * noise)
    records += records_with_accuracies("c", a - 0.012 + 0.01 * noise)
    records += records_with_accuracies("d", a - 0.001 + 0.02 * noise)
    compare(write_records(tmp_path, records), tmp_path)
    lines = print_to_string(tmp_path).splitlines()
    head = next(k for k, line in enumerate(lines) if "heart" in line)
    assert lines[head].split() == ["time", "heart"], "one set: no mean rank"
    rows = [line.split() for line in lines[head + 1 : head + 5]]
    assert [row[0] for row in rows] == ["a", "d", "c", "b"]
    assert [row[0] for row in rows if "*" in row[-1]] == ["a"] and "91.17" in rows[0][
        -1
    ]
    assert [row[0] for row in rows if "●" in row[-1]] == ["b"]
    text = " ".join(print_to_string(tmp_path).split())
    assert (
        "a is first, with accuracy 91.17 % (mean over 6 repeats), which is 0.1" in text
    )
    assert (
        "points higher than d's. Of the 3 tested comparisons of a with another method"
        in text
    )
    assert "1 is significant in its favour and 0 against it" in text
    assert "No failed runs (24 runs)." in lines
    tables = read_tables(tmp_path)
    paired = tables["ttest"].set_index(["method_a", "method_b"])["pvalue"]
    assert paired["a", "c"] < 0.05, "one rule: Holm's correction of the corrected test"
    assert not comparison(tables, "classification", split="train")[
        ["best", "worse"]
    ].any(axis=None)


def test_printed_table_fits_width_and_reports_omissions(tmp_path):
    methods = [f"method-{m}" for m in range(20)]
    records = [
        make_record(f"set-{d}", m, k) for d in range(9) for m in methods for k in (0, 1)
    ]
    compare(write_records(tmp_path, records), tmp_path)
    lines = print_to_string(tmp_path, width=80).splitlines()
    assert max(map(len, lines)) <= 80
    (left_out,) = [line for line in lines if "in the report)" in line]
    assert left_out.startswith("(5 more methods and ")
    ranks = [float(line.split()[1]) for line in lines if line.startswith("method-")]
    assert ranks == sorted(ranks) and len(ranks) == 15


def test_missing_table_names_the_remedy(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"summary\.csv is missing: run the"):
        read_tables(tmp_path)


def test_damaged_runs_name_the_remedy(tmp_path):
    (tmp_path / "records.parquet").write_bytes(b"PAR1 cut")
    with pytest.raises(OSError, match=r"records\.parquet is damaged .*Delete it and"):
        read_runs(tmp_path)
