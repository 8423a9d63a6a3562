"""Stage ``plot``: one of the experiment's own figures."""

from adakern._utils.files import atomic_path
from adakern.bench.report.figures import to_svg
from adakern.bench.runtime.dotted import resolve
from adakern.bench.stages.study import read_frames

__all__ = ["run"]


def run(inputs, outputs, params):
    """Draw a figure from the records, or from the frames of a study."""
    figure = resolve(params["function"])(read_frames(inputs["frames"]))
    with atomic_path(outputs["figure"]) as path:
        path.write_text(to_svg(figure), encoding="utf-8")
