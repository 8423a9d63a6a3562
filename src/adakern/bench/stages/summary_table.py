"""Stage ``summary_table``: one of the experiment's own tables."""

from inspect import signature

import pandas as pd

from adakern._utils.files import atomic_path
from adakern.bench.report.published import load_published
from adakern.bench.runtime.dotted import resolve

__all__ = ["run"]


def run(inputs, outputs, params):
    """Condense the records to a table for the report.

    A function of ``published`` too gets the experiment's published numbers.
    """
    function = resolve(params["function"])
    arguments = [pd.read_parquet(inputs["records"])]
    if "published" in signature(function).parameters:
        arguments += map(load_published, inputs["published"])
    table = function(*arguments, **params["params"])
    with atomic_path(outputs["table"]) as path:
        table.to_csv(path, index=False, float_format="%.6g")
