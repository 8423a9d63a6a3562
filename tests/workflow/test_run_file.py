"""The file of a run, which its jobs load instead of composing the configuration."""

import pytest

from adakern_bench.config.compose import ConfigError
from adakern_bench.config.plan import load_plan
from adakern_bench.config.run import load_run, run_of, write_parts, write_run


def test_unchanged_run_file_is_not_rewritten(tmp_path):
    plan = load_plan(
        ["experiment=quickstart", f"results={tmp_path}", "--allow-outside"]
    )
    run = write_run(plan)
    path = tmp_path / "quickstart" / "run.yaml"
    assert run == run_of(plan) and run.startswith(f"{path}@")
    written = path.stat().st_mtime_ns
    assert write_run(plan) == run and path.stat().st_mtime_ns == written
    cut = plan.limited(batches=1, ends=5.0)
    assert write_run(cut) != run and path.stat().st_mtime_ns > written
    assert load_run(run_of(cut)).config.jobs.batches == 1
    assert load_run(run_of(cut)).limited().config == plan.config
    with pytest.raises(ConfigError, match="another run has overwritten it"):
        load_run(run)
    with pytest.raises(ConfigError, match="No such file"):
        load_run("x.yaml@0")


def test_unwritable_run_file_raises(tmp_path):
    plan = load_plan(["experiment=quickstart"])
    (tmp_path / "taken").write_text("")
    with pytest.raises(ConfigError, match=r"run\.yaml cannot be written: .*results="):
        write_run(plan, tmp_path / "taken" / "run.yaml")


def test_group_file_equals_part_of_the_run(tmp_path):
    chosen = ["dataset=[clowns,monks1,sk-wine]", "method=[svm-cv,dummy]"]
    swept = ["protocol.train_rows=[20,30]", "sweep.svm-cv.C=[1,2]"]
    grouped = ["jobs.cells=8", f"results={tmp_path}", "name=a", "--allow-outside"]
    plan = load_plan([*chosen, *swept, *grouped])
    run = write_run(plan)
    write_parts(plan)
    assert len(plan.groups) > 1
    for group, datasets in plan.groups.items():
        part = load_run(run, group)
        assert part.groups == {group: datasets} and part.datasets == datasets
        for dataset in datasets:
            assert part.entry(dataset) == plan.entry(dataset)
            assert part.methods_of[dataset] == plan.methods_of[dataset]
            assert part.searches(dataset) == plan.searches(dataset)
            assert part.batches(dataset) == plan.batches(dataset)
            assert part.swept(dataset, "dummy") == plan.swept(dataset, "dummy")
            for method in plan.methods_of[dataset]:
                recipe = plan.recipe(dataset, method)
                assert part.recipe(dataset, method) == recipe
    path = tmp_path / "a" / "groups" / "0.yaml"
    text = path.read_text()
    path.write_text(text.replace("cells: 8", "cells: 9"))
    with pytest.raises(ConfigError, match=r"0\.yaml has changed since"):
        load_run(run, 0)
    path.write_text(text)
    load_run(run, 0)
    write_parts(plan.limited(batches=1))
    with pytest.raises(ConfigError, match="another run has overwritten it"):
        load_run(run, 0)
