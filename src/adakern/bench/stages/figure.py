"""Stage ``figure``: one of the experiment's own figures."""

import pandas as pd

from adakern._utils.files import atomic_path
from adakern.bench.report.figures import to_svg
from adakern.bench.runtime.dotted import resolve

__all__ = ["run"]


def run(inputs, outputs, params):
    """Draw a figure of the records."""
    records = pd.read_parquet(inputs["records"])
    figure = resolve(params["function"])(records, **params["params"])
    with atomic_path(outputs["figure"]) as path:
        path.write_text(to_svg(figure), encoding="utf-8")
