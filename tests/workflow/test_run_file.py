"""A run is a file, which its jobs load instead of composing anything."""

import pytest

from adakern_bench.config.compose import ConfigError
from adakern_bench.config.plan import load_plan
from adakern_bench.config.run import load_run, run_of, write_run


def test_the_file_is_left_as_it_is_where_nothing_changed(tmp_path):
    plan = load_plan(
        ["experiment=quickstart", f"results={tmp_path}", "--allow-outside"]
    )
    told = write_run(plan)
    path = tmp_path / "quickstart" / "run.yaml"
    assert told == run_of(plan) and told.startswith(f"{path}@")
    written = path.stat().st_mtime_ns
    assert write_run(plan) == told and path.stat().st_mtime_ns == written
    cut = plan.limited(batches=1, ends=5.0)
    assert write_run(cut) != told and path.stat().st_mtime_ns > written
    assert load_run(run_of(cut)).config.jobs.batches == 1
    assert load_run(run_of(cut)).limited().config == plan.config
    with pytest.raises(ConfigError, match="overwritten by another run"):
        load_run(told)
    with pytest.raises(ConfigError, match="No such file"):
        load_run("x.yaml@0")


def test_a_file_that_cannot_be_written_is_said(tmp_path):
    plan = load_plan(["experiment=quickstart"])
    (tmp_path / "taken").write_text("")
    with pytest.raises(ConfigError, match=r"run\.yaml cannot be written: .*results="):
        write_run(plan, tmp_path / "taken" / "run.yaml")
