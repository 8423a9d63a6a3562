"""Sweeps: a method is run once for each value of one or several of its parameters.

In an experiment's file ``sweep`` maps a method to its axes. An axis is one of

- a list of values: ``tau: [0, 0.01, 1]``;
- values relative to another parameter, resolved once that is known, which may be after
  a search: ``eta: {relative_to: C, power: 2, values: [svm, 0.1, 1]}``;
- named points, each with its own parameters:
  ``extension: {none: {extension: none}, 5-nn: {extension: knn, n_neighbors: 5}}``.

Each point of the axes' product is a separate method, ``dank@tau=0.01``.
"""

from dataclasses import dataclass, field
from itertools import product
from math import prod

from adakern_bench.config.compose import ConfigError

#: Maximum number of methods, data sets, their pairs, and fits of a pair.
MOST_RUNS = 100_000


@dataclass(frozen=True)
class Variant:
    """One point of a sweep."""

    params: dict = field(default_factory=dict)
    swept: dict = field(default_factory=dict)


def base_name(name):
    """Name of a data set or method, without the point of a sweep."""
    return name.partition("@")[0]


def expand_sweep(methods, sweep):
    """Return name -> :class:`Variant` for each method or each point of its sweep."""
    variants = {}
    for method in methods:
        axes = sweep.get(method) or {}
        if not isinstance(axes, dict):
            raise ConfigError(
                f"sweep.{method}={axes!r} must map parameters to values, such as "
                f"sweep.{method}.C=[1,2]"
            )
        points = [expand_axis(*axis) for axis in axes.items()]
        check_number(len(variants) + prod(map(len, points)), "points of sweeps")
        for point in product(*points):
            params = {k: v for part, _ in point for k, v in part.items()}
            swept = {axis: value for axis, (_, value) in zip(axes, point, strict=True)}
            variants[_label(method, swept)] = Variant(params, swept)
    return variants


def expand_datasets(datasets, protocol):
    """Return name -> :class:`Variant` for each data set or each point of its sweep,
    which the protocol defines.
    """
    axes = {"train_rows": protocol.train_rows}
    if protocol.tuning == "both":
        axes["tuning"] = ["nested", "published"]
    if protocol.kind == "both":
        axes["kind"] = ["holdout", "declared"]
    axes = {axis: values for axis, values in axes.items() if values}
    check_number(len(datasets) * prod(map(len, axes.values())), "data sets")
    points = [dict(zip(axes, point, strict=True)) for point in product(*axes.values())]
    return {
        _label(name, swept): Variant(swept=swept)
        for name in datasets
        for swept in points
    }


def check_number(n, of):
    """Raise a ConfigError if an experiment has too many of something."""
    if n > MOST_RUNS:
        raise ConfigError(f"{n:,} {of} are more than the maximum of {MOST_RUNS:,}")


def expand_axis(name, axis):
    """Return the points of an axis: pairs of parameters to fix and label to show."""
    if isinstance(axis, dict) and "relative_to" in axis:
        unit = {key: value for key, value in axis.items() if key != "values"}
        values = axis.get("values")
        points = [{name: unit | {"value": value}} for value in values or ()]
    elif isinstance(axis, dict):
        values = list(axis)
        points = list(axis.values())
    else:
        values = axis if isinstance(axis, list) else []
        points = [{name: value} for value in values]
    if not points or not all(isinstance(point, dict) for point in points):
        raise ConfigError(
            f"sweep: the axis {name!r} is {axis!r}; it must be a list of values, a "
            "mapping with relative_to and values, or a mapping of named points to "
            "their parameters, such as {few: {n_neighbors: 1}}"
        )
    return list(zip(map(dict, points), values or [], strict=True))


def _label(name, swept):
    point = ",".join(f"{axis}={value}" for axis, value in swept.items())
    return f"{name}@{point}" if point else name
