"""A confirmation on a folder of tables: refused declarations and its report."""

import json
import shutil
import sys
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import yaml
from sklearn.datasets import load_diabetes, load_wine

from adakern_bench.base.paths import CONF
from adakern_bench.config import declared
from adakern_bench.config.compose import ConfigError, load_config
from adakern_bench.config.infer import inferred
from adakern_bench.config.plan import Plan
from adakern_bench.data.near_copies import development_digests
from adakern_bench.data.sources import check_tables
from adakern_bench.report.confirmation import registered
from adakern_bench.report.page import protocol_in_words
from project import REPOSITORY, Run

FOLDER = "data/raw/confirmation"
HEAD = "file,target,kind,column\n"
METHODS = "method=[dummy,linear,knn]"
#: File -> its line in SETS.csv.
SETS = {
    "wards.csv": "y,grouped,ward",
    "plots.parquet": "y,grouped,plot",
    "river.csv": "y,time,day",
    "plain.csv": "y,random,",
    "kinds.csv": "kind,random,",
}


def make_table(seed, n=72):
    """A table with three numbers, a category, groups, days, and two targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["word"] = rng.choice(["red", "green", "blue"], n)
    frame["ward"] = frame["plot"] = [f"g{k}" for k in rng.permutation(n) % 12]
    frame["day"] = pd.date_range("2021-03-01", periods=n)[rng.permutation(n)]
    frame["y"] = X[:, 0] + rng.normal(size=n)
    frame["kind"] = np.where(frame["y"] > 0, "up", "down")
    return frame


def columns_for(file):
    """The columns of a table in the folder."""
    extra = {
        "wards.csv": ["ward"],
        "plots.parquet": ["plot"],
        "river.csv": ["day"],
    }
    target = "kind" if file == "kinds.csv" else "y"
    return ["a", "b", "c", "word", *extra.get(file, []), target]


def write_tables(root, tables, lines):
    """Write tables and their SETS.csv into the folder below `root`."""
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for file, frame in tables.items():
        write = frame.to_parquet if file.endswith("parquet") else frame.to_csv
        write(folder / file, index=False)
    rows = "".join(f"{file},{line}\n" for file, line in lines.items())
    (folder / "SETS.csv").write_text(HEAD + rows)


def write_valid_tables(root, changed=None, lines=None):
    """Write five valid tables, with the changes of a test."""
    tables = {f: make_table(seed)[columns_for(f)] for seed, f in enumerate(SETS)}
    write_tables(root, tables | (changed or {}), SETS | (lines or {}))


@pytest.fixture(scope="module")
def composed_config():
    return load_config(["experiment=confirmation", METHODS])


@pytest.fixture
def make_plan(composed_config, tmp_path, monkeypatch):
    """Return a function that reads and checks the folder, composing the experiment
    once.
    """
    monkeypatch.delenv("ADAKERN_DATA_MIRROR", raising=False)

    def read(**suite):
        config = deepcopy(composed_config)
        config.suite = replace(config.suite, **suite)
        config.data.cache = str(tmp_path / "data")
        declared.fill_in(config)
        plan = Plan(config)
        check_tables(plan)
        return plan

    return read


def test_split_kind_follows_declaration(tmp_path, make_plan):
    write_valid_tables(tmp_path)
    plan = make_plan()
    kinds = {name: plan.split_kind(name) for name in plan.datasets}
    assert kinds == {
        "confirmation-wards": "group-holdout",
        "confirmation-plots": "group-holdout",
        "confirmation-river": "time",
        "confirmation-plain": "holdout",
        "confirmation-kinds": "holdout",
    }
    entry = plan.entry("confirmation-wards")
    assert (entry.groups, entry.drop, entry.n) == ("ward", ["ward"], 72)
    assert plan.entry("confirmation-kinds").task == "classification"
    protocol = " ".join(protocol_in_words({"protocol": vars(plan.config.protocol)}))
    assert "25 % of the groups;" in protocol and "all rows before it" in protocol
    assert make_plan(only=["river"]).datasets == ["confirmation-river"]


def test_only_changed_tables_are_read_again(tmp_path, make_plan, monkeypatch):
    write_valid_tables(tmp_path)
    entries, read = make_plan().config.dataset, []

    def record_and_infer(path, *arguments, **options):
        read.append(path.name)
        return inferred(path, *arguments, **options)

    monkeypatch.setattr(declared, "inferred", record_and_infer)
    assert make_plan().config.dataset == entries and not read
    write_valid_tables(tmp_path, lines={"plain.csv": "a,random,"})
    make_table(7, 80)[columns_for("wards.csv")].to_csv(tmp_path / FOLDER / "wards.csv")
    datasets = make_plan().config.dataset
    assert {"plain.csv", "wards.csv"} <= {*read}
    assert datasets["confirmation-wards"].n == 80
    assert datasets["confirmation-plain"].target == "a"


GAPS = make_table(3).assign(y=lambda frame: frame["y"].mask(frame.index < 4))
REFUSED = {
    "no file": ({}, {"lost.csv": "y,random,"}, "lost.csv: there is no such file"),
    "outside": ({}, {"../x.csv": "y,random,"}, "../x.csv: there is no such file"),
    "no target": ({}, {"plain.csv": "z,random,"}, "plain.csv: no column 'z' among"),
    "no group": ({}, {"wards.csv": "y,grouped,wards"}, "no column 'wards'.* 'ward'"),
    "no kind": (
        {},
        {"plain.csv": "y,randon,"},
        "must be one of .* got 'randon'.* 'random'",
    ),
    "no column": ({}, {"river.csv": "y,time,"}, "needs the time in column, and"),
    "a column": ({}, {"plain.csv": "y,random,a"}, "needs no column, and .* 'a'"),
    "a comma in a name": (
        {},
        {"wards.csv": "y,grouped,ward, town"},
        "wards.csv: the line has more values than SETS.csv has columns",
    ),
    "a single time": (
        {"river.csv": make_table(2).assign(day="2021-03-01")[columns_for("river.csv")]},
        {},
        "'day' has 1 different value, but",
    ),
    "gaps": (
        {"plain.csv": GAPS},
        {},
        "plain.csv: the target 'y' has missing values .*4 rows",
    ),
    "few rows": ({"plain.csv": make_table(3, 49)}, {}, "49 rows, expected at least 50"),
    "folds": (
        {"wards.csv": make_table(0).assign(ward=np.arange(72) % 5)},
        {},
        "wards.csv: 'ward' has 5 different values, but 5 folds need at least 6",
    ),
    "twice": (
        {"plain.parquet": make_table(9)},
        {"plain.parquet": "y,random,"},
        "the table is declared twice",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_invalid_declaration_raises(tmp_path, make_plan, case):
    changed, lines, message = REFUSED[case]
    write_valid_tables(tmp_path, changed, lines)
    with pytest.raises(ConfigError, match=message) as refused:
        make_plan()
    assert str(refused.value).count("\n  - ") == 1


def test_all_invalid_tables_are_reported_at_once(tmp_path, make_plan):
    write_valid_tables(tmp_path, {"plain.csv": GAPS}, {"lost.csv": "y,random,"})
    with pytest.raises(ConfigError, match=r"(?s)plain\.csv.*lost\.csv"):
        make_plan()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no .*confirmation with a file SETS.csv. Put the tables there"),
        (HEAD, "has no line"),
        ("file;target\n", "no 'file' and no 'target' and no 'kind'"),
        (f"{HEAD}größe.csv,y,random,\n", "there is no such file"),
    ],
)
def test_missing_or_invalid_sets_file_raises(tmp_path, make_plan, text, message):
    write_valid_tables(tmp_path)
    path = tmp_path / FOLDER / "SETS.csv"
    path.unlink() if text is None else path.write_text(text, encoding="cp1252")
    with pytest.raises(ConfigError, match=message):
        make_plan()


def test_folder_outside_data_raises(make_plan):
    with pytest.raises(ConfigError, match="must be a folder below"):
        make_plan(tables="../elsewhere")


def near_copies():
    """Case -> a near copy of a known table, and the expected message."""
    wine = load_wine(as_frame=True).frame
    wine.columns = [f"v{k}" for k in range(13)] + ["y"]
    diabetes = load_diabetes(as_frame=True).frame.rename(columns={"target": "y"})
    units = 3 * wine.drop(columns="y") + 1
    units["y"] = wine["y"].map("abc".__getitem__)
    other = make_table(0).rename(columns={"ward": "part"})
    other = other[["c", "word", "part", "a", "b", "y"]]
    return {
        "the same": (
            diabetes,
            "sk-diabetes: the same number of rows .442. and the same target",
        ),
        "other units, columns and words": (
            units.sample(frac=1, random_state=0).loc[:, ::-1],
            "(sk-wine|uci121-wine): the same number of rows .178. and 14 equal columns",
        ),
        "half of its rows": (
            diabetes.sample(frac=0.5, random_state=0).assign(y=lambda x: x["y"] ** 2),
            r"sk-diabetes: about \d+% equal rows",
        ),
        "another of the folder": (
            other,
            "confirmation-wards: the same number of rows .72. and",
        ),
    }


@pytest.mark.parametrize("case", near_copies())
def test_near_copy_of_development_set_raises(tmp_path, make_plan, case):
    frame, message = near_copies()[case]
    write_valid_tables(tmp_path, {"plain.csv": frame})
    with pytest.raises(ConfigError, match=f"plain is, or nearly is, {message}"):
        make_plan()


def test_every_development_set_has_a_digest():
    """Every downloaded set except four whose files are not available."""
    absent = {"cifar10", "covtype", "features", "tomshardware"}
    files = (CONF / "dataset").glob("*.yaml")
    expected = {p.stem for p in files if "\nfiles:" in p.read_text("utf-8")}
    for suite in ("uci121", "uci_regression", "srbench"):
        sets = pd.read_csv(CONF / f"suite/{suite}.csv", dtype={"set": str})["set"]
        expected |= set(f"{suite}-" + sets)
    known = set(development_digests())
    assert {name for name in expected - known if name[:3] != "my-"} == absent
    names = ("breast-cancer", "diabetes", "iris", "wine")
    assert known - expected == {f"sk-{name}" for name in names}


PARAMS = yaml.safe_load((CONF / "experiment/confirmation.yaml").read_text("utf-8"))
PARAMS = PARAMS["tables"]["registered"]["params"]


def make_runs(errors, task="regression"):
    """Records of two repeats per data set, given each method's mean errors."""
    metric = "test_rmse" if task == "regression" else "test_log_loss"
    rows = []
    for method, of_method in errors.items():
        for k, error in enumerate(of_method):
            for repeat, factor in enumerate((0.9, 1.1)):
                row = {"task": task, "dataset": f"s{k}", "method": method}
                row |= {"repeat": repeat, "status": "ok", metric: error * factor}
                rows.append(row)
    return pd.DataFrame(rows)


def registered_table(records, **rivals):
    rivals = rivals or PARAMS["rivals"]
    table = registered(records, **PARAMS | {"rivals": rivals})
    return table.set_index("rival")


def test_sentence_matches_outcome(rng):
    ours = rng.uniform(1, 2, 12)
    errors = {
        "adaptive": ours,
        "simple-blend": ours * rng.uniform(1.1, 1.4, 12),
        "catboost": ours * np.exp(rng.permutation(np.linspace(-0.1, 0.1, 12))),
        "catboost-td": ours * 1.5,
        "lightgbm-td": ours * rng.uniform(0.6, 0.8, 12),
    }
    table = registered_table(make_runs(errors))
    blend, p = table.loc["the simple blend"], 2 / 2**12
    assert (blend["better"], blend["worse"], blend["tied"]) == (12, 0, 0)
    assert blend["p"] == pytest.approx(3 * p)  # Holm over the three rivals that ran
    ratios = np.log(errors["simple-blend"] / ours)
    assert blend["ratio"] == pytest.approx(np.exp(ratios.mean()))
    assert blend["low"] < blend["ratio"] < blend["high"]
    spread = (
        1.96 * ratios.std() / np.sqrt(12)
    )  # normal approximation of the bootstrap interval
    assert np.log(blend["high"] / blend["low"]) == pytest.approx(2 * spread, rel=0.15)
    assert "flagship's error is smaller than that of the simple blend" in blend.sentence
    assert "better on 12, worse on 0, level on 0 (p = 0.0015)" in blend.sentence
    catboost = table.loc["CatBoost"]
    assert catboost["method"] == "catboost" and catboost["p"] > 0.05
    assert "no difference from CatBoost is shown: better on 6" in catboost.sentence
    assert "greater than that of LightGBM" in table.loc["LightGBM", "sentence"]
    assert table.loc["TabM", "sentence"].startswith("TabM was not run: ")


def test_run_without_flagship_makes_no_tests():
    table = registered_table(make_runs({"catboost": [1.0, 2.0], "dummy": [2.0, 3.0]}))
    assert table["sentence"].str.startswith("adaptive was not run").all()
    assert table["p"].isna().all()


def test_too_few_data_sets_for_significance(rng):
    ours = rng.uniform(1, 2, 6)
    three = {"catboost": 2 * ours, "xgboost-td": 2 * ours, "ebm": 2 * ours}
    few = registered_table(make_runs({"adaptive": ours[:5], "catboost": 2 * ours[:5]}))
    assert np.isnan(few.loc["CatBoost", "p"])
    assert "5 regression sets are too few to test" in few.loc["CatBoost", "sentence"]
    six_sets = registered_table(make_runs({"adaptive": ours} | three))
    sentence = six_sets.loc["CatBoost", "sentence"]
    assert "no difference" in sentence and "The least p" in sentence
    assert sentence.endswith("so many sets and rivals is 0.094.")


def test_failures_get_worst_score_and_zero_losses_are_offset():
    records = make_runs(
        {"adaptive": [0.0, 0.5, 0.2], "catboost": [0.0, 0.4, 0.4], "dummy": [1, 2, 3]},
        "classification",
    )
    failed = (records["method"] == "adaptive") & (records["dataset"] == "s1")
    records.loc[failed & (records["repeat"] == 1), ["status", "test_log_loss"]] = [
        "timeout",
        np.nan,
    ]
    row = registered_table(records).loc["CatBoost"]
    assert (row["better"], row["worse"], row["tied"]) == (1, 1, 1)
    ours = np.array([0.001, (0.5 * 0.9 + 2 * 1.1) / 2 + 0.001, 0.201])
    theirs = np.array([0.001, 0.401, 0.401])
    assert row["ratio"] == pytest.approx(np.exp(np.log(theirs / ours).mean()))


def test_preregistration_page_lists_sentences_and_rivals():
    text = (REPOSITORY / "docs/results/preregistration.md").read_text("utf-8")
    plain = " ".join(text.split())
    for sentence in PARAMS["sentences"].values():
        assert sentence in plain
    for methods in PARAMS["rivals"].values():
        assert all(f"`{method}`" in plain for method in methods)
    assert f"fewer than {declared.FEWEST_ROWS} rows" in plain


def start_times(path):
    """Start times of the runs in a file of records."""
    return [record["started_at"] for record in json.loads(path.read_text())]


def test_confirmation_refuses_copy_and_resumes_after_kill(project):
    """Six tables, one of them a copy of a development set, and fast methods."""
    write_valid_tables(project.root)
    lines = (project.root / FOLDER / "SETS.csv").read_text()
    frame = load_diabetes(as_frame=True).frame
    frame.sample(frac=1, random_state=0).to_csv(
        project.root / FOLDER / "known.csv", index=False
    )
    project.write(f"{FOLDER}/SETS.csv", lines + "known.csv,target,random,\n")
    settings = ["method=[dummy,lightgbm-default]", "name=trial"]
    settings += ["tables.registered.params.flagship=dummy", "protocol.repeats=2"]
    settings += ["tracking.enabled=false", "jobs.cells=20"]  # in one process
    command = ["run", "confirmation", "--cores", "2", *settings]
    refused = project.adakern(*command, status=1)
    output = refused.stdout + refused.stderr
    assert "confirmation-known is, or nearly is, sk-diabetes" in output
    written = (project.root / "results").rglob("*")
    assert {path.name for path in written if path.is_file()} <= {"run.yaml"}

    project.write(f"{FOLDER}/SETS.csv", lines)
    records = project.root / "results/trial/records"
    script = "import sys; from adakern.cli import main; sys.exit(main())"
    call = [sys.executable, "-c", script, *command]
    with Run(call, project.root, project.environment) as run:
        run.wait_for(lambda: len([*records.glob("*/*/*.json")]) >= 2)
    kept = {path: start_times(path) for path in records.glob("*/*/*.json")}
    assert 2 <= len(kept) < 10
    shutil.rmtree(project.root / ".snakemake/locks", ignore_errors=True)
    project.adakern(*command)
    assert {path: start_times(path) for path in kept} == kept
    assert len([*records.glob("*/*/*.json")]) == 10

    kinds = {}
    for path in records.glob("*/lightgbm-default/*.json"):
        for record in json.loads(path.read_text()):
            assert record["status"] == "ok", record
            assert record["params"]["random_state"] == record["repeat"]  # as registered
            kinds[record["dataset"]] = record["protocol"]["kind"]
    assert sorted(kinds.values()) == ["group-holdout"] * 2 + ["holdout"] * 2 + ["time"]
    page = (project.root / "results/trial/report.html").read_text()
    assert "4 regression sets are too few to test" in page
    assert "1 classification sets are too few" in page
    assert "TabM was not run: " in page
