"""Stage ``tabulate``: one of the experiment's own tables."""

from inspect import signature

from adakern._utils.files import atomic_path
from adakern.bench.report.published import load_published
from adakern.bench.runtime.dotted import resolve
from adakern.bench.stages.study import read_frames

__all__ = ["run"]


def run(inputs, outputs, params):
    """Condense the records, or the frames of a study, to a table for the report.

    A function of ``published`` too gets the experiment's published numbers.
    """
    function = resolve(params["function"])
    arguments = [read_frames(inputs["frames"])]
    if "published" in signature(function).parameters:
        arguments += map(load_published, inputs["published"])
    table = function(*arguments)
    with atomic_path(outputs["table"]) as path:
        table.to_csv(path, index=False, float_format="%.6g")
