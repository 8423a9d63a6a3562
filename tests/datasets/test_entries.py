"""Every file of conf/dataset against the schema, the mirror and the manifest."""

import json
import math
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from adakern_bench.config.entry import DatasetEntry, DatasetError, check_entry
from adakern_bench.data import table as data_table
from adakern_bench.data.fetch import load_table
from mirror import MIRROR, needs_mirror, read_entry

ROOT = Path(__file__).parents[2]
PATHS = sorted((ROOT / "conf" / "dataset").glob("*.yaml"))
ENTRIES = {path.stem: read_entry(path) for path in PATHS}
USER_PROVIDED = {"features", "cifar10"}
NOT_MIRRORED = {"covtype", "tomshardware", *USER_PROVIDED}
FROM_FILES = [
    name for name, e in ENTRIES.items() if e.files and name not in NOT_MIRRORED
]
LOADED = [name for name, e in ENTRIES.items() if e.loader and name != "covtype-like"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Tables by name, each read once."""
    made = {}

    def get(name):
        if name not in made:
            made[name] = load_table(
                name,
                ENTRIES[name],
                cache_dir=tmp_path_factory.mktemp("cache"),
                mirror=MIRROR,
            )
        return made[name]

    return get


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_entry_is_documented(path):
    name, entry = path.stem, ENTRIES[path.stem]
    assert path.read_text().startswith(f"# @package dataset.{name}\n")
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_")
    assert entry.title and entry.licence
    if name not in USER_PROVIDED:
        assert entry.citation and entry.n and entry.d
    stated = bool(entry.fingerprint)
    assert stated == (name in FROM_FILES or name.startswith("sk-"))
    assert bool(entry.classes) == (stated and entry.task == "classification")


@needs_mirror
@pytest.mark.parametrize("name", FROM_FILES)
def test_mirrored_dataset_matches_entry(table, name):
    made = table(name)  # load_table checks n, d, classes and fingerprint
    assert made.provenance["source"] == "mirror"
    assert made.X.shape == (ENTRIES[name].n, ENTRIES[name].d)
    assert np.isfinite(made.X).all()
    kinds = "iU" if made.task == "classification" else "f"
    assert made.y.dtype.kind in kinds


@pytest.mark.parametrize("name", LOADED)
def test_embedded_and_generated_datasets(name, tmp_path):
    made = load_table(name, ENTRIES[name], cache_dir=tmp_path / "cache")
    source = "embedded" if name.startswith("sk-") else "generated"
    assert made.provenance["source"] == source
    assert not (tmp_path / "cache").exists()


def test_generated_dataset_depends_on_seed_and_size(tmp_path):
    entry = read_entry(ROOT / "conf" / "dataset" / "covtype-like.yaml")
    entry.loader["n"] = entry.n = 300

    def generated(**seed):
        seeded = replace(entry, loader=entry.loader | seed)
        return load_table("covtype-like", seeded, cache_dir=tmp_path)

    first, again, other = (generated(random_state=seed) for seed in (1, 1, 2))
    assert first.X.shape == (300, 54)
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert first.provenance["seed"] == 1 and generated().provenance["seed"] == 0


def monks_rule(problem, attributes):
    """Whether each row of a1 to a6 belongs to the class of a MONK's
    problem, 1, 2 or 3."""
    a1, a2, _, a4, a5, _ = np.asarray(attributes).T
    if problem == 1:
        return (a1 == a2) | (a5 == 1)
    if problem == 2:
        return (np.asarray(attributes) == 1).sum(axis=1) == 2
    return ((a5 == 3) & (a4 == 1)) | ((a5 != 4) & (a2 != 3))


@needs_mirror
@pytest.mark.parametrize("problem", [1, 2, 3])
def test_monks_rules_match_published_tables(table, problem):
    made = table(f"monks{problem}")
    wrong = np.flatnonzero(monks_rule(problem, made.X) != made.y)
    # Only the training part of the third problem is noisy: 5 % of 122 rows.
    assert len(wrong) == (6 if problem == 3 else 0)
    assert not np.isin(wrong, made.test_rows).any()


def test_user_provided_images_are_flattened(tmp_path):
    images = np.random.default_rng(0).normal(size=(20, 4, 3)).astype(np.float32)
    path = tmp_path / ENTRIES["features"].files[0].path
    path.parent.mkdir()
    frame = pd.DataFrame(images.reshape(20, 12)).add_prefix("x")
    frame.assign(y=np.arange(20) % 5).to_parquet(path)
    made = load_table("features", ENTRIES["features"], cache_dir=tmp_path)
    np.testing.assert_array_equal(made.X, images.reshape(20, 12))
    np.testing.assert_array_equal(made.y, np.arange(20) % 5)


@needs_mirror
@pytest.mark.parametrize("name", ["abalone", "kc_house"])
def test_entry_json_round_trip(tmp_path, name):
    # Jobs may get it so; JSON turns the whole numbers of a mapping's keys into words.
    entry = DatasetEntry(**json.loads(json.dumps(asdict(ENTRIES[name]))))
    made = load_table(name, entry, cache_dir=tmp_path, mirror=MIRROR)
    assert made.provenance["fingerprint"] == ENTRIES[name].fingerprint


def test_check_entry_reports_every_problem():
    wrong = {
        "task": "regresion",
        "format": "cvs",
        "missing": "drop",
        "loader": {"n": 3},
    }
    wrong |= {"n": 0, "d": -1, "n_splits": 3, "clip": [99.9, math.nan]}
    wrong |= {"target": [1.5]}
    entry = DatasetEntry(
        files=[{"path": "../up.csv", "urls": ["file:///etc/x"]}], **wrong
    )
    problems = check_entry("toy", entry)
    entry.splits, entry.missing = entry.files[0], "drop-rows"
    problems = "\n".join(problems + check_entry("toy", entry))
    for part in (
        "together with splits",
        "would leave some out",
        (
            "toy.task='regresion' is unknown. Did you mean 'regression'? Known: "
            "classification, reg"
        ),
        "toy.format='cvs' is unknown. Did you mean 'csv'?",
        "toy.missing='drop' is unknown",
        "toy.clip: got [99.9, nan]",
        "toy.n=0 is out of range: it must be at least 1",
        "toy.d=-1",
        "toy.files[0].path: got '../up.csv'",
        "toy.files[0].urls: got 'file:///etc/x'",
        "toy.files: an entry has either files or a loader",
        "toy.target: got [1.5]; it must be a column, by name or position, or a list",
    ):
        assert part in problems
    with pytest.raises(DatasetError, match=r"toy\.task="):
        load_table("toy", entry, cache_dir="unused")


@pytest.mark.parametrize("function", ["make_nothing", "make_clowns"])
def test_loader_unknown_or_with_wrong_arguments(tmp_path, function):
    loader = {"_target_": f"adakern.datasets.{function}", "number": 3}
    with pytest.raises(DatasetError, match=r"toy\.loader"):
        load_table(
            "toy",
            DatasetEntry(task="classification", loader=loader),
            cache_dir=tmp_path,
        )


def make_panel_out_of_order():
    """What a loader may return, its rows out of order."""
    time = np.array([3.0, 1.0, 2.0, 1.0])
    given = {"data": time[:, None] * 10, "target": time * 100}
    return given | {"who": ["b", "a", "b", "a"], "when": time}


def test_groups_and_times_of_loader(tmp_path, monkeypatch):
    monkeypatch.setattr("adakern.datasets.make_panel", make_panel_out_of_order)
    loader = {"_target_": "adakern.datasets.make_panel"}
    entry = {"task": "regression", "loader": loader, "groups": "who", "time": "when"}
    made = load_table("toy", DatasetEntry(**entry), cache_dir=tmp_path)
    assert made.moments.tolist() == [0, 0, 1, 2]
    assert made.times.tolist() == [1, 1, 2, 3] == (made.y / 100).tolist()
    assert made.groups.tolist() == [0, 0, 1, 1]
    assert made.X.ravel().tolist() == [10, 10, 20, 30]
    wrong = DatasetEntry(**entry | {"time": "whn"})
    with pytest.raises(
        DatasetError, match=r"toy\.time: .* no key 'whn'; use one of data, tar"
    ):
        load_table("toy", wrong, cache_dir=tmp_path)


def test_multioutput_regression(tmp_path):
    (tmp_path / "a.csv").write_text("x,y,z\n1,2,30\n2,3,10\n3,5,20\n")
    stated = {"files": [{"path": "a.csv"}], "target": ["z", 1]}
    entry = DatasetEntry(task="regression", **stated)
    assert check_entry("toy", entry) == []
    made = load_table("toy", entry, cache_dir=tmp_path / "made", mirror=tmp_path)
    assert made.targets == ["z", "y"] and made.feature_names == ["x"]
    np.testing.assert_array_equal(made.y, [[30, 2], [10, 3], [20, 5]])
    # A value in another row is another table.
    other = replace(made, y=np.column_stack([made.y[:, 0], made.y[::-1, 1]]))
    assert other.fingerprint != made.fingerprint
    (refused,) = check_entry("toy", replace(entry, task="classification"))
    assert "['z', 1]" in refused and "MultiOutputClassifier" in refused
    with pytest.raises(DatasetError, match=r"toy\.target: \['z', 'z'\] names a column"):
        twice = replace(entry, target=["z", "z"])
        load_table("toy", twice, cache_dir=tmp_path / "made", mirror=tmp_path)


def test_table_is_opened_by_a_path_as_text(tmp_path):
    path = tmp_path / "clowns.npz"
    load_table("clowns", ENTRIES["clowns"], cache_dir=tmp_path).save(path)
    assert data_table.provenance_of(str(path)) == data_table.provenance_of(path)


def test_groups_by_several_columns(tmp_path):
    folder = tmp_path / "toy"
    folder.mkdir(parents=True)
    rows = ["1 1 5", "2 1 6", "1 1 7", "1 2 8", "2 1 9"]
    (folder / "toy.txt").write_text("\n".join([*rows, ""]))
    entry = {"task": "regression", "files": [{"path": "toy/toy.txt"}]}
    entry |= {"format": "whitespace", "groups": [0, 1], "time": "order of the file"}
    made = load_table("toy", DatasetEntry(**entry), cache_dir=tmp_path)
    assert made.groups.tolist() == [0, 2, 0, 1, 2]
    assert made.moments.tolist() == [0, 1, 2, 3, 4] and made.X.shape == (5, 2)
