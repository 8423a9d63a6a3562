"""Every experiment of the repository composes to a plan that can run."""

import inspect
import json
from contextlib import suppress
from pathlib import Path

import pytest

from adakern_bench.base.dotted import estimator_class
from adakern_bench.config.compose import available, load_config
from adakern_bench.config.plan import load_plan
from adakern_bench.config.run import load_run, write_run

#: What is in test_confirmation.py: there is none without a folder of tables.
WITH_TABLES = ["confirmation"]


@pytest.mark.parametrize("name", sorted({*available("experiment")} - {*WITH_TABLES}))
def test_experiment_is_valid(name, tmp_path):
    """What its jobs load is what was planned."""
    plan = load_plan([f"experiment={name}"])
    assert plan.config.name == name and plan.config.title and plan.config.description
    loaded = load_run(write_run(plan, tmp_path / "run.yaml"))
    assert loaded.config == plan.config
    assert loaded.cells == plan.cells and loaded.methods_of == plan.methods_of


@pytest.mark.parametrize("name", available("method"))
def test_method_says_what_it_is(name):
    # Some data set of each task, so that every recipe of the method is checked.
    selected = ["dataset=[sk-wine,step-1d]", f"method=[{','.join({name, 'knn'})}]"]
    load_plan(selected)
    method = load_config(selected).method[name]
    assert method.description and method.reference
    for recipe in filter(None, (method.classifier, method.regressor)):
        with suppress(ImportError, ValueError):  # of packages that are not here
            fit = estimator_class(recipe.estimator["_target_"]).fit
            # Who can be told which rows to judge by says from how many on it judges.
            can_judge = {"X_val", "time"} & {*inspect.signature(fit).parameters}
            assert not can_judge or method.validates_from is not None


RESULTS = Path(__file__).parents[2] / "docs" / "results"
#: Its code is in the history alone: a finished investigation.
FINISHED = "rfm_metric_leak"
PUBLISHED = sorted(path.name for path in RESULTS.iterdir() if path.is_dir())
PUBLISHED.remove(FINISHED)


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.slow
def test_a_published_folder_says_the_command_that_makes_it(name):
    """Many only cut an experiment to fit an hour: these are overrides of it."""
    origin = json.loads((RESULTS / name / "provenance.json").read_text())
    selected = [f"experiment={origin['experiment']}", *origin["overrides"]]
    config = load_config(selected)
    assert config.name == name and config.dataset
    elsewhere = [method.needs or method.python for method in config.method.values()]
    if config.special or not all(elsewhere):
        load_plan(selected)  # others need packages, or a Python, that are not here
