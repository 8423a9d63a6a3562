"""The HTML report is self-contained and agrees with the tables."""

import json
import re
from io import StringIO
from itertools import pairwise, product
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import yaml
from bs4 import BeautifulSoup
from matplotlib.figure import Figure

from adakern.evaluation import compare_over_sets
from adakern_bench.config.compose import ConfigError
from adakern_bench.config.schema import Protocol
from adakern_bench.report.compare import compare
from adakern_bench.report.figures import (
    method_styles,
    plot_fronts,
    plot_repeats,
    save_svg,
    to_svg,
)
from adakern_bench.report.findings import Task
from adakern_bench.report.headline import evidence, headline, verdict
from adakern_bench.report.leaderboard import by_dataset
from adakern_bench.report.page import _task_figures, protocol_in_words, report
from adakern_bench.report.paper import write_paper
from adakern_bench.report.show import print_table
from adakern_bench.report.tables import comparison, display, read_tables
from record_factory import demo_records, failed, make_record, write_records

PUBLISHED = Path(__file__).parents[2] / "data/published/dank_uci_classification.csv"
CONFIG = {
    "name": "demo",
    "title": "A <b>title</b>",
    "protocol": {"test_size": 0.4, "scale": "unit", "scale_fit": "all", "clip": True},
    "search": {"folds": 5},
    "dataset": {"heart": {"licence": "CC BY 4.0", "clip": [0.1, 99.9]}},
    "method": {"svm-cv": {"description": "The SVM.", "reference": "Cortes 1995"}},
}
FILE = {"path": "heart/heart", "from": "/private/place", "sha256": "f00d"}
PROVENANCE = {"heart": {"source": "mirror", "files": [FILE]}}


def table_rows(table):
    rows = [row(["th", "td"]) for row in table("tr")]
    return [[" ".join(cell.get_text().split()) for cell in row] for row in rows]


def report_text(out, records, **more):
    """The HTML of the report on these records."""
    compare(write_records(out, records), out)
    report(out, {"name": "demo", "protocol": {}}, **more)
    return (out / "report.html").read_text()


@pytest.fixture(scope="module")
def demo_report(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo")
    records = demo_records()
    records[0] = records[0] | {"converged": False}
    records += [failed("wine", "knpl", k, reason="two <classes> only") for k in (0, 1)]
    compare(write_records(out, records), out, PUBLISHED)
    own = Figure()
    own.subplots().plot([1, 2])
    save_svg(own, out / "figures" / "a_study.svg")
    report(
        out, CONFIG, figures=[out / "figures" / "a_study.svg"], provenance=PROVENANCE
    )
    text = (out / "report.html").read_text()
    return out, text, BeautifulSoup(text, "html.parser")


def test_report_is_self_contained(demo_report):
    _, text, page = demo_report
    ids = [tag["id"] for tag in page(id=True)]
    assert len(ids) == len(set(ids))
    assert not page(["script", "link", "img"], src=True) and "@import" not in text
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', text))
    assert used <= set(ids)
    assert all(
        tag["href"].startswith("#") for tag in page(href=True) if tag.name != "a"
    )
    svgs = page("svg")
    assert len(svgs) == 2 * 2 + 1
    assert all(svg["role"] == "img" and svg["aria-label"] for svg in svgs)


def report_elements(out, word):
    """Elements and attributes of a report in which every text is `word`."""
    out.mkdir()
    records = [*demo_records(), failed("wine", "knpl", 0, reason=word)]
    compare(write_records(out, records), out)
    figure = Figure()
    figure.subplots().set(title=word, xlabel=word)
    save_svg(figure, out / "a.svg")
    texts = ("title", "description", "licence", "citation", "note", "reference")
    fields = dict.fromkeys(texts, word)
    config = fields | {"name": "demo", "protocol": {}}
    config |= {"dataset": {"heart": fields}, "method": {"svm-cv": fields}}
    options = {"provenance": {"heart": {"source": word}}, "origin": {"command": word}}
    report(out, config, figures=[out / "a.svg"], rare=["heart"], **options)
    page = BeautifulSoup((out / "report.html").read_text(), "html.parser")
    return {(tag.name, name) for tag in page(True) for name in ("", *tag.attrs)}


def test_texts_are_escaped(tmp_path):
    hostile = "</title><script>a()</script>\"'><img src=x onerror=a()> {{ 1 }} \x1b[31m"
    plain = report_elements(tmp_path / "plain", "plain")
    assert report_elements(tmp_path / "hostile", hostile) == plain
    ElementTree.fromstring((tmp_path / "hostile" / "a.svg").read_text())


def test_damaged_figure_is_named(tmp_path):
    compare(write_records(tmp_path, demo_records()), tmp_path)
    damaged = tmp_path / "a.svg"
    damaged.write_text("<svg")
    with pytest.raises(ConfigError, match=r"a\.svg is damaged .* run again"):
        report(tmp_path, {"name": "demo", "protocol": {}}, figures=[damaged])


HOSTILE_SVG = """<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY e "http://h">]>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:x="http://www.w3.org/1999/xlink"
 style="position:fixed" onload="a()" id="a"><script>a()</script>
<style>* {background: url(http://h)}</style><foreignObject><p>a</p></foreignObject>
<h:script xmlns:h="http://www.w3.org/1999/xhtml">a()</h:script>
<g onclick="a()" style="fill: u\\72l(http://h)"><path style="mask: url(http://h)"/>
<a x:href="javascript:a()"><text style="fill: red">kept &lt;script&gt;</text></a>
<image x:href="&e;" width="image-set('http://h')"/><use x:href="data:image/svg+xml,a"/>
<animate/><set attributeName="href" to="javascript:a()"/></g></svg>"""


def test_script_of_a_figure_is_left_out(tmp_path):
    """The folder of results may be somebody else's."""
    winner = tmp_path / "figures"
    winner.mkdir()
    name = "b' onload='a()"
    for path in (tmp_path / "a.svg", winner / f"{name}.svg"):
        path.write_text(HOSTILE_SVG)
    captions = {name: "a <b>", "../a": "of another folder"}
    (winner / "captions.json").write_text(json.dumps(captions))
    config = {"name": "demo", "protocol": {}}
    report(tmp_path, config, figures=[tmp_path / "a.svg"], winner=winner)
    text = (tmp_path / "report.html").read_text()
    drawn = BeautifulSoup(text, "html.parser")("svg")
    assert len(drawn) == 2 and "another folder" not in text
    for svg in drawn:
        inner = {(tag.name, name) for tag in svg(True) for name in ("", *tag.attrs)}
        assert {name for name, _ in inner} == {"g", "path", "a", "text", "image", "use"}
        assert {name for _, name in inner} == {"", "style"}
        assert {*svg.attrs} == {
            *("id", "fill", "stroke-linejoin", "stroke-linecap", "role", "aria-label")
        }
        assert svg.text.strip() == "kept <script>" and "http://" not in str(svg)


def test_report_of_many_data_sets_is_small(tmp_path):
    methods = [f"method-{i}" for i in range(11)]
    sets = [f"set-{i}" for i in range(21)]
    records = [
        make_record(name, method, k)
        for name in sets
        for method in methods
        for k in (0, 1)
    ]
    broken = [failed("broken", method, k) for method in methods for k in (0, 1)]
    text = report_text(tmp_path, records + broken)
    page = BeautifulSoup(text, "html.parser")
    assert len(text) < 1_000_000 and "drawn for at most 20" in text
    (ranks,) = page("svg")
    assert ranks["aria-label"].startswith("Mean ranks over the data sets")
    # The leader against each of the ten others, over the 21 sets.
    (rows,) = [
        table_rows(table)[1:] for table in page("table") if "P(equal)" in table.text
    ]
    assert len(rows) == 10 and all(sum(map(int, row[2:5])) == 21 for row in rows)
    leader, second, *_ = pd.read_csv(tmp_path / "ranks.csv")["method"]
    scores = by_dataset(pd.read_parquet(tmp_path / "records.parquet"))
    comparison = compare_over_sets(scores[leader], scores[rows[0][0]])
    values = [
        comparison.better,
        comparison.worse,
        comparison.pvalue,
        comparison.p_equal,
    ]
    assert [rows[0][k] for k in (2, 3, 5, 8)] == [f"{value:.3g}" for value in values]
    assert (
        f"21 data sets (1 more with failed runs) {leader} is better than {second} on "
        in text
    )


def test_main_table_is_ordered_by_mean_rank(demo_report):
    out, _, page = demo_report
    tables = read_tables(out)
    head, *rows = table_rows(page.table)
    cells = comparison(tables, "classification")
    assert len(cells) == 10
    shown = {
        (name, row[0]): cell
        for row in rows
        for name, cell in zip(head, row, strict=True)
    }
    for (dataset, method), cell in cells.iterrows():
        text = f"{cell['shown']} ± {cell['spread']}" if cell["n"] else "failed"
        assert shown[dataset, method].replace("●", "").startswith(text)
    assert shown["heart", "knpl"] == "–"
    assert "(1 failed)" in shown["heart", "dank"]
    ranks = (
        tables["ranks"].query("task == 'classification'").sort_values("average_rank")
    )
    assert [row[0] for row in rows] == list(ranks["method"])
    assert float(rows[0][1]) == pytest.approx(ranks["average_rank"].min(), abs=5e-3)
    assert rows[-1][1] == "–"  # knpl is not ranked


def test_best_scores_are_marked(demo_report):
    out, _, page = demo_report
    tables = read_tables(out)
    best = page.find(id="regression").table("td", class_="best")
    rows = tables["summary"].query("metric == 'rmse' and split == 'test'")
    expected = rows.groupby("dataset")["mean"].min()
    assert sorted(cell.get_text().split()[0] for cell in best) == sorted(
        display("rmse", value) for value in expected
    )


def test_report_mentions_protocol_and_failures(demo_report):
    words = " ".join(demo_report[2].get_text().split())
    for sentence in (
        "A <b>title</b>",
        "two <classes> only",
        "after 60 s",
        "fitted on all rows, including the test part",
        "40 % of the rows",
        "clipped at these percentiles: heart (0.1 and 99.9)",
        "CC BY 4.0",
        "Cortes 1995",
        "Not converged, but included in the results: svm-cv on heart (1)",
        "not ranked: knpl",
    ):
        assert sentence in words, sentence
    assert "/private/place" not in words


def test_published_numbers_are_shown_with_measured_ones(demo_report):
    out, _, page = demo_report
    published = pd.read_csv(out / "published.csv")
    row = published.query(
        "dataset == 'heart' and method == 'svm-cv' and split == 'test'"
    ).iloc[0]
    rows = table_rows(page.find(id="published").table)
    cells = next(r for r in rows if r[:2] == ["heart", "svm-cv"])
    assert cells[2].startswith(display("accuracy", row["mean_published"]))
    assert cells[3].startswith(display("accuracy", row["mean_measured"]))
    assert cells[4] == display("accuracy", row["difference"])


def test_report_is_deterministic(demo_report):
    out, text, _ = demo_report
    report(
        out, CONFIG, figures=[out / "figures" / "a_study.svg"], provenance=PROVENANCE
    )
    assert (out / "report.html").read_text() == text


def test_report_of_experiment_without_runs(tmp_path):
    figure = Figure()
    figure.subplots().plot([1, 2])
    save_svg(figure, tmp_path / "decay.svg")
    table = pd.DataFrame({"method": ["dank"], "elo": [1234.5678], "n": [3]})
    table.to_csv(tmp_path / "leaderboard.csv", index=False)
    # An empty table is omitted.
    pd.DataFrame(columns=["column", "hint"]).to_csv(tmp_path / "empty.csv", index=False)
    files = {
        "figures": [tmp_path / "decay.svg"],
        "summaries": [tmp_path / "empty.csv", tmp_path / "leaderboard.csv"],
    }
    report(tmp_path, {"name": "only-special", "protocol": {}}, **files)
    page = BeautifulSoup((tmp_path / "report.html").read_text(), "html.parser")
    assert len(page("svg")) == 1 and "Decay" in page.get_text()
    assert not page.nav(href=["#protocol", "#failures"])
    assert table_rows(page.table)[1] == ["dank", "1,235", "3"]


@pytest.mark.parametrize("n_ok", [0, 1])
def test_report_with_few_runs(tmp_path, n_ok):
    records = [make_record(repeat=k) for k in range(n_ok)]
    text = report_text(
        tmp_path, records + [failed("heart", "dank", k) for k in range(2)]
    )
    assert ">heart" in text
    assert "Mean rank" not in text, "of one set there is none"


LEAKS = "the test labels leak into the choice"
DRAWN = {"kind": "holdout", "repeats": 3, "test_size": 0.2, "stratify": True}
ROWS = {"train_rows": [100, 2000], "test_rows": 500}


@pytest.mark.parametrize(
    ("protocol", "search", "expected", "unexpected"),
    [
        (
            {"kind": "time", "repeats": 4},
            {},
            "Forward in time: 4 consecutive blocks of rows",
            "holdout",
        ),
        (
            DRAWN,
            {},
            "3 random splits with 20 % of the rows in the test part, strat",
            "published",
        ),
        ({"published_split": "require"}, {}, "uses its published splits.", "at random"),
        (ROWS, {}, "subsets of 100, 2,000 rows", "published"),
        ({"scale": "none"}, {}, "not scaled", "leak"),
        (
            {},
            {"folds": 3},
            "by 3-fold cross-validation on the training part alone",
            LEAKS,
        ),
        (
            {},
            {"folds": 1},
            "by one 20 % validation part on the training part",
            "cross-validation",
        ),
        (
            {"tuning": "published"},
            {"folds": 3, "holdout_rows": 1000},
            LEAKS,
            "cross-validation",
        ),
        (
            {"tuning": "both"},
            {"folds": 3},
            "alone, and on the published tuning",
            "its published",
        ),
    ],
)
def test_protocol_in_words(protocol, search, expected, unexpected):
    words = " ".join(protocol_in_words({"protocol": protocol, "search": search}))
    assert expected in words and unexpected not in words


def test_protocol_of_regression_mentions_no_classes():
    config = {"protocol": DRAWN, "dataset": {"yacht": {"task": "regression"}}}
    assert "class proportions" not in " ".join(protocol_in_words(config))


def test_experiment_descriptions_state_no_number_of_repeats():
    """Overrides change it; the protocol states it."""
    number = r"(one|two|three|four|five|ten|twenty|\d+) (repeats|splits)"
    for path in (Path(__file__).parents[2] / "conf/experiment").glob("*.yaml"):
        description = yaml.safe_load(path.read_text()).get("description", "")
        assert not re.search(number, description, re.IGNORECASE), path.name


@pytest.mark.parametrize(
    "kind", Protocol.__dataclass_fields__["kind"].metadata["choices"]
)
def test_every_kind_of_protocol_is_described(kind):
    first, *_ = protocol_in_words({"protocol": {"kind": kind}})
    assert first.endswith(".") and "Features" not in first


def plot_time_against_error(records):
    """Time against error, as in the report."""
    records = records.rename(columns={"test_rmse": "score", "fit_seconds": "seconds"})
    points = records.groupby(["dataset", "method"])[["seconds", "score"]].mean()
    return plot_fronts(points, "s", "rmse", method_styles(records["method"]), False)


def test_figures_are_reproducible_and_show_their_data(demo_report):
    runs = pd.read_parquet(demo_report[0] / "records.parquet").query(
        "task == 'regression'"
    )
    methods = ["svm-cv", "krr-cv", "dank"]
    styles = method_styles(methods)

    def drawn():
        yield to_svg(plot_repeats(runs, "rmse", styles, methods))
        yield to_svg(plot_time_against_error(runs))

    for first, again in zip(drawn(), drawn(), strict=True):
        assert first == again and all(method in first for method in methods)


def runs_with_errors(values, repeats=1):
    """Regression runs in which the methods have these errors, and styles."""
    rows = [
        {"task": "regression", "status": "ok", "dataset": "yacht", "method": method}
        | {"test_rmse": error + 0.01 * k, "fit_seconds": 1.0}
        for method, error in values.items()
        for k in range(repeats)
    ]
    return pd.DataFrame(rows), method_styles(values)


def test_repeats_plot_has_one_point_per_repeat():
    frame, styles = runs_with_errors({"svr": 0.5}, 10)
    (axis,) = plot_repeats(frame, "rmse", styles, ["svr"]).axes
    assert sorted(axis.lines[-1].get_xdata()) == list(frame["test_rmse"])


@pytest.mark.parametrize(("largest", "scale"), [(1.0, "linear"), (30.0, "log")])
def test_errors_spanning_decades_have_log_axis(largest, scale):
    frame, styles = runs_with_errors({"a": 0.1, "b": largest})
    (axis,) = plot_repeats(frame, "rmse", styles, ["a", "b"]).axes
    assert axis.get_xscale() == scale
    (axis,) = plot_time_against_error(frame).axes
    assert axis.get_yscale() == scale


@pytest.mark.parametrize("slowest", [0.3, 5.5, 5e4])
def test_time_labels_do_not_overlap(slowest):
    frame, _ = runs_with_errors({"a": 0.1, "b": 0.2})
    figure = plot_time_against_error(frame.assign(fit_seconds=[0.137, slowest]))
    figure.draw_without_rendering()
    labels = figure.axes[0].get_xticklabels(which="both")
    boxes = sorted(
        tuple(t.get_window_extent().intervalx) for t in labels if t.get_text()
    )
    assert len(boxes) > 1 and all(a[1] < b[0] for a, b in pairwise(boxes))


def test_constant_prediction_is_omitted_from_figures():
    frame, styles = runs_with_errors({"svr": 0.5, "dummy": 9.0})
    runs, ranks = frame.assign(seconds=1.0), frame.assign(metric="rmse")
    task = Task("regression", {}, ranks, tests=None, runs=runs)
    for figure in _task_figures(task, styles):
        assert ">svr<" in figure["svg"] and ">dummy<" not in figure["svg"]
        assert "dummy" in figure["caption"]


def test_method_styles_are_distinct():
    names = [*"abcd", *(f"dank@tau={k}" for k in range(40))]
    styles = method_styles(names)
    assert len(set(styles.values())) == len(names)
    # Styles do not depend on the order of the methods.
    assert method_styles(reversed(names)) == styles


def headline_of(records, tmp_path):
    compare(write_records(tmp_path, records), tmp_path)
    return headline(
        read_tables(tmp_path), pd.read_parquet(tmp_path / "records.parquet")
    )


@pytest.mark.parametrize(
    ("worse", "expected"),
    [
        (1000.0, "more than 99.9 % lower"),
        (1.0, "50 % lower"),
        (0.50001, "less than 0.1 % lower"),
    ],
)
def test_headline_formats_differences_of_any_size(worse, expected, tmp_path):
    records = [
        make_record(
            "yacht", m, task="regression", metrics={"train": {}, "test": {"rmse": e}}
        )
        for m, e in {"good": 0.5, "bad": worse}.items()
    ]
    assert f", {expected} than bad's" in headline_of(records, tmp_path)[0]


def test_headline_names_best_method_and_difference(tmp_path):
    methods = {"dank": 0.9, "svm-cv": 0.85, "knpl": 0.8}
    records = []
    for dataset, method, k in product(("heart", "sonar", "wine"), methods, range(6)):
        record = make_record(dataset, method, k, search_seconds=1.0, fit_seconds=0.5)
        gain = 0.0005 * k if method == "dank" else 0
        record["metrics"]["test"]["accuracy"] = methods[method] + 0.001 * (k % 3) + gain
        records.append(record)
    records[-1] = failed("wine", "knpl", 5)
    first, second, third, fourth = headline_of(records, tmp_path)
    assert "dank has the best mean rank, 1.00 over 3 data sets (best on 3)" in first
    assert (
        "ahead of svm-cv with 2.00" in first
        and "5.1 points higher than svm-cv's" in first
    )
    assert "6 tested comparisons" in second
    assert "6 are significant in its favour" in second and "Holm" in second
    assert third.startswith("1 of 54 runs failed: knpl (1). A method is ranked last")
    assert "26.5 s in fits" in fourth


def records_of_accuracies(accuracies, failures=()):
    """Ten repeats with about these accuracies; `failures` are (data set, method,
    repeat).
    """
    records = []
    for (dataset, method), value in accuracies.items():
        for k in range(10):
            record = make_record(dataset, method, k)
            wave = 1e-3 * np.sin(k + 7 * len(records))
            record["metrics"]["test"]["accuracy"] = value + wave
            if (dataset, method, k) in failures:
                record = failed(dataset, method, k)
            records.append(record)
    return records


@pytest.mark.parametrize(
    ("failures", "expected", "unexpected"),
    [
        (
            [("heart", "best", 1)],
            [
                "on heart good is first",
                "higher than bad's",
                "better than all others except best.",
                "A method is ranked last on a data set if one of its runs there failed",
            ],
            [],
        ),
        (
            [("heart", "best", 1), ("heart", "bad", 2)],
            ["on heart good is first", "except best."],
            ["than best's", "than bad's"],
        ),
        (
            [("heart", method, k) for k, method in enumerate(("best", "good", "bad"))],
            ["no method finished all its runs, so there is no ranking"],
            ["tied"],
        ),
        (
            [("heart", "best", k) for k in range(6)],
            ["significantly better than all others; best could not be tested."],
            [],
        ),
    ],
)
def test_method_with_failed_run_is_not_said_to_be_worse(
    failures, expected, unexpected, tmp_path
):
    """Regression test: the first was "significantly better than all others", although
    the one with a failed run was significantly better, and methods that all had a
    failed run were "tied".
    """
    values = {("heart", "best"): 0.9, ("heart", "good"): 0.7, ("heart", "bad"): 0.6}
    compare(write_records(tmp_path, records_of_accuracies(values, failures)), tmp_path)
    tables = read_tables(tmp_path)
    records = pd.read_parquet(tmp_path / "records.parquet")
    text = " ".join([*verdict(tables, records), *evidence(tables, records)])
    assert [words for words in expected if words not in text] == []
    assert [words for words in unexpected if words in text] == []


def test_ties_are_counted_where_an_unranked_method_is_best(tmp_path):
    """Regression test: the first was best "on 5, ties included" without a tie."""
    sets = [f"set_{k}" for k in range(8)]
    values = {"dank": 0.8, "svm-cv": 0.7, "binary": 0.9}
    accuracies = {(s, method): v for s in sets for method, v in values.items()}
    failures = [(s, "binary", k) for s in sets[3:] for k in range(10)]
    records = records_of_accuracies(accuracies, failures)
    assert "(best on 5), ahead of svm-cv" in headline_of(records, tmp_path)[0]


def test_small_difference_is_not_said_to_be_equal(tmp_path):
    records = [make_record("heart", method) for method in ("a", "b")]
    for record, value in zip(records, (0.9004, 0.9), strict=True):
        record["metrics"]["test"]["accuracy"] = value
    assert "less than 0.1 points higher than b's" in headline_of(records, tmp_path)[0]


def test_both_reasons_for_no_test_are_given(tmp_path):
    equal = {("heart", "a"): 0.9, ("heart", "b"): 0.9, ("heart", "c"): 0.5}
    failures = [("heart", "c", k) for k in range(6)]
    records = records_of_accuracies(equal, failures)
    for record in records:
        if record["status"] == "ok":
            record["metrics"]["test"]["accuracy"] = equal["heart", record["method"]]
    second = headline_of(records, tmp_path)[1]
    assert "all differences are equal or fewer than five repeats" in second


def test_unequal_numbers_of_repeats_are_stated(tmp_path):
    """Regression test: 10 and 5 published splits were "10 repeats"."""
    records = [make_record("heart", m, k) for m in "ab" for k in range(10)]
    records += [make_record("sonar", m, k) for m in "ab" for k in range(5)]
    page = report_text(tmp_path, records)
    assert "<dt>repeats</dt><dd>5 to 10</dd>" in page and "mean ± standard dev" in page
    stream = StringIO()
    print_table(tmp_path, stream)
    assert "mean over 5 to 10 repeats" in stream.getvalue()
    (table,) = write_paper(tmp_path, {"name": "demo"}, tmp_path / "paper")
    assert "deviation over 5 to 10 repeats" in table


def test_shared_search_is_counted_once(tmp_path):
    search = {"method": "svm-cv", "grid": {}, "folds": 3}
    records = [
        make_record("heart", m, k, search_seconds=100.0, fit_seconds=1.0, search=search)
        for m in ("dank@eta=0.1", "dank@eta=1", "svm-cv")
        for k in range(3)
    ]
    cost = headline_of(records, tmp_path)[-1]
    assert cost.startswith("Total job time: 5 min 9 s (5 min 0 s in searches")


def test_total_time_includes_timeouts(tmp_path):
    """Regression test: a run of 25 minutes was reported as two."""
    records = [
        make_record(repeat=0, fit_seconds=1.0, run_seconds=4.0),
        failed("heart", "svm-cv", 1, "after 60 s", "timeout", run_seconds=61.0),
    ]
    *_, missing, cost = headline_of(records, tmp_path)
    assert missing == "1 of 2 runs ran out of time: svm-cv (1)."
    assert cost.startswith(
        "Total job time: 1 min 5 s (1.0 s in fits, 1 min 4 s in start-up"
    )


@pytest.mark.parametrize("metric", ["auc", "calibration_error", "interval_coverage"])
def test_standard_deviation_is_scaled_before_rounding(metric):
    """Regression test: 0.0269 percent was printed as 3e-04."""
    texts = [display(metric, value) for value in (0.999706, 0.000269, 0.00000269)]
    assert texts == ["99.97", "0.03", "3e-04"]


def test_balanced_accuracy_is_first_with_rare_class(tmp_path):
    records = [make_record("heart", m, k) for m in ("a", "b") for k in (0, 1)]
    for rare, first in (((), "Accuracy"), ({"heart"}, "Balanced accuracy")):
        page = BeautifulSoup(report_text(tmp_path, records, rare=rare), "html.parser")
        assert page.find(class_="caption").text.startswith(first)


def test_single_method_is_not_marked_best(tmp_path):
    assert (
        "only svm-cv was run"
        in headline_of([make_record(repeat=k) for k in range(3)], tmp_path)[0]
    )
    assert not comparison(read_tables(tmp_path), "classification")["best"].any()


def test_report_shows_chosen_parameters(tmp_path):
    """Regression test: a failed constant prediction was described as the baseline."""
    records = [
        make_record("heart", "svm-cv", k, best_params={"C": 4.0}) for k in (0, 1)
    ]
    records.append(failed("heart", "dummy", 0, "the time was over", "timeout"))
    page = report_text(tmp_path, records)
    assert "C = 4" in page and "ran out of time: dummy (1)" in page
    assert "A constant prediction" not in page
    assert "No difference was tested" in page and "Tests of all pairs" not in page


def test_constant_prediction_in_front_is_said(tmp_path):
    runs = [make_record("heart", method) for method in ("dummy", "svm-cv")]
    for run, accuracy in zip(runs, (0.5, 0.4), strict=True):
        run["metrics"]["test"]["accuracy"] = accuracy
    said = "No method is better than this constant prediction."
    assert said in report_text(tmp_path, runs)
    assert said not in report_text(tmp_path, [make_record("heart", "svm-cv", 0)])


def test_figures_of_one_data_set_are_beside_its_table(tmp_path):
    runs = [make_record("heart", "svm-cv"), make_record("heart", "dank")]
    page = BeautifulSoup(report_text(tmp_path, runs), "html.parser")
    (beside,) = page.select(".beside")
    assert beside.select("table.results") and beside.select("figure svg")
    others = [make_record("sonar", "svm-cv"), make_record("sonar", "dank")]
    assert "beside" not in report_text(tmp_path, [*runs, *others]).split("</style>")[1]


def test_random_validation_is_marked_for_grouped_splits(
    tmp_path,
):
    records = [
        make_record("heart", method, k, validates_at_random=method == "knpl")
        for method in ("dank", "knpl")
        for k in (0, 1)
    ]
    page = BeautifulSoup(report_text(tmp_path, records), "html.parser")
    heads = [th.text.strip() for th in page.select("table.results tbody th")]
    assert {"knpl ◇", "dank"} <= {*heads} and "knpl" not in heads
    assert "other groups or later rows" in page.text
    older = report_text(tmp_path, [make_record("heart", m) for m in ("dank", "knpl")])
    assert "◇" not in older
