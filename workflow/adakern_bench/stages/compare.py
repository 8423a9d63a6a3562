"""Stage `compare`: the records of an experiment become tables and tests."""

from pathlib import Path

from adakern_bench.report.compare import compare

__all__ = ["run"]


def run(inputs, outputs, params):
    """Compare the records of one experiment."""
    records = [Path(path) for path in inputs["records"]]
    compare(records, Path(outputs["records"]).parent, *inputs["published"])
