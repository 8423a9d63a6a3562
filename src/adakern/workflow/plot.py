"""Stage ``plot``: one of the experiment's own figures."""

from pathlib import Path

import pandas as pd

from adakern.files import atomic_path
from adakern.workflow.figures import to_svg
from adakern.workflow.study import resolve

__all__ = ["run"]


def run(inputs, outputs, params):
    """Draw a figure from the records, or from the frames of a study.

    The frames of a study's data sets are stacked; the column ``dataset`` tells them
    apart.
    """
    parts = []
    for path in map(Path, inputs["frames"]):
        frame = pd.read_parquet(path)
        parts.append(frame if "dataset" in frame else frame.assign(dataset=path.stem))
    figure = resolve(params["plot"])(pd.concat(parts, ignore_index=True))
    with atomic_path(outputs["figure"]) as path:
        path.write_text(to_svg(figure), encoding="utf-8")
