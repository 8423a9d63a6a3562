"""Suites in a configuration: selection, combination and invalid settings."""

import gzip
import hashlib

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from adakern_bench.config.compose import ConfigError
from adakern_bench.config.entry import DatasetEntry, SourceFile
from adakern_bench.config.estimators import expand_grid
from adakern_bench.config.plan import load_plan
from adakern_bench.config.suite import Suite, expand_suite, suite_sets
from adakern_bench.data.fetch import load_table
from adakern_bench.data.sources import check_tables
from adakern_bench.data.table import Table
from adakern_bench.records.search import _published_tuning
from adakern_bench.records.split import make_splits

BASE = ["suite=uci121", "dataset=[]", "protocol=published"]


def test_suite_expands_to_its_data_sets():
    plan = load_plan([*BASE, "suite.max_rows=110", "method=[svm-cv]"])
    assert {"uci121-trains", "uci121-lenses"} < set(plan.datasets)
    assert all(plan.entry(name).n <= 110 for name in plan.datasets)
    assert plan.n_repeats("uci121-trains") == 4
    assert plan.uses_published_split("uci121-trains")
    mixed = ["suite=uci121", "suite.only=[iris]", "dataset=[heart]", "method=[svm-cv]"]
    assert load_plan(mixed).datasets == ["heart", "uci121-iris"]
    fewer = [*BASE, "suite.only=[iris]", "method=[svm-cv]", "protocol.max_splits=2"]
    assert load_plan(fewer).n_repeats("uci121-iris") == 2


@pytest.mark.filterwarnings("ignore:method .* is left out")
@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["suite=uci12"], "Did you mean 'uci121'"),
        (
            ["suite=uci121", "suite.entry.files=[]"],
            "uci121.csv does not describe the sets of a suite .IndexError",
        ),
        (["suite=uci121", "suite.only=[irs]"], "no set 'irs'. Did you mean 'iris'"),
        (["suite=uci121", "dataset=[]", "suite.min_rows=100000"], "nothing to run"),
        (
            ["suite=uci121", "dataset=[]", "method=[svm-rbf]", "jobs.memory_mb=1000"],
            "svm-rbf on uci121-chess-krvk .28056 rows. needs about",
        ),
        (
            ["dataset=[heart]", "protocol.tuning=both"],
            "tuning=both requires tuning split",
        ),
        (
            ["experiment=srbench", "protocol=holdout"],
            "srbench_blackbox.* uses other splits",
        ),
        (
            ["experiment=srbench", "published=uci121_classifiers"],
            "has no results of the selected",
        ),
        (
            ["experiment=srbench", "suite.entry.split_seeds=[1,2]"],
            "got 2 different seeds",
        ),
        (
            ["experiment=srbench", f"suite.entry.split_seeds={[7] * 10}"],
            "got 1 different seeds",
        ),
        (
            ["experiment=srbench", f"suite.entry.split_seeds={[*range(10)]}"],
            "uses other splits",
        ),
        (
            ["dataset=[heart]", "protocol=time"],
            r"dataset\.heart: protocol.kind=time requires time",
        ),
        (
            ["dataset=[heart]", "protocol=group-holdout"],
            r"dataset\.heart: .* requires groups",
        ),
    ],
)
def test_invalid_suite_setting_raises(overrides, message):
    with pytest.raises(ConfigError, match=message):
        load_plan(overrides)


def test_split_seeds_equal_train_test_split(tmp_path):
    """An entry of a suite with seeds, and its file in a mirror."""
    rows = "".join(f"{k}\t{k % 7}\n" for k in range(41))
    content = gzip.compress(f"x\ttarget\n{rows}".encode())
    (tmp_path / "made").mkdir()
    (tmp_path / "made/a.tsv.gz").write_bytes(content)
    file = SourceFile("made/{set}.tsv.gz", sha256=None)
    template = DatasetEntry(
        "regression", [file], format="csv", separator="\t", header=True
    )
    template.split_seeds = [23654, 15795, 860]
    (tmp_path / "s.csv").write_text(
        f"set,n,d,n_splits,sha256\na,41,1,2,{hashlib.sha256(content).hexdigest()}\n"
    )
    suite = Suite("s", sets="s.csv", entry=template)
    entry = expand_suite(suite, suite_sets(suite, tmp_path))["s-a"]
    table = load_table("s-a", entry, cache_dir=tmp_path / "cache", mirror=tmp_path)

    assert len(table.published_splits) == 2
    ignored = {
        "repeats": 1,
        "test_size": 0.5,
        "n_splits": 5,
        "stratify": True,
        "seed": 0,
    }
    splits = make_splits(
        table, kind="holdout", published=True, max_train_rows=20, **ignored
    )
    for seed, (train, test) in zip((23654, 15795), splits, strict=True):
        theirs = train_test_split(
            table.X, train_size=0.75, test_size=0.25, random_state=seed
        )
        assert sorted(table.X[test].ravel()) == sorted(theirs[1].ravel())
        assert len(train) == 20 and set(table.X[train].ravel()) <= set(
            theirs[0].ravel()
        )


@pytest.mark.filterwarnings("ignore:method .* is left out")
@pytest.mark.parametrize(
    ("content", "sha256", "absent", "message"),
    [
        (
            b"another file",
            "55d",
            [],
            "expected SHA-256 55d.*, got .*; replace the file, or",
        ),
        (
            b"another file",
            "55d",
            [SourceFile("x.csv")],
            "expected SHA-256 55d.*, got ",
        ),
        (
            gzip.compress(b"x\ttarget\n1\t2\n2\t\n"),
            None,
            [],
            "target is missing in 1 of 2 rows",
        ),
    ],
    ids=["sha256", "sha256-of-one", "target"],
)
def test_invalid_local_file_raises_before_any_run(
    tmp_path, content, sha256, absent, message
):
    file = tmp_path / "srbench/192_vineyard.tsv.gz"
    file.parent.mkdir()
    file.write_bytes(content)
    overrides = [
        "experiment=srbench",
        f"data.mirror={tmp_path}",
        "suite.only=[192_vineyard]",
    ]
    plan = load_plan([*overrides, f"data.cache={tmp_path}", "--allow-outside"])
    files = plan.entry("srbench-192_vineyard").files
    files[0].sha256 = sha256
    files += absent
    with pytest.raises(
        ConfigError, match=f"dataset.srbench-192_vineyard: .*{message}"
    ) as error:
        check_tables(plan)
    assert str(file) in str(error.value)


def test_distributions_sample_within_bounds():
    grid = {"a": {"uniform": [2, 3]}, "b": {"log_uniform": [0.1, 10]}}
    grid |= {"c": {"integers": [1, 3]}, "d": {"log_integers": [1, 100]}}
    axes = expand_grid(grid, {})
    rng = np.random.RandomState(0)
    draws = {
        k: [axis.rvs(random_state=rng) for _ in range(400)] for k, axis in axes.items()
    }
    assert min(draws["a"]) >= 2 and max(draws["a"]) <= 3
    assert abs(np.median(np.log10(draws["b"]))) < 0.2
    assert set(draws["c"]) == {1, 2, 3}
    assert min(draws["d"]) == 1 and max(draws["d"]) <= 100
    assert np.median(draws["d"]) < 25


def test_published_tuning_uses_the_two_halves(rng):
    half = np.arange(20) % 2 == 0
    X, y = rng.normal(size=(20, 2)), np.arange(20) // 10
    table = Table(X, y, "made", "classification", ["a", "b"], tuning_rows=half)
    prepared, ((fit, validation),) = _published_tuning(table, {"scale": "none"})
    np.testing.assert_array_equal(prepared.X_train[fit], table.X[~half])
    np.testing.assert_array_equal(prepared.X_train[validation], table.X[half])
    np.testing.assert_array_equal(prepared.y_fit[validation], table.y[half])
