"""Generators of data sets that are defined by a formula."""

from adakern.datasets.synthetic import (
    make_cherkassky_2d,
    make_clowns,
    make_covtype_like,
    make_monks,
    make_sandwich,
    make_sin_2x3,
    make_step_1d,
)

__all__ = [
    "make_cherkassky_2d",
    "make_clowns",
    "make_covtype_like",
    "make_monks",
    "make_sandwich",
    "make_sin_2x3",
    "make_step_1d",
]
