"""Figures quoted on the pages of results, recomputed from the published tables."""

import re
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from measured import beside_rivals, filled_in, records_of, scores
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import train_test_split

from adakern.datasets import make_sin_2x3
from adakern.evaluation import compare_over_sets, holm_correction, mean_ranks
from adakern_bench.report.contrast import against_all, over_sets
from adakern_bench.report.leaderboard import (
    by_dataset,
    cost_seconds,
    together,
)
from adakern_bench.report.published import load_published
from adakern_bench.report.tables import read_tables

ROOT = Path(__file__).parents[2]
OTHERS = "^(?!.*(?:fri_c|cpu_act|cpu_small|tecator|bodyfat|207_autoPrice))"
LARGER = "kin8nm|naval|power-plant|protein"
RESULTS = ROOT / "docs/results"
GUIDE = filled_in((ROOT / "docs/guide.md").read_text(encoding="utf-8"))
README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


@cache
def pages():
    """The overview of results and the page of claims, with their figures inserted."""
    claims = (ROOT / "docs/claims.md").read_text(encoding="utf-8")
    overview = (RESULTS / "README.md").read_text(encoding="utf-8")
    return filled_in(f"{overview}\n\n{claims}")


@cache
def paragraph(start):
    """The paragraph, with its table, whose bold opening contains `start`."""
    text = pages().replace("\n\n|", "\n|")
    parts = (" ".join(part.split()) for part in text.split("\n\n"))
    (match,) = (part for part in parts if part.startswith("**") and start in part[:80])
    return match


@cache
def uci121(least=0, most=np.inf):
    """Records of the sets whose number of rows is within the limits."""
    records = pd.read_parquet(RESULTS / "uci121/records.parquet")
    assert (records["status"] == "ok").all() and records["commit"].nunique() == 1
    assert set(records["extra_defaults_version"].dropna()) == {"6"}
    return records[(records["n_train"] + records["n_test"]).between(least, most)]


def compare_with_flagship(table, metric="accuracy"):
    """Comparison of the flagship with each other method, and p-values after Holm's
    correction.
    """
    ours = table["adaptive"]
    pairs = {m: over_sets(ours, table[m], metric) for m in table if m != "adaptive"}
    adjusted = holm_correction([pair.pvalue for pair in pairs.values()])
    return pairs, dict(zip(pairs, adjusted, strict=True))


def bootstrap_interval(values, statistic):
    """A statistic over sets, and its 95 % interval from 10,000 bootstrap samples."""
    values = np.asarray(values, float)
    samples = np.random.default_rng(0).integers(0, len(values), (10000, len(values)))
    return statistic(values), *np.quantile(
        statistic(values[samples], axis=1), [0.025, 0.975]
    )


def geometric_mean(values, axis=None):
    return np.exp(np.mean(np.log(values), axis=axis))


EFFECTS = ["48 of SRBench", "50 of SRBench", "33 of SRBench", "9 of uci_regression"]


@cache
def effects_of_regression():
    """For each comparison in README: baseline, wins and losses,
    p-value, effect sizes.
    """
    srbench = pd.read_parquet(RESULTS / "srbench/records.parquet")
    srbench = srbench[srbench["dataset"].str.contains(OTHERS)]
    fifty = srbench.groupby(["dataset", "method"])["test_rmse"].median().unstack()
    folders = [*RESULTS.glob("srbench"), *RESULTS.glob("srbench_*rivals")]
    suite = pd.read_parquet(RESULTS / "uci_regression/records.parquet")
    tables = [
        fifty[~fifty.index.str.contains("564_fried|titanic")],
        fifty,
        by_dataset(together(folders, 2000, OTHERS)),
        by_dataset(suite),
    ]
    rows = []
    for name, table in zip(EFFECTS, tables, strict=True):
        assert len(table) == int(name.split()[0])
        pairs, p = compare_with_flagship(table, "rmse")
        for rival in ("simple-blend", "catboost", "lightgbm-td"):
            ratio = table[rival] / table["adaptive"]
            middle, mean = (
                bootstrap_interval(ratio, np.median),
                bootstrap_interval(ratio, geometric_mean),
            )
            rows.append((name, rival, pairs[rival], p[rival], middle, mean))
    return rows


@cache
def effects_of_classification():
    table, loss = by_dataset(uci121()), by_dataset(uci121(), metric="log_loss") + 1e-3
    pairs, p = compare_with_flagship(table)
    rows = []
    for rival in ("simple-blend", "catboost", "lightgbm-td"):
        points = bootstrap_interval(100 * (table["adaptive"] - table[rival]), np.mean)
        ratio = bootstrap_interval(loss[rival] / loss["adaptive"], geometric_mean)
        rows.append((rival, pairs[rival], p[rival], points, ratio))
    return rows


def format_wins(pair, p):
    return f"{pair.better} to {pair.worse} | {p:.2g}"


def format_interval(figures, digits):
    return "{:.{d}f} ({:.{d}f} to {:.{d}f})".format(*figures, d=digits)


def test_effect_sizes():
    text = (RESULTS / "README.md").read_text(encoding="utf-8")
    for name, rival, pair, p, middle, mean in effects_of_regression():
        sizes = f"{format_interval(middle, 3)} | {format_interval(mean, 3)}"
        assert f"| {name} | {rival} | {format_wins(pair, p)} | {sizes} |" in text
    for rival, pair, p, points, ratio in effects_of_classification():
        sizes = f"{format_interval(points, 2)} | {format_interval(ratio, 2)}"
        assert f"| {rival} | {format_wins(pair, p)} | {sizes} |" in text


def test_table_of_readme():
    """One row per collection of sets, one cell per baseline."""
    cells = {}
    for name, _, pair, p, middle, _ in effects_of_regression():
        cell = (
            f"{pair.better} to {pair.worse}, p = {p:.2g}, {format_interval(middle, 3)}"
        )
        cells.setdefault(name, []).append(cell)
    for _, pair, p, diff, _ in effects_of_classification():
        size = format_interval(diff, 1)
        cell = f"{pair.better} to {pair.worse}, p = {p:.2g}, {size} points"
        cells.setdefault("66", []).append(cell)
    for name, folders, datasets in (
        ("small of SRBench", "srbench_refitted,srbench_flagship", OTHERS),
        ("small of uci121", "uci121*refitted,uci121_flagship", ""),
    ):
        beside = beside_rivals(folders, 1000, datasets).set_index("rival")
        for rival in ("the simple blend", "CatBoost", "LightGBM"):
            row = beside.loc[rival]
            cell = f"{row['better']:.0f} to {row['worse']:.0f}, p = {row['p']:.2g}"
            ratio = format_interval((row["ratio"], row["low"], row["high"]), 3)
            cells.setdefault(name, []).append(f"{cell}, {ratio}")
        assert f"| {row['n_datasets']} small of these" in README
    del cells["33 of SRBench"], cells["50 of SRBench"]
    for cell in cells.values():
        assert f"| {' | '.join(cell)} |" in README, cell


def test_comparison_with_refitted_baselines():
    text = " ".join(pages().split())
    sentence = "except CatBoost and ChimeraBoost in classification, where p is 0.053"
    assert sentence in text
    undecided = {}
    for suite, datasets in (("srbench", OTHERS), ("uci121", "")):
        folders = f"{suite}*refitted,{suite}_flagship"
        table = beside_rivals(folders, 1000, datasets).set_index("rival")
        assert "RealMLP" in table.index
        assert (table["ratio"].drop("the simple blend") > 1).all()
        undecided[suite] = table["p"][table["p"] > 0.05].round(3).to_dict()
        records = records_of(folders, 1000)
        assert (records["status"] == "ok").all()
    assert set(undecided["srbench"]) == {"the simple blend"}
    p = undecided["uci121"]
    assert p.pop("the simple blend") > 0.5
    assert p == {"CatBoost": 0.053, "ChimeraBoost": 0.053}
    small = beside_rivals("uci_regression_refitted", 2000).set_index("rival")
    assert small.pop("better").to_dict() == dict.fromkeys(small.index, 5) | {
        "the simple blend": 3,
        "CatBoost": 4,
        "ChimeraBoost": 4,
        "AutoGluon": 4,
    }
    assert "each of ten baselines on four or five, and than the blend on three" in text
    records = records_of("uci_regression_refitted", 2000)
    assert set(records["extra_defaults_version"].dropna()) == {"9"}
    assert len(small) == 11 and (records["status"] == "ok").all()
    assert records["method"].nunique() == 15 and len(records) == 225


def test_interval_coverage_on_srbench():
    records = pd.read_parquet(RESULTS / "srbench/records.parquet")
    records = records[records["dataset"].str.contains(OTHERS)].query(
        "method == 'adaptive'"
    )
    coverage = records.groupby("dataset")["test_interval_coverage"].mean()
    average = f"{coverage.mean():.2f} of the new targets on average"
    by_set = f"{coverage.min():.2f} to {coverage.max():.2f} by set"
    for file in (README, GUIDE):
        text = " ".join(file.split())
        assert len(coverage) == 50 and average in text and by_set in text


def published_accuracies(table):
    numbers = load_published(ROOT / "data/published/uci121_classifiers.csv")
    numbers = numbers.query("metric == 'accuracy' and split == 'test'")
    theirs = numbers.pivot(index="dataset", columns="method", values="mean").reindex(
        table.index
    )
    return theirs.loc[:, theirs.notna().mean() >= 0.9].add_suffix(" (published)")


def test_uci121_tuned():
    text, table = (
        paragraph("41 small ones, eleven"),
        scores("uci121_tuned", "accuracy"),
    )
    pairs, adjusted = compare_with_flagship(table)
    blend = pairs["simple-blend"]
    assert blend.p_equal > 0.95 and "practically equal" in text
    assert f"the blend ({blend.better} sets to {blend.worse})" in text
    significant = {name for name, p in adjusted.items() if p <= 0.05}
    assert significant == {"boosting", "lightgbm", "forest", "xrfm", "knn", "linear"}
    assert round(pairs["svm-rbf"].pvalue, 2) == 0.08


SIZES = [
    ("66 classification", 172, ()),
    ("The 41 sets of at most 1,000", 177, (0, 1000)),
]
SIZES += [("The 25 larger", 157, (1001,))]


@pytest.mark.parametrize(("start", "n", "rows"), SIZES)
def test_uci121(start, n, rows):
    records, text = uci121(*rows), paragraph(start)
    table = by_dataset(records)
    theirs = published_accuracies(table)
    ranks, among = (
        pd.Series(mean_ranks(t), t.columns) for t in (table, table.join(theirs))
    )
    log_loss = by_dataset(records, metric="log_loss").mean()
    seconds = cost_seconds(records).groupby(records["method"]).mean()
    for name in table:
        cells = (
            f"{100 * table[name].mean():.1f} | {ranks[name]:.2f} | {among[name]:.1f} | "
        )
        cells += f"{log_loss[name]:.3f} | {seconds[name]:.1f} |"
        assert f"| {name} | {cells}" in text
    if not rows:
        assert f"({theirs.notna().all().sum()} on all;" in text
    best = among[theirs.columns]
    assert theirs.shape[1] == n and f"{n} published" in text
    assert f"{best.min():.1f} ({best.idxmin().split()[0]})" in text
    pairs, adjusted = compare_with_flagship(table)
    blend, p = pairs["simple-blend"], adjusted.pop("simple-blend")
    assert (
        f"better than the blend on {blend.better} sets and worse on {blend.worse}"
        in text
    )
    assert f"(p = {float(f'{p:.1g}'):.5f}".rstrip("0") in text
    assert blend.p_equal > 0.95 and "practically equal" in text
    assert f"CatBoost (p = {adjusted['catboost']:.1g})" in text
    assert adjusted["forest-default"] < 0.001 and adjusted["lightgbm-td"] < 0.001


@pytest.mark.parametrize(
    ("start", "table", "p_blend"),
    [
        ("119 regression", "leaderboard", 3e-14),
        ("The 50 other sets", "leaderboard_others", 0.4),
    ],
)
def test_srbench(start, table, p_blend):
    records = pd.read_parquet(RESULTS / "srbench/records.parquet")
    assert (records["status"] == "ok").all() and set(records["commit"]) == set(
        uci121()["commit"]
    )
    assert set(records["extra_defaults_version"].dropna()) == {"6"}
    board = pd.read_csv(RESULTS / "srbench/tables" / f"{table}.csv").set_index("method")
    if table == "leaderboard_others":
        records = records[records["dataset"].str.contains(OTHERS)]
    medians = (
        records.groupby(["dataset", "method"])[["test_r2", "test_rmse"]]
        .median()
        .unstack()
    )
    r2, rmse = medians["test_r2"], medians["test_rmse"]
    text, by_r2 = paragraph(start), pd.Series(mean_ranks(r2), r2.columns)
    np.testing.assert_allclose(board.loc[r2.columns, "rank_measured"], by_r2, rtol=1e-4)
    ranks = pd.Series(mean_ranks(rmse, greater_is_better=False), rmse.columns)
    assert f"{len(r2)} " in text[:20] and (board["n_datasets"] == len(r2)).all()
    pairs, p = compare_with_flagship(medians["test_rmse"], "rmse")
    assert float(f"{p.pop('simple-blend'):.1g}") == p_blend and max(p.values()) < 0.001
    blend, trees = pairs["simple-blend"], pairs["catboost"]
    if table == "leaderboard":
        sentence = (
            "{adaptive:.1f}; the simple blend of kernel ridge regression and forests "
        )
        sentence += (
            "{simple-blend:.1f}, CatBoost {catboost:.1f}, tuned defaults of LightGBM "
        )
        sentence += "{lightgbm-td:.1f} and of XGBoost {xgboost-td:.1f}"
        assert sentence.format(**ranks) in text
        assert f"the blend on {blend.better} sets and worse on {blend.worse}" in text
        best = board[board["source"] == "published"]["mean_rank"].min()
        assert (
            f"it has {board.loc['adaptive', 'mean_rank']:.1f}" in text
            and f"{best:.1f}" in text
        )
    else:
        assert blend.p_equal < 0.95 and "no difference between" in text
        assert "ranks {adaptive:.1f} and {simple-blend:.1f} of".format(**ranks) in text
        assert f"p = {p['catboost']:.0e}" in text
        assert f"{trees.better} sets and worse on {trees.worse}" in text
        assert (
            "mean R2 {adaptive:.3f} and {simple-blend:.3f}".format(**r2.mean()) in text
        )
        small = records["n_train"] + records["n_test"] <= 1100
        parts = [records, records[small], records[~small]]
        seconds = [part.groupby("method")["fit_seconds"].mean() for part in parts]
        ours, blends = (
            [each[name] for each in seconds] for name in ("adaptive", "simple-blend")
        )
        sentence = (
            "takes {:.1f} seconds on average, {:.1f} up to 1,100 rows and {:.0f} "
        )
        assert sentence.format(*ours) in text
        assert "the blend's {:.1f} ({:.1f} and {:.0f})".format(*blends) in text
        sentence = (
            "CatBoost's {catboost:.1f}, LightGBM's {lightgbm-td:.1f} and XGBoost's "
        )
        assert f"{sentence}{{xgboost-td:.1f}}.".format(**seconds[0]) in text


def test_srbench_sensitivity():
    """Without development sets, with one set per source, and by R2."""
    records = pd.read_parquet(RESULTS / "srbench/records.parquet")
    records = records[records["dataset"].str.contains(OTHERS)]
    tables = records.groupby(["dataset", "method"])[["test_r2", "test_rmse"]].median()
    tables, text = (
        tables.unstack(),
        paragraph("The suite srbench is not a confirmation"),
    )
    found, p = compare_with_flagship(tables["test_r2"], "r2")
    trees, blend = found["catboost"], found["simple-blend"]
    assert (
        f"on {trees.better} and {trees.worse} by R2 (p = {p['catboost']:.1g})" in text
        and f"on {blend.better} and {blend.worse} by R2" in text
    )
    error, developed = tables["test_rmse"], "fri_c|564_fried|titanic"
    error = error[~error.index.str.contains(developed)]
    found, p = compare_with_flagship(error, "rmse")
    blend, trees, light = map(found.get, ("simple-blend", "catboost", "lightgbm-td"))
    sentence = f"{blend.worse} (p = {p['simple-blend']:.1g})"
    assert f"{len(error)} sets" in text
    assert f"better than the blend on {blend.better} and worse on {sentence}" in text
    sentence = f"{trees.better} and {trees.worse} (p = {p['catboost']:.0e})"
    assert f"than CatBoost on {sentence}" in text
    sentence = f"{light.better} and {light.worse} (p = {p['lightgbm-td']:.0e})"
    assert f"LightGBM on {sentence}" in text
    pairs = [("561_", "230_"), ("556_", "557_"), ("522_", "547_"), ("218_", "574_")]
    better, significant = {}, set()
    for left_out in product(*pairs):
        one_per_source = error[~error.index.str.contains(f"-(?:{'|'.join(left_out)})")]
        assert len(one_per_source) == 44
        found, p = compare_with_flagship(one_per_source, "rmse")
        significant.add(frozenset(name for name in p if p[name] < 0.05))
        for name, pair in found.items():
            better.setdefault(name, set()).add(pair.better)
    assert better["simple-blend"] == {25, 26} and "blend on 25 or 26" in text
    assert better["catboost"] == {38, 39} and "CatBoost on 38 or 39" in text
    assert better["lightgbm-td"] == {41} and "LightGBM on 41," in text
    assert significant == {frozenset({"catboost", "lightgbm-td", "xgboost-td"})}


def test_uci_regression():
    records = pd.read_parquet(RESULTS / "uci_regression/records.parquet")
    assert (records["status"] == "ok").all() and len(records) == 825
    assert set(records["commit"]) == set(uci121()["commit"])
    pairs = against_all(records, "adaptive").set_index("method")
    blend, trees = pairs.loc["simple-blend"], pairs.drop("simple-blend")
    text = paragraph("Nine regression")
    wins = (
        f"better than the blend on {blend['better']:.0f} and worse on "
        f"{blend['worse']:.0f}"
    )
    sentence = f"(p = {blend['holm']:.3f}, not significant)"
    assert blend["holm"] > 0.05 and f"{wins} {sentence}" in text
    assert (
        trees["better"] == 9
    ).all() and f"(p = {trees['holm'].max():.3f}; both" in text
    won = read_tables(RESULTS / "uci_regression")["ttest"].query("winner == 'adaptive'")
    assert len(won) == 25 and (won["method_b"] == "simple-blend").sum() == 4
    for name, seconds in records.groupby("method")["fit_seconds"].mean().items():
        assert f"{seconds:.0f}" in text, name


@pytest.mark.parametrize(
    ("start", "suites", "datasets", "n"),
    [
        ("33 of SRBench's sets", "srbench", OTHERS, (33, 11)),
        ("Eleven methods on the four", "uci_regression", LARGER, (4, 11)),
        ("RealMLP beside", "uci121", "", (66, 6)),
    ],
)
def test_leaderboards_of_several_folders(start, suites, datasets, n):
    text, most = paragraph(start), np.inf if n[0] in (4, 66) else 2000
    folders = [
        f"{suite}{others}" for suite in suites.split() for others in ("", "_*rivals")
    ]
    records = together(
        [f for name in folders for f in RESULTS.glob(name)], most, datasets
    )
    late = set(records.loc[records["status"] != "ok", "method"])
    assert records["commit"].isin(uci121()["commit"]).all()
    assert late == ({"tabm-d"} if n[0] == 4 else set())
    pairs, p = compare_with_flagship(
        by_dataset(records), "accuracy" if suites == "uci121" else "rmse"
    )
    pair, sure = pairs["simple-blend"], p.pop("simple-blend")
    assert (
        f"the blend on {pair.better} sets and worse on {pair.worse} "
        f"({f'p = {sure:.1g}' if sure == sure else 'too few to test'})" in text
    )
    if datasets == OTHERS:
        assert len(p) == 9
        one, p_one = pairs["autogluon"], p["autogluon"]
        assert (
            f"AutoGluon on {one.better} and worse on {one.worse} (p = {p_one:.1g})"
            in text
        )
        run_minutes = records.groupby("method")["run_seconds"].sum() / 60
        sentence = (
            "AutoGluon took {autogluon:.0f} minutes, those of explainable boosting "
        )
        sentence += "{ebm:.0f}, those of TabM {tabm-d:.0f}"
        assert sentence.format(**run_minutes) in text
        assert run_minutes.drop(["autogluon", "ebm", "tabm-d"]).max() < 2
    assert (max(p.values()) < 0.05) == ("significantly better than all others" in text)
    table = by_dataset(records)
    assert table.shape == n and f"{n[0]} " in text
    ranks = mean_ranks(table, greater_is_better=suites == "uci121")
    for name, rank in zip(table, ranks, strict=True):
        assert f"| {name} | {rank:.2f} |" in text


def test_uci121_version7():
    """The other methods ran at an older commit, on the same tables, folds and seeds."""
    folders = [
        RESULTS / f"uci121{part}/records.parquet" for part in ("_version7", "_rivals")
    ]
    new, rival = map(pd.read_parquet, folders)
    assert (new["status"] == "ok").all() and new["commit"].nunique() == 1
    assert set(new["extra_defaults_version"]) == {"7"}
    runs = pd.concat([uci121().query("method != 'adaptive'"), new, rival])
    same = ["data_fingerprint", "protocol_seed", "seed", "n_train", "n_test"]
    assert (runs.groupby(["dataset", "repeat"])[same].nunique() == 1).all(axis=None)
    text, table = paragraph("Version 7 of the defaults"), by_dataset(runs)
    five = table.drop(columns="realmlp-td")
    rank, best = (pd.Series(mean_ranks(t), t.columns) for t in (five, table))
    assert (
        f"mean rank {rank['adaptive']:.2f} of the five" in text
        and best.idxmin() == "adaptive"
    )
    assert (
        f"six ({best['adaptive']:.2f})" in text
        and max(compare_with_flagship(table)[1].values()) < 0.05
    )
    pairs, p = compare_with_flagship(five)
    blend, p = pairs["simple-blend"], p["simple-blend"]
    assert f"on {blend.better} sets and worse on {blend.worse} (p = {p:.1g})" in text
    rows = (
        (new["n_train"] + new["n_test"])
        .groupby(new["dataset"])
        .max()[table.index]
        .astype(float)
    )
    assert f"{100 * np.average(table['adaptive'], weights=rows):.2f} %" in text
    behind = rows.index[
        (table["adaptive"] < table["realmlp-td"] - 1e-9) & (rows > 9000)
    ]
    assert [*behind] == ["uci121-letter", "uci121-magic"]
    for metric, n_changed, most in (("accuracy", 3, 0.0034), ("log_loss", 24, 0.01)):
        change = (
            by_dataset(new, metric=metric)
            - by_dataset(uci121(), metric=metric)[["adaptive"]]
        )
        change = change["adaptive"].drop(["uci121-chess-krvk", "uci121-letter"]).abs()
        assert (change > 1e-9).sum() == n_changed and change.max() < most
    assert f"({100 * table['adaptive'].mean():.1f} % with [version 7]" in README
    seconds = new.groupby("dataset")["fit_seconds"].mean()
    small = new["dataset"].isin(rows.index[rows <= 1000])
    means = [new.loc[part, "fit_seconds"].mean() for part in (small, ~small)]
    longest = seconds["uci121-chess-krvk"]
    for page in (text, README, " ".join(GUIDE.split())):
        assert f"{means[0]:.1f} s" in page and f"{means[1]:.1f} s" in page
        assert f"{longest:.0f} s on chess-krvk" in page and longest == seconds.max()


def test_results_that_did_not_reproduce():
    """Regression test: rows of these tables were not mentioned."""
    text = " ".join(pages().split())
    table = pd.read_csv(RESULTS / "dank_synthetic/tables/dank_synthetic.csv")
    printed = table.query("dataset == 'step-1d-printed'").set_index("method")
    dank, svr = printed.loc[["dank", "svr"], "relative_mse"]
    sentence = f"{dank / svr:.1f} times SVR's ({dank:.5f} and {svr:.5f})"
    assert sentence in text

    ranks = read_tables(RESULTS / "dank_uci")["summary"]
    ranks = ranks.query("metric == 'rank' and method == 'dank'")
    ranks = ranks.set_index("dataset")["mean"]
    theirs = load_published(ROOT / "data/published/dank_tau_sensitivity.csv")
    theirs = theirs.query("metric == 'rank' and method == 'dank@tau=0.01'")
    deviation = (ranks - theirs.set_index("dataset")["mean"]).abs()
    assert len(deviation) == 10 and (deviation < 1.05).sum() == 3
    assert deviation[deviation >= 1.05].round().agg(["min", "max"]).tolist() == [2, 10]
    for name in ("wine", "monks2", "sonar"):
        assert f"{name} {ranks[name]:.1f} and" in text

    published = read_tables(RESULTS / "knpl_uci_small")["published"]
    published = published.query(
        "metric == 'accuracy' and split == 'test' and method == 'svm-cv'"
    )
    deviation = 100 * published.set_index("dataset")["difference"]
    assert (deviation.abs() < 1.3).sum() == 7 and len(deviation) == 12
    assert f"{deviation['splice']:.1f} points above on splice" in text
    assert f"{-deviation['sonar']:.1f} below on sonar" in text


def test_best_global_bandwidth_on_sine():
    """On the points of the figure, whose two bandwidths were not tuned."""
    X, y = make_sin_2x3(n=1200, high=3.0)
    parts = train_test_split(X, y, test_size=0.5, random_state=0)
    X_train, X_test, y_train, y_test = parts
    X_train, X_test = (
        2 * (part - X_train.min()) / np.ptp(X_train) - 1 for part in (X_train, X_test)
    )
    order = np.argsort(X_train[:, 0])
    rows = order[np.linspace(0, len(order) - 1, 40).round().astype(int)]

    def score_on_few_rows(gamma):
        model = KernelRidge(kernel="rbf", gamma=gamma, alpha=1e-3)
        return model.fit(X_train[rows], y_train[rows]).score(X_test, y_test)

    def score_on_all_rows(gamma):
        K, K_test = (
            rbf_kernel(part, X_train[rows], gamma) for part in (X_train, X_test)
        )
        model = Ridge(alpha=1e-6, fit_intercept=False).fit(K, y_train)
        return model.score(K_test, y_test)

    plotted = pd.read_csv(RESULTS / "lab_sine/tables/lab_sine.csv").set_index("model")
    for gamma in (20, 100):
        r2 = plotted.loc[f"global, gamma = {gamma}", "r2"]
        assert score_on_few_rows(gamma) == pytest.approx(r2, abs=1e-3)
    widths = np.logspace(0, 4, 161)
    best, best_of_all = (
        max(map(score, widths)) for score in (score_on_few_rows, score_on_all_rows)
    )
    text = " ".join(pages().split())
    guide = " ".join(GUIDE.split())
    assert f"by the test rows, has {best:.2f}, and {best_of_all:.2f}" in text
    assert f"as many points {best:.2f} ({best_of_all:.2f} with" in guide


def test_errors_and_times_on_larger_sets():
    text, folder = paragraph("Eleven methods on the four"), RESULTS / "uci_regression"
    larger = pd.read_parquet(f"{folder}_large_rivals/records.parquet")
    suite = pd.read_parquet(folder / "records.parquet").query("repeat == 0")
    runs = pd.concat([suite, larger]).query("dataset == 'uci_regression-kin8nm'")
    error = runs.set_index("method")["test_rmse"]
    assert (
        "({realmlp-td:.4f}, flagship {adaptive:.4f}, TabM {tabm-d:.4f})".format(**error)
        in text
    )
    fit_minutes = (
        larger.pivot(index="dataset", columns="method", values="fit_seconds") / 60
    )
    protein, naval = (
        fit_minutes.filter(like=name, axis=0).iloc[0] for name in ("protein", "naval")
    )
    sentence = "took {xrfm-d:.0f} minutes, and explainable boosting {ebm:.0f};"
    assert sentence.format(**protein) in text
    assert f"explainable boosting took {naval['ebm']:.0f}." in text
    hours, minutes = divmod(larger["run_seconds"].sum() / 60, 60)
    assert f"{hours:.0f} hours and {minutes:.0f} minutes" in text


BOARDS = ["uci_regression", "uci_regression_tuned", "uci121_tuned", "uci121_protocols"]


@pytest.mark.parametrize("folder", BOARDS)
def test_leaderboard_ranks_are_recomputed(folder):
    board = pd.read_csv(RESULTS / folder / "tables/leaderboard.csv", index_col="method")
    metric = board.filter(regex="^mean_(acc|rmse)").columns[0].removeprefix("mean_")
    table = scores(folder, metric)
    expected = mean_ranks(table, greater_is_better=metric == "accuracy")
    np.testing.assert_allclose(
        board.loc[table.columns, "rank_measured"], expected, rtol=1e-4
    )


def test_no_learned_kernel_differs_from_svm_after_holm():
    """Regression test: p-values of 0.045 and 0.049 were reported as differences."""
    tests = read_tables(RESULTS / "dank_uci")["ttest"]
    diabetic = tests[(tests["dataset"] == "diabetic") & (tests["method_b"] == "svm-cv")]
    p = diabetic.set_index("method_a")["corrected_pvalue"].round(3)
    assert (p["dank"], p["mkl-uniform"]) == (0.045, 0.049)
    assert (tests["winner"] == "").all()


def test_significant_pairs_after_holm():
    won = read_tables(RESULTS / "knpl_uci_small")["ttest"].query("winner != ''")
    assert set(won["dataset"]) == {"climate"}
    assert set(won["winner"] + " " + won["method_a"]) == {
        "svm-cv easymkl",
        "knpl easymkl",
    }


def test_accuracy_weighted_by_rows():
    table, records = by_dataset(uci121()), uci121()
    rows = (records["n_train"] + records["n_test"]).groupby(records["dataset"]).max()
    weighted = 100 * table.apply(np.average, weights=rows[table.index].astype(float))
    means = [weighted[name] for name in ("adaptive", "lightgbm-td", "simple-blend")]
    assert "{:.2f} %, LightGBM {:.2f}, the blend {:.2f}".format(*means) in paragraph(
        "66 class"
    )
    last = scores("uci121_small", "accuracy").mean().nsmallest(2).index
    assert [*last] == ["boosting-default", "lightgbm-default"]


def test_leak_of_learned_metric_after_holm():
    table = pd.read_csv(RESULTS / "rfm_metric_leak/tables/rfm_metric_leak.csv")
    halves = pd.read_csv(RESULTS / "uci121_leak_rfm/tables/leak.csv")["p_value"].item()
    pairs = [
        compare_over_sets(table[a], table["nested"]) for a in ("published", "same_size")
    ]
    text = paragraph("Recursive feature machines and the halves")
    adjusted = holm_correction([*(pair.pvalue for pair in pairs), halves])
    for pair, p in zip(pairs, adjusted, strict=False):
        assert f"better on {pair.better} sets" in text and f"p = {p:.1g} after" in text


def test_ablations_after_holm():
    for folder, start, metric, n_significant in (
        ("adaptive_ablation_regression", "What each part", "rmse", 1),
        ("adaptive_ablation", "The same for classification", "accuracy", 0),
        ("adaptive_ablation", "The same for classification", "log_loss", 2),
    ):
        table = pd.read_csv(RESULTS / folder / "tables/adaptive_ablation.csv")
        p = holm_correction(table[table["metric"] == metric]["p_value"].dropna())
        assert (
            len(p) == 18
            and "18" in paragraph(start)
            and (p <= 0.05).sum() == n_significant
        )


@pytest.mark.parametrize("folder", sorted(RESULTS.glob("*/")), ids=lambda p: p.name)
def test_significance_marks_of_every_folder(folder):
    """Regression test: 793 pairs were marked on the basis of two equal differences."""
    if (
        not (folder / "ranks.csv").exists()
        or (tests := read_tables(folder)["ttest"]).empty
    ):
        return
    assert tests.loc[tests["n"] < 5, "corrected_pvalue"].isna().all()
    for _, pairs in tests.groupby(["task", "dataset"]):
        adjusted = holm_correction(pairs["corrected_pvalue"])
        np.testing.assert_array_equal(pairs["winner"] != "", adjusted <= 0.05)


@pytest.mark.parametrize("file", ["README.md", "docs/guide.md"])
def test_figures_of_readme_and_guide(file):
    page = filled_in((ROOT / file).read_text(encoding="utf-8"))
    text = " ".join(page.split())
    table = by_dataset(uci121())
    assert table.shape == (66, 5)
    theirs, means = published_accuracies(table), 100 * table.mean()
    assert f"best published classifier {100 * theirs.mean().max():.1f}" in text
    assert (
        f"{means['adaptive']:.1f} %" in text
        and f"blend {means['simple-blend']:.1f}" in text
    )
    ranks = pd.Series(mean_ranks(table), table.columns)
    assert ranks.idxmin() == means.idxmax() == "adaptive"
    if file == "README.md":
        return
    assert "66 classification sets" in text
    assert f"{ranks['adaptive']:.1f}" in text and f"{ranks['simple-blend']:.1f}" in text
    for rows in ((0, 1000), (1001,)):
        pairs, _ = compare_with_flagship(by_dataset(uci121(*rows)))
        blend = pairs["simple-blend"]
        assert f"better on {blend.better}, worse on {blend.worse}" in text
        seconds = uci121(*rows).groupby("method")["fit_seconds"].mean()
        assert f"{seconds['adaptive']:.2g} s" in text


def test_missing_figure_raises():
    with pytest.raises(KeyError, match=r"heart dnk.* has no such figure"):
        filled_in("{dank_uci/accuracy heart dnk:.1f}")
    assert filled_in("{dank_uci/accuracy heart\nsvm-cv:.1f} %") == "82.7 %"
    for page in ("claims", "guide", "noniid", "results/README"):
        text = filled_in((ROOT / f"docs/{page}.md").read_text(encoding="utf-8"))
        assert not re.search(r"^\{(?!class)|\{\w+/", text, re.MULTILINE)


def test_noniid_wins_and_coverage():
    records = pd.read_parquet(RESULTS / "noniid/records.parquet")
    assert (records["status"] == "ok").all() and records["base_dataset"].nunique() == 18
    cells = records.groupby(["sweep_kind", "base_dataset", "method"])
    accuracy = cells["test_accuracy"].mean().unstack().loc["declared"]
    haberman = accuracy.loc["haberman-time"]
    assert haberman.max() - haberman["dummy"] < 0.005
    assert accuracy.loc["eeg-time"].max() <= 0.52
    tables = cells["test_rmse"].mean().unstack().dropna(how="all")
    text = " ".join((ROOT / "docs/noniid.md").read_text(encoding="utf-8").split())
    by_chance, _ = compare_with_flagship(tables.loc["holdout"], "rmse")
    rival = by_chance.pop("catboost")
    assert f"CatBoost on {rival.better} sets and worse on {rival.worse}" in text
    assert {pair.better for pair in by_chance.values()} == {14}
    pairs, p = compare_with_flagship(tables.loc["declared"], "rmse")
    for sentence, *methods in (
        ("than CatBoost on {} and worse on {} (p = {:.2f}", "catboost"),
        ("than nearest neighbours on {} and worse on {}", "knn"),
        ("mixed model on {} and {} each (all p = {:.2f})", "linear", "mixed"),
        ("than the forest on {} and {} (p = {:.3f})", "forest-default"),
        ("LightGBM on {} and {} (p = {:.3f}", "boosting-default", "lightgbm-default"),
    ):
        for name in methods:
            pair = pairs[name]
            assert sentence.format(pair.better, pair.worse, p[name]) in text
    assert p["knn"] == p["linear"]
    parkinsons = tables.loc["declared", "parkinsons-groups"]
    assert parkinsons.idxmin() == "knn"
    assert parkinsons["dummy"] < 1.01 * parkinsons["knn"]
    coverage = cells["test_interval_coverage"].mean().xs("adaptive", level="method")
    for name in ("drift-fast", "sml2010-time"):
        for value in (
            tables.loc["declared", name]["adaptive"],
            coverage["declared", name],
        ):
            assert f" to {value:.2f} " in text or f" to {value:.2f}." in text
