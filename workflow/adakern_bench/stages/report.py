"""Stage `report`: one self-contained HTML file that tells what an experiment found."""

from pathlib import Path

import yaml

from adakern_bench.data import Table
from adakern_bench.report.origin import origin
from adakern_bench.report.page import report

__all__ = ["run"]


def run(inputs, outputs, params):
    """The stage: the report of one experiment.

    Parameters
    ----------
    inputs : dict
        Paths by name.
    outputs : dict
        Paths by name.
    params : dict
        Settings of the stage.
    """
    tables = [Table.load(path) for path in inputs["tables"]]
    config = yaml.safe_load(Path(inputs["config"]).read_text(encoding="utf-8"))
    report(
        Path(outputs["report"]).parent,
        config,
        figures=[Path(path) for path in inputs["figures"]],
        summaries=[Path(path) for path in inputs["summaries"]],
        provenance={table.name: table.provenance for table in tables},
        origin=origin(config),
        path=outputs["report"],
    )
