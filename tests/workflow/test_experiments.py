"""Every experiment of the repository composes to a valid plan."""

import inspect
import json
from contextlib import suppress
from pathlib import Path

import pytest

from adakern_bench.base.dotted import estimator_class
from adakern_bench.config.compose import available, load_config
from adakern_bench.config.plan import load_plan
from adakern_bench.config.run import load_run, write_run

#: Tested in test_confirmation.py, because it needs a folder of tables.
WITH_TABLES = ["confirmation"]


@pytest.mark.parametrize("name", sorted({*available("experiment")} - {*WITH_TABLES}))
def test_experiment_is_valid(name, tmp_path):
    """The plan that jobs load equals the composed one."""
    plan = load_plan([f"experiment={name}"])
    assert plan.config.name == name and plan.config.title and plan.config.description
    loaded = load_run(write_run(plan, tmp_path / "run.yaml"))
    assert loaded.config == plan.config
    assert loaded.cells == plan.cells and loaded.methods_of == plan.methods_of


@pytest.mark.parametrize("name", available("method"))
def test_method_is_valid_and_described(name):
    # Some data set of each task, so that every recipe of the method is checked.
    selected = ["dataset=[sk-wine,step-1d]", f"method=[{','.join({name, 'knn'})}]"]
    load_plan(selected)
    method = load_config(selected).method[name]
    assert method.description and method.reference
    for recipe in filter(None, (method.classifier, method.regressor)):
        with suppress(ImportError, ValueError):  # its packages are not installed
            fit = estimator_class(recipe.estimator["_target_"]).fit
            # Methods that accept validation rows state the number of rows from which
            # they use them.
            can_judge = {"X_val", "time"} & {*inspect.signature(fit).parameters}
            assert not can_judge or method.validates_from is not None


RESULTS = Path(__file__).parents[2] / "docs" / "results"
#: A finished investigation whose code was removed.
FINISHED = "rfm_metric_leak"
PUBLISHED = sorted(path.name for path in RESULTS.iterdir() if path.is_dir())
PUBLISHED.remove(FINISHED)


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.slow
def test_published_folder_records_a_valid_command(name):
    """Many were shortened by overrides of an experiment."""
    origin = json.loads((RESULTS / name / "provenance.json").read_text())
    selected = [f"experiment={origin['experiment']}", *origin["overrides"]]
    config = load_config(selected)
    assert config.name == name and config.dataset
    elsewhere = [method.needs or method.python for method in config.method.values()]
    if config.special or not all(elsewhere):
        load_plan(selected)  # others need packages or a Python that are not installed
