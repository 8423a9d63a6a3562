"""What a reader looks at: an experiment's own figures and tables, its configuration."""

from inspect import signature

import pandas as pd
from omegaconf import OmegaConf

from adakern._utils.dotted import resolve
from adakern._utils.files import atomic_path
from adakern.bench.report.figures import save_svg
from adakern.bench.report.published import load_published

__all__ = ["configuration", "figure", "summary_table", "table_of"]


def figure(inputs, outputs, params):
    """Draw a figure of the records.

    Parameters
    ----------
    inputs : dict
        Paths by name.
    outputs : dict
        Paths by name.
    params : dict
        Settings of the stage.
    """
    records = pd.read_parquet(inputs["records"])
    drawn = resolve(params["function"])(records, **params["params"])
    save_svg(drawn, outputs["figure"])


def summary_table(inputs, outputs, params):
    """Condense the records to a table for the report.

    Parameters
    ----------
    inputs : dict
        Paths by name.
    outputs : dict
        Paths by name.
    params : dict
        Settings of the stage.
    """
    records = pd.read_parquet(inputs["records"])
    table = table_of(
        resolve(params["function"]), records, inputs["published"], **params["params"]
    )
    with atomic_path(outputs["table"]) as path:
        table.to_csv(path, index=False, float_format="%.6g")


def table_of(function, frame, published, **params):
    """A function's table; one with a parameter ``published`` gets those numbers too.

    Parameters
    ----------
    function : callable
        What makes the table.
    frame : DataFrame
        One row for each record.
    published : DataFrame
        Numbers of a paper.
    **params
        Of the function.
    """
    if "published" in signature(function).parameters:
        return function(frame, *map(load_published, published), **params)
    return function(frame, **params)


def configuration(inputs, outputs, params):
    """Write the configuration as it was resolved.

    Parameters
    ----------
    inputs : dict
        Paths by name.
    outputs : dict
        Paths by name.
    params : dict
        Settings of the stage.
    """
    with atomic_path(outputs["config"]) as path:
        path.write_text(OmegaConf.to_yaml(OmegaConf.create(params)), encoding="utf-8")
