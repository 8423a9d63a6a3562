"""What a reader looks at: an experiment's own figures and tables, its configuration."""

from inspect import signature

import pandas as pd
from omegaconf import OmegaConf

from adakern._utils.dotted import resolve
from adakern._utils.files import atomic_path
from adakern_bench.report.figures import save_svg
from adakern_bench.report.published import load_published

__all__ = ["configuration", "figure", "summary_table"]


def figure(inputs, outputs, params):
    """Draw a figure of the records, or of a special computation.

    Parameters
    ----------
    inputs : dict
        Paths by name.
    outputs : dict
        Paths by name.
    params : dict
        Settings of the stage.
    """
    frame = pd.read_parquet(inputs["frame"])
    drawn = resolve(params["function"])(frame, **params["params"])
    save_svg(drawn, outputs["figure"])


def summary_table(inputs, outputs, params):
    """Condense the records, or a special computation, to a table for the report.

    A function with a parameter ``published`` gets the experiment's published numbers.

    Parameters
    ----------
    inputs : dict
        Paths by name.
    outputs : dict
        Paths by name.
    params : dict
        Settings of the stage.
    """
    frame = pd.read_parquet(inputs["frame"])
    function = resolve(params["function"])
    asks = "published" in signature(function).parameters
    numbers = map(load_published, inputs["published"] if asks else [])
    table = function(frame, *numbers, **params["params"])
    with atomic_path(outputs["table"]) as path:
        table.to_csv(path, index=False, float_format="%.6g")


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
