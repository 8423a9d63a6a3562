"""Stage ``tabulate``: one of the experiment's own tables."""

from adakern.files import atomic_path
from adakern.workflow.dotted import resolve
from adakern.workflow.published import load_published
from adakern.workflow.study import read_frames

__all__ = ["run"]


def run(inputs, outputs, params):
    """Condense the records, or the frames of a study, to a table for the report.

    In an experiment with a table of published numbers the function gets those as well.
    """
    published = map(load_published, inputs["published"])
    table = resolve(params["function"])(read_frames(inputs["frames"]), *published)
    with atomic_path(outputs["table"]) as path:
        table.to_csv(path, index=False, float_format="%.6g")
