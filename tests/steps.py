"""The steps of the flagship's fit, up to the fitted members."""

from dataclasses import replace

import numpy as np
from sklearn.utils import check_random_state

from adakern.adaptive.choose import choose
from adakern.adaptive.fit_all import Limits, fit_all
from adakern.adaptive.members import REGISTRY
from adakern.adaptive.members.base import Setting, Shape
from adakern.adaptive.prepare import prepare


def fitted_members(model, X, y, **fit_params):
    """The prepared problem of a model, its fitted members, and the records of dropped
    ones.
    """
    rng = check_random_state(model.random_state)
    problem = prepare(model, X, y, **fit_params, rng=rng)
    members = choose(model.members, problem.shape, problem.setting, rng)
    limits = Limits(
        seconds=np.inf if model.time_limit is None else model.time_limit,
        may_drop=isinstance(model.members, str),
    )
    return problem, *fit_all(problem, members, limits, rng)


def suited(n, d=1, *, pair=np.inf, **setting):
    """Names of the members that suit a table of n rows and d columns."""
    members = choose(
        "auto", Shape(n, d, pair=pair), Setting(**setting), check_random_state(0)
    )
    return [member.name for member in members]


def member(name, **setting):
    """The unfitted member of this name."""
    return replace(REGISTRY[name], setting=Setting(**setting), random_state=0)
