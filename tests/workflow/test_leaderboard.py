"""The leaderboard of an experiment, from records and published results."""

import numpy as np
import pandas as pd
import pytest

from adakern_bench.report.leaderboard import (
    leaderboard,
    plot_time_against_rank,
    together,
)

METHODS = {"svm-2014": 0.8, "forest-2014": 0.7, "good": 0.9}


def make_records(task="classification", metric="accuracy", failed=()):
    rng = np.random.default_rng(0)
    rows = [
        (f"set{k}", method, repeat, level + rng.uniform(-0.02, 0.02))
        for k in range(6)
        for method, level in METHODS.items()
        for repeat in range(3)
    ]
    frame = pd.DataFrame(
        rows, columns=["dataset", "method", "repeat", f"test_{metric}"]
    )
    frame["status"] = ["failed" if row[:3] in failed else "ok" for row in rows]
    frame["search_seconds"] = frame["method"].map({"good": 2.0})
    frame["fit_seconds"] = np.where(frame["status"] == "ok", 1.0, np.nan)
    return frame.assign(
        task=task, run_seconds=frame["method"].map({"good": 7.0}).fillna(0.5)
    )


def make_published():
    levels = {"svm_C": 0.79, "best": 0.99}
    rows = [(f"set{k}", *level) for k in range(6) for level in levels.items()]
    rows.append(("set0", "seldom", 0.9))
    frame = pd.DataFrame(rows, columns=["dataset", "method", "mean"])
    return frame.assign(setting="", split="test", metric="accuracy")


def test_leaderboard_with_published_results():
    board = leaderboard(make_records(), make_published())
    assert board["method"].tolist()[:2] == ["best (published)", "good"]
    assert board["mean_rank"].tolist()[:2] == [1, 2]
    assert board.set_index("method")["source"]["good"] == "measured"
    assert "seldom (published)" not in board["method"].to_numpy()
    assert board["wins"].sum() == 6
    assert board["elo"].between(board["elo_low"] - 0.01, board["elo_high"] + 0.01).all()
    seconds = board.set_index("method")["seconds"]
    assert seconds.drop("forest-2014").dropna().to_dict() == {"good": 18, "svm-2014": 6}


def test_failed_cell_has_worst_rank_and_counts_its_time():
    everywhere = {(f"set{k}", "forest-2014", 0) for k in range(6)}
    runs = make_records(failed={("set0", "good", 1)} | everywhere)
    board = leaderboard(runs).set_index("method")
    assert board["n_failed"].to_dict() == {"good": 1, "svm-2014": 0, "forest-2014": 6}
    assert board["mean_rank"]["good"] == pytest.approx((5 * 1 + 3) / 6)
    # Cheapest because it failed early; the failed run of "good" took 7 s.
    assert board["seconds"].to_dict() == {"good": 20, "svm-2014": 6, "forest-2014": 5}
    assert board["on_front"].to_dict() == {
        "good": True,
        "svm-2014": True,
        "forest-2014": False,
    }
    front, *_ = plot_time_against_rank(runs).axes[0].lines
    assert front.get_xdata().tolist() == [6, 20]


def test_regression_is_ranked_by_rmse():
    board = leaderboard(make_records("regression", "rmse"))
    assert board["method"].tolist() == ["forest-2014", "svm-2014", "good"]
    assert board["normalised_error"].tolist() == [0, 1, 1]


def test_leaderboard_of_both_tasks_and_figure():
    both = pd.concat([make_records(), make_records("regression", "rmse")])
    assert leaderboard(both)["task"].nunique() == 2
    medians = leaderboard(both.assign(test_auc=0.5), metric="auc", statistic="median")
    assert "mean_accuracy" not in medians
    of_task = medians.groupby("task")
    assert (of_task.get_group("classification")["mean_auc"] == 0.5).all()
    assert of_task.get_group("regression")["mean_rmse"].notna().all()
    assert len(plot_time_against_rank(both).axes) == 2


def test_leaderboard_over_several_experiments(tmp_path):
    first = make_records("regression", "rmse", failed={("set0", "good", 2)})
    first["n_test"], first["n_train"] = (
        30,
        first["dataset"].map({"set5": 9000}).fillna(70),
    )
    first = first.assign(commit="a1", data_fingerprint="b2", protocol_seed=0)
    other = first.assign(dataset="other-" + first["dataset"])
    late = other["method"] == "svm-2014"
    parts = {"a": first, "b": other[~late], "c": other[late & (other["repeat"] < 2)]}
    for name, frame in parts.items():
        (tmp_path / name).mkdir()
        frame.to_parquet(tmp_path / name / "records.parquet")
    board = leaderboard(together(tmp_path.iterdir(), max_rows=1000)).set_index("method")
    assert set(board.index) == set(METHODS) and (board["n_datasets"] == 10).all()
    # The other failed run belongs to a repeat that one method lacks.
    assert board["n_failed"].to_dict() == {**dict.fromkeys(METHODS, 0), "good": 1}
    assert board["wins"]["forest-2014"] == 10
    assert board["elo_low"]["forest-2014"] > board["elo_high"]["good"]
    board = leaderboard(together([tmp_path / "a", tmp_path / "b"], datasets="set[01]"))
    assert (
        set(board["method"]) == {"forest-2014", "good"}
        and (board["n_datasets"] == 4).all()
    )
    for name, value in {"commit": "c3", "n_test": 31}.items():
        parts["c"].assign(**{name: value}).to_parquet(
            tmp_path / "c" / "records.parquet"
        )
        with pytest.raises(ValueError, match=f"differ in {name} "):
            together(tmp_path.iterdir())
    for commit in ("c3", None):  # different suites
        parts["b"].assign(commit=commit).to_parquet(tmp_path / "b" / "records.parquet")
        with pytest.raises(ValueError, match="differ in commit "):
            together([tmp_path / "a", tmp_path / "b"])
    assert len(together([tmp_path / "b"])) == len(parts["b"]), "no commit is known"
    later = first.assign(commit=first["commit"].where(first["method"] == "good", "c3"))
    later.to_parquet(tmp_path / "b" / "records.parquet")  # one commit per method
    assert len(together([tmp_path / "b"])) == len(first)
    with pytest.raises(ValueError, match="have runs of forest-2014, good"):
        together([tmp_path / "a", tmp_path / "a"])


def test_leaderboard_of_selected_data_sets():
    board = leaderboard(make_records(), make_published(), datasets="set[0-2]")
    assert (board["n_datasets"] == 3).all() and "best (published)" in set(
        board["method"]
    )
    assert leaderboard(make_records(), datasets="none").empty
