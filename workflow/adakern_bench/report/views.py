"""Figures and tables of an experiment, made by the functions that it names."""

from inspect import signature

from adakern_bench.report.published import load_published


def make_view(function, frame, params, *, metric=None, published=()):
    """Call a function on the records, or on a special computation.

    A parameter ``metric`` is set to the ranking metric of the experiment, unless
    `params` has another one; a parameter ``published``, to its published numbers.
    """
    known = {"metric": metric, "published": [*map(load_published, published), None][0]}
    asked = signature(function).parameters
    given = {name: v for name, v in known.items() if name in asked and v is not None}
    return function(frame, **given | params)
