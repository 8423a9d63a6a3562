"""What docs/results/README.md quotes, computed again from the tables beside it."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from adakern.evaluation import compare_over_sets, holm_correction, mean_ranks
from adakern_bench.report.contrast import against_all
from adakern_bench.report.leaderboard import together
from adakern_bench.report.published import load_published
from adakern_bench.report.tables import read_tables

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs/results"
SUITES = {
    "41 small classification": ["uci121_small"],
    "25 larger": ["uci121_larger"],
    "All 66": ["uci121_small", "uci121_larger"],
    "41 small ones, every baseline": ["uci121_tuned"],
}


@cache
def paragraph(start):
    """The paragraph of the overview whose bold opening holds some words."""
    text = (RESULTS / "README.md").read_text(encoding="utf-8")
    parts = (" ".join(part.split()) for part in text.split("\n\n"))
    (found,) = (part for part in parts if part.startswith("**") and start in part[:80])
    return found


def scores(folders, metric):
    """Test means, a row a data set and a column a method; NaN where a run failed."""
    parts = []
    for folder in folders:
        rows = read_tables(RESULTS / folder)["summary"]
        rows = rows[(rows["metric"] == metric) & (rows["split"] == "test")]
        whole = rows["n_failed"] + rows["n_timeout"] == 0
        rows = rows.assign(mean=rows["mean"].where(whole))
        parts.append(rows.pivot(index="dataset", columns="method", values="mean"))
    return pd.concat(parts, join="inner")


def beside_published(table):
    numbers = load_published(ROOT / "data/published/uci121_classifiers.csv")
    numbers = numbers[(numbers["metric"] == "accuracy") & (numbers["split"] == "test")]
    theirs = numbers.pivot(index="dataset", columns="method", values="mean")
    theirs = theirs.reindex(table.index)
    return theirs.loc[:, theirs.notna().mean() >= 0.9].add_suffix(" (published)")


@pytest.mark.parametrize("suite", SUITES)
def test_means_ranks_wins_and_p_values_of_a_suite(suite):
    text, table = paragraph(suite), scores(SUITES[suite], "accuracy")
    means = 100 * table.mean()
    # A mean over sets in which each counts alike, not a share of all rows.
    assert means.idxmax() == "adaptive" and f"{means['adaptive']:.1f} %" in text
    assert f"{means['simple-blend']:.1f}" in text
    ranks = pd.Series(mean_ranks(table), table.columns)
    best = {f"{ranks['adaptive']:.1f}", f"{ranks['simple-blend']:.1f}"}
    assert ranks.idxmin() == "adaptive" and all(rank in text for rank in best)
    others = table.columns.drop("adaptive")
    found = {name: compare_over_sets(table["adaptive"], table[name]) for name in others}
    adjusted = holm_correction([pair.pvalue for pair in found.values()])
    blend = found["simple-blend"]
    assert blend.p_equal > 0.95 and "practically equal" in text
    if suite == "41 small ones, every baseline":
        assert f"the blend ({blend.better} sets to {blend.worse})" in text
        sure = {name for name, p in zip(others, adjusted, strict=True) if p <= 0.05}
        assert sure == {"boosting", "lightgbm", "forest", "xrfm", "knn", "linear"}
        assert round(found["svm-rbf"].pvalue, 2) == 0.08
    else:
        wins = f"better than the blend on {blend.better} sets and worse on {blend.worse}"
        p = dict(zip(others, adjusted, strict=True))["simple-blend"]
        assert f"{wins} (p = {float(f'{p:.1g}'):.5f}".rstrip("0") in text


@pytest.mark.parametrize(("suite", "n"), [("25 larger", 157), ("All 66", 172)])
def test_ranks_among_published_classifiers(suite, n):
    table = scores(SUITES[suite], "accuracy")
    theirs = beside_published(table)
    both = table.join(theirs)
    ranks = pd.Series(mean_ranks(both), both.columns)
    text = paragraph(suite)
    assert theirs.shape[1] == n and f"{n} published" in text
    assert ranks.idxmin() == "adaptive" and f"{ranks['adaptive']:.1f}" in text
    assert f"{ranks[theirs.columns].min():.1f}" in text


@pytest.mark.parametrize(
    ("start", "table", "p_blend"),
    [("119 regression", "leaderboard", 6e-14), ("The 50 other sets", "leaderboard_others", 0.2)],
)
def test_ranks_wins_and_p_values_of_srbench_from_its_records(start, table, p_blend):
    records = pd.read_parquet(RESULTS / "srbench/records.parquet")
    assert (records["status"] == "ok").all() and records["commit"].nunique() == 1
    board = pd.read_csv(RESULTS / "srbench/tables" / f"{table}.csv").set_index("method")
    r2 = records.groupby(["dataset", "method"])["test_r2"].median().unstack()
    left_out = "fri_c|cpu_act|cpu_small|tecator|bodyfat|207_autoPrice"
    if table == "leaderboard_others":
        r2 = r2[~r2.index.str.contains(left_out)]
    text, ranks = paragraph(start), pd.Series(mean_ranks(r2), r2.columns)
    np.testing.assert_allclose(board.loc[r2.columns, "rank_measured"], ranks, rtol=1e-4)
    assert f"{len(r2)} " in text[:20] and (board["n_datasets"] == len(r2)).all()
    ours = r2["adaptive"]
    found = {name: compare_over_sets(ours, r2[name]) for name in r2.columns.drop("adaptive")}
    adjusted = holm_correction([pair.pvalue for pair in found.values()])
    p = dict(zip(found, adjusted, strict=True))
    assert float(f"{p.pop('simple-blend'):.1g}") == p_blend and max(p.values()) < 0.001
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    blend, trees = found["simple-blend"], found["catboost"]
    if table == "leaderboard":
        first = [f"{ranks[name]:.1f}" for name in ("adaptive", "simple-blend", "catboost")]
        assert all(rank in text and rank in readme for rank in first)
        assert f"the blend on {blend.better} sets and worse on {blend.worse}" in text
        best = board[board["source"] == "published"]["mean_rank"].min()
        assert f"it has {board.loc['adaptive', 'mean_rank']:.1f}" in text and f"{best:.1f}" in text
    else:
        assert blend.p_equal > 0.95 and "practically equal" in text
        assert f"better on {blend.better}, worse on {blend.worse}" in readme
        assert f"p = {p['catboost']:.4f}" in text and f"p = {p['catboost']:.4f}" in readme
        assert f"{trees.better} sets and worse on {trees.worse}" in text
        assert f"CatBoost on {trees.better} and worse on {trees.worse}" in readme
        means = r2.mean()[["adaptive", "simple-blend"]]
        assert "mean R2 {:.3f} and {:.3f}".format(*means) in text


def test_ranks_wins_and_p_values_of_uci_regression_from_its_records():
    records = pd.read_parquet(RESULTS / "uci_regression/records.parquet")
    assert (records["status"] == "ok").all() and records["commit"].nunique() == 1
    srbench = pd.read_parquet(RESULTS / "srbench/records.parquet", columns=["commit"])
    assert set(records["commit"]) == set(srbench["commit"]) and len(records) == 425
    found = against_all(records, "adaptive").set_index("method")
    blend, trees = found.loc["simple-blend"], found.drop("simple-blend")
    text, readme = paragraph("Nine regression"), (ROOT / "README.md").read_text(encoding="utf-8")
    wins = f"better than the blend on {blend['better']:.0f} and worse on {blend['worse']:.0f}"
    assert f"{wins} (p = {blend['holm']:.3f})" in text and f"(p = {blend['holm']:.3f})" in readme
    assert (trees["better"] == 9).all() and f"(p = {trees['holm'].max():.3f}; both" in text
    won = read_tables(RESULTS / "uci_regression")["ttest"].query("winner == 'adaptive'")
    assert len(won) == 20 and (won["method_b"] == "simple-blend").sum() == 4
    for name, seconds in records.groupby("method")["fit_seconds"].mean().items():
        assert f"{seconds:.0f}" in text, name


def test_one_leaderboard_of_both_regression_suites():
    text = (RESULTS / "README.md").read_text(encoding="utf-8")
    board = together([RESULTS / "srbench", RESULTS / "uci_regression"], 2000)
    assert (board["n_datasets"] == 103).all() and len(board) == 5 and "the 103 sets" in text
    for row in board.itertuples():
        rank = f"| {row.method} | {row.mean_rank:.2f} | {row.normalised_error:.2f} | {row.wins:.0f}"
        elo = f"{row.elo:.0f} ({row.elo_low:.0f} to {row.elo_high:.0f})"
        assert f"{rank} | {elo} | {row.seconds / row.n_datasets:.1f} |" in text


LEADERBOARDS = {
    "uci_regression": "Nine regression",
    "uci_regression_small": "Five small regression",
    "uci_regression_tuned": "The same five",
    "uci_regression_larger": "four larger regression",
    "uci121_small": "41 small classification",
    "uci121_tuned": "41 small ones, every",
    "uci121_protocols": "As in 2014",
}


@pytest.mark.parametrize(("folder", "start"), LEADERBOARDS.items())
def test_leaderboards_rank_the_means_of_their_folder(folder, start):
    board = pd.read_csv(RESULTS / folder / "tables/leaderboard.csv")
    board = board[board["source"] == "measured"].set_index("method")
    metric = board.filter(regex="^mean_(acc|rmse)").columns[0].removeprefix("mean_")
    table = scores([folder], metric)
    expected = mean_ranks(table, greater_is_better=metric == "accuracy")
    np.testing.assert_allclose(board.loc[table.columns, "rank_measured"], expected, rtol=1e-4)
    leader = board.sort_values("rank_measured").iloc[0]
    quoted = leader["mean_rank" if start == "As in 2014" else "rank_measured"]
    assert f"{quoted:.1f}" in paragraph(start)


@pytest.mark.parametrize("folder", ["dank_uci", "knpl_uci_small", "dank_regression_small"])
def test_friedmans_tests(folder):
    p = read_tables(RESULTS / folder)["ranks"]["friedman_pvalue"].iloc[0]
    assert f"p = {p:.2f}" in (RESULTS / "README.md").read_text(encoding="utf-8")


def test_no_learned_kernel_differs_from_the_svm_after_holm():
    """Two p-values of 0.045 and 0.049 once stood for differences."""
    tests = read_tables(RESULTS / "dank_uci")["ttest"]
    here = tests[(tests["dataset"] == "diabetic") & (tests["method_b"] == "svm-cv")]
    p = here.set_index("method_a")["corrected_pvalue"].round(3)
    assert (p["dank"], p["mkl-uniform"]) == (0.045, 0.049)
    assert (tests["winner"] == "").all()


def test_significant_pairs_after_holm():
    """A p-value of 0.005 once stood for a difference from the blend."""
    tests = read_tables(RESULTS / "uci_regression_small")["ttest"]
    tests = tests[tests["method_a"] == "adaptive"]
    assert set(tests["winner"]) == {"", "adaptive"}
    level = tests["method_b"].isin(["simple-blend", "krr-laplacian"])
    text = paragraph("Five small")
    assert (tests.loc[level, "winner"] == "").all() and "On no set does it differ" in text
    concrete = tests["dataset"] == "uci_regression-concrete"
    assert (tests.loc[concrete & ~level, "winner"] == "adaptive").sum() == 8
    wine = tests[tests["dataset"].str.contains("wine") & (tests["method_b"] == "simple-blend")]
    assert f"{wine['corrected_holm_pvalue'].item():.2f} after Holm" in text
    won = read_tables(RESULTS / "knpl_uci_small")["ttest"].query("winner != ''")
    assert set(won["dataset"]) == {"climate"}
    pairs = {"svm-cv bmkl", "svm-cv easymkl", "knpl easymkl"}
    assert set(won["winner"] + " " + won["method_a"]) == pairs


def test_accuracy_weighted_by_rows():
    table = scores(SUITES["All 66"], "accuracy")
    rows = pd.read_csv(ROOT / "conf/suite/uci121.csv").set_index("set")["n"]
    weighted = table.apply(np.average, weights=rows[table.index.str.removeprefix("uci121-")])
    said = [100 * weighted[name] for name in ("svm-laplacian", "adaptive")]
    assert "{:.2f} %, the flagship {:.2f} %".format(*said) in paragraph("All 66")
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert all(f"{value:.1f} %" in readme for value in said)


def test_the_leak_of_a_learned_metric_after_holm():
    table = pd.read_csv(RESULTS / "rfm_metric_leak/tables/rfm_metric_leak.csv")
    halves = pd.read_csv(RESULTS / "uci121_leak_rfm/tables/leak.csv")["p_value"].item()
    found = [compare_over_sets(table[a], table["nested"]) for a in ("published", "same_size")]
    text = paragraph("Recursive feature machines and the halves")
    adjusted = holm_correction([*(pair.pvalue for pair in found), halves])
    for pair, p in zip(found, adjusted, strict=False):
        assert f"better on {pair.better} sets" in text and f"p = {p:.1g} after" in text


def test_the_ablations_after_holm():
    for folder, start, metric, sure in (
        ("adaptive_ablation_regression", "What each part", "rmse", 2),
        ("adaptive_ablation", "The same for classification", "accuracy", 0),
        ("adaptive_ablation", "The same for classification", "log_loss", 3),
    ):
        table = pd.read_csv(RESULTS / folder / "tables/adaptive_ablation.csv")
        table = table[table["metric"] == metric].set_index("without")
        assert len(table) == 18 and "18" in paragraph(start)
        assert (holm_correction(table["p_value"]) <= 0.05).sum() == sure


@pytest.mark.parametrize("folder", sorted(RESULTS.glob("*/")), ids=lambda p: p.name)
def test_every_mark_of_every_folder_follows_the_rule(folder):
    """793 pairs of landmarks were once significant, on two equal differences each."""
    if not (folder / "ranks.csv").exists() or (tests := read_tables(folder)["ttest"]).empty:
        return
    assert tests.loc[tests["n"] < 5, "corrected_pvalue"].isna().all()
    for _, pairs in tests.groupby(["task", "dataset"]):
        adjusted = holm_correction(pairs["corrected_pvalue"])
        won = (pairs["winner"] != "").to_numpy()
        np.testing.assert_array_equal(won, adjusted <= 0.05)


def seconds_to_fit(folder):
    rows = read_tables(RESULTS / folder)["summary"]
    return rows[rows["metric"] == "fit_seconds"].groupby("method")["mean"].mean()


@pytest.mark.parametrize("file", ["README.md", "docs/guide.md"])
def test_the_figures_of_readme_and_guide(file):
    text = " ".join((ROOT / file).read_text(encoding="utf-8").split())
    table = scores(SUITES["All 66"], "accuracy")
    assert table.shape == (66, 10) and "ten methods measured here" in text
    theirs = beside_published(table)
    assert f"{100 * table['adaptive'].mean():.1f} %" in text
    best = f"best published classifier {100 * theirs.mean().max():.1f} %"
    assert best in text.replace(" has ", " ")
    ranks = pd.Series(mean_ranks(table), table.columns)
    assert ranks.idxmin() == "adaptive"
    if file == "README.md":
        assert f"forests {100 * table['simple-blend'].mean():.1f} %" in text
        both = mean_ranks(table.join(theirs))
        assert both.argmin() == list(table.columns).index("adaptive")
        assert f"the {theirs.shape[1]} published ones that cover the sets" in text
    else:
        assert f"({ranks['adaptive']:.1f}; a blend of kernel ridge regression and forests" in text
        assert f"has {ranks['simple-blend']:.1f})" in text
    small, larger = map(seconds_to_fit, ("uci121_small", "uci121_larger"))
    assert round(small["adaptive"]) == 11 and "eleven seconds" in text
    assert round(larger["adaptive"]) == 45
    assert small.idxmax() == larger.idxmax() == "adaptive" and "it takes the longest" in text
