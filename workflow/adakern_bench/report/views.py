"""Figures and tables of an experiment's own, by the functions that it names."""

from inspect import signature

from adakern_bench.report.published import load_published


def make_view(function, frame, params, *, metric=None, published=()):
    """What a function makes of records, or of a special computation.

    One with a parameter ``metric`` is given the metric that the experiment ranks by,
    unless `params` names another; one with a parameter ``published`` the numbers of the
    experiment's table.
    """
    known = {"metric": metric, "published": [*map(load_published, published), None][0]}
    asked = signature(function).parameters
    given = {name: v for name, v in known.items() if name in asked and v is not None}
    return function(frame, **given | params)
