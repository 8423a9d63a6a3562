"""LaTeX tables, figures and sentences for a paper agree with the report."""

import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from adakern_bench.report.compare import compare
from adakern_bench.report.paper import (
    alike,
    distance_to_best,
    references,
    write_paper,
)
from adakern_bench.report.render import latex
from adakern_bench.report.tables import comparison, read_tables
from record_factory import failed, make_record, write_records

SETS = [f"set_{k}" for k in range(7)]
METHODS = ("dank", "forest", "svm-cv")
CONFIG = {
    "name": "a_demo",
    "dataset": {
        "set_0": {"title": "Heart & lung", "citation": "Who, A. It. 1987, 50 %."},
        "set_1": {"citation": "Both, B. They. JMLR 7, 2006."},
        "set_2": {"citation": "Both, B. They. JMLR 7, 2006."},
    },
    "method": {"dank": {"reference": "Liu et al., JMLR 21 (2020)"}},
}


def write_from_records(out, records, config=CONFIG):
    """Write the paper's files from these records; returns the LaTeX tables."""
    compare(write_records(out, records), out)
    return write_paper(out, config, out / "paper")


def records_of_tasks(**tasks):
    return [
        make_record(name, method, repeat, task=task)
        for task, sets in tasks.items()
        for name in sets
        for method in METHODS
        for repeat in range(5)
    ]


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    out = tmp_path_factory.mktemp("paper")
    records = records_of_tasks(classification=SETS, regression=["yacht"])
    records[0] = failed("set_0", "dank", 0)
    for record in records:  # the other methods are significantly worse
        if record["dataset"] == "set_3" and record["method"] != "dank":
            record["metrics"]["test"]["accuracy"] *= 0.1
    return out, write_from_records(out, records)


def test_latex_cells_and_marks_equal_the_report(paper):
    out, (text, _) = paper
    cells = comparison(read_tables(out), "classification")
    body = text.partition(r"\midrule")[2].partition(r"\midrule")[0]
    head = re.search(r"Data set & (.*) \\\\", text)[1].split(" & ")
    rows = [line.removesuffix(r" \\").split(" & ") for line in body.split("\n") if line]
    rows = [row for row in rows if len(row) > 1]
    assert [row[0].replace("\\", "") for row in rows] == SETS
    assert cells["worse"].any() and cells["best"].sum() == len(SETS)
    for name, *shown in rows:
        for method, cell in zip(head, shown, strict=True):
            known = cells.loc[name.replace("\\", ""), method]
            assert (r"\textbf" in cell) == known["best"]
            assert (r"\bullet" in cell) == known["worse"]
            assert known["shown"] in cell and known["spread"] in cell
            assert ("(1 failed)" in cell) == (known["missing"] == 1)


def test_tables_are_valid_latex(paper):
    _, texts = paper
    for text in texts:
        environments = re.findall(r"\\begin\{(\w+)\}", text)
        assert environments == re.findall(r"\\end\{(\w+)\}", text)[::-1]
        plain = re.sub(r"\\[&%$#_{}]", "", text)
        assert plain.count("{") == plain.count("}") and plain.count("$") % 2 == 0
        assert "%" not in plain and "_" not in plain.replace(r"^", "")
        width = len(re.search(r"\\begin\{tabular\}\{(\w+)\}", text)[1])
        lines = [line for line in plain.split("\n") if line.endswith(r"\\")]
        assert lines and all(line.count("&") == width - 1 for line in lines)


def test_long_table_uses_longtable(tmp_path):
    (text,) = write_from_records(
        tmp_path, records_of_tasks(classification=[f"s{k}" for k in range(41)])
    )
    assert r"\begin{longtable}{lrrr}" in text and "tabular" not in text


def test_figures_are_svg_and_pdf_with_the_same_font(paper):
    out, _ = paper
    names = {path.name for path in (out / "paper").iterdir()}
    kinds = {f"classification_{name}" for name in ("critical_difference", "profile")}
    figures = {f"{name}.{ending}" for name in kinds for ending in ("svg", "pdf")}
    texts = {"classification.tex", "regression.tex", "sentences.txt", "references.bib"}
    assert names == figures | texts  # no figures for the task with one data set
    for kind in kinds:
        svg = (out / "paper" / f"{kind}.svg").read_text()
        (family,) = set(re.findall(r"font(?:-family)?:[^'\";]*'([^']+)'", svg))
        pdf = (out / "paper" / f"{kind}.pdf").read_bytes()
        embedded = set(re.findall(rb"/FontName /(?:\w+\+)?(\w+)", pdf))
        assert embedded == {family.replace(" ", "").encode()}
        assert b"/FontFile2" in pdf  # TrueType, whole, not bitmaps
        assert all(method in svg for method in METHODS)


def test_sentences_contain_the_tests_of_the_leader(paper):
    out, _ = paper
    text = (out / "paper" / "sentences.txt").read_text()
    leader, *others = read_tables(out)["ranks"].query("task == 'classification'")[
        "method"
    ]
    records = pd.read_parquet(out / "records.parquet").query("status == 'ok'")
    records = records[records["task"] == "classification"]
    means = records.groupby(["dataset", "method"])["test_accuracy"].mean().unstack()
    whole = means.drop(index="set_0")  # in which a repeat failed
    pvalues = {}
    for other in others:
        pair = (whole if "dank" in (leader, other) else means)[[leader, other]]
        pvalues[other] = stats.wilcoxon(*pair.to_numpy().T, mode="exact").pvalue
        assert f"{leader} against {other} over {len(pair)} data sets" in text
        assert f"p = {pvalues[other]:.3g}, after" in text
    assert f"correction {min(1, 2 * min(pvalues.values())):.3g}." in text


def test_alike_returns_maximal_groups(rng):
    for _ in range(50):
        ranks = np.sort(rng.uniform(1, 6, size=6))
        distance = rng.uniform(0.1, 3)
        pairs = [
            (a, b)
            for a, b in combinations(range(6), 2)
            if ranks[b] - ranks[a] <= distance
        ]
        largest = [
            (a, b)
            for a, b in pairs
            if not any((c <= a and b <= d) and (a, b) != (c, d) for c, d in pairs)
        ]
        assert alike(ranks, distance) == largest


def test_distance_to_best():
    scores = pd.DataFrame({"a": [0.9, 0.5], "b": [0.8, np.nan]})
    behind = distance_to_best(scores, "accuracy").to_numpy()
    np.testing.assert_allclose(behind, [[0, 10], [0, np.inf]], atol=1e-12)
    errors = pd.DataFrame({"a": [2.0, 0.0], "b": [3.0, 0.1]})
    ratios = distance_to_best(errors, "rmse").to_numpy()
    np.testing.assert_allclose(ratios, [[1, 1.5], [1, np.inf]])


def test_references_have_one_entry_per_citation():
    sets, methods = ["set_0", "set_1", "set_2", "set_3"], ["dank@eta=1", "svm-cv"]
    pairs = [(name, method) for name in sets for method in methods]
    records = pd.DataFrame(pairs, columns=["dataset", "method"])
    text = "\n".join(references(CONFIG, records))
    assert re.findall(r"@misc\{(.*),", text) == [
        "dataset-set-0",
        "dataset-set-1",
        "method-dank",
    ]
    assert r"title = {{Heart \& lung}}" in text and r"50 \%" in text
    assert "year = {1987}" in text and text.count("JMLR 7, 2006") == 1
    assert "No citation is known for set_3" in text
    assert "No reference is known for svm-cv" in text


def test_every_entry_of_conf_has_a_citation():
    from omegaconf import OmegaConf

    from adakern_bench.base.paths import CONF

    for group, key in (("dataset", "citation"), ("method", "reference")):
        for path in (CONF / group).glob("*.yaml"):
            entry = OmegaConf.load(path)
            # An entry based on another has the citation of that one.
            is_derived = any(
                "@_here_" in default for default in entry.get("defaults", ())
            )
            if not path.stem.startswith("my-") and not is_derived:
                assert entry.get(key), path


def test_latex_escapes_special_characters():
    assert latex(r"a\b") == r"a\textbackslash{}b"
    assert latex("a~b^c|<>") == (
        r"a\textasciitilde{}b\textasciicircum{}c\textbar{}\textless{}\textgreater{}"
    )
    assert latex("a\x1b[31m") == "a\N{REPLACEMENT CHARACTER}[31m"


def test_url_cannot_contain_latex_commands():
    entry = {"citation": "A", "homepage": r"https://a.org/x?y=1#z}\input{/etc/passwd}"}
    records = pd.DataFrame({"dataset": ["a"], "method": ["svm-cv"]})
    text = "".join(references({"dataset": {"a": entry}}, records))
    assert r"\url{https://a.org/x?y=1#z%7D%5Cinput%7B/etc/passwd%7D}" in text
    assert text.count("{") == text.count("}") and r"\input" not in text
