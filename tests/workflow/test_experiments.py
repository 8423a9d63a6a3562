"""Every experiment of the repository composes to a plan that can run."""

import pytest

from adakern.bench.config.compose import available
from adakern.bench.config.plan import load_plan


@pytest.mark.parametrize("name", available("experiment"))
def test_experiment_is_valid(name):
    plan = load_plan([f"experiment={name}"])
    assert plan.config.name == name
    assert plan.config.title and plan.config.description
    assert plan.cells or plan.config.special


@pytest.mark.parametrize("name", available("method"))
def test_method_says_what_it_is(name):
    # Some data set of each task, so that every recipe of the method is checked.
    config = load_plan(["dataset=[sk-wine,step-1d]", f"method=[{name}]"]).config
    assert config.method[name].description
    assert config.method[name].reference
