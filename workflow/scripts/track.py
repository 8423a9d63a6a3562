"""Log records, tables, figures and the report of an experiment to MLflow."""

from pathlib import Path

from adakern._utils.files import write_json
from adakern_bench.records.job import job
from adakern_bench.tracking.store import experiment_id, register
from adakern_bench.tracking.track import track

uri = snakemake.params.tracking_uri

with job(snakemake):
    results = Path(snakemake.input.report).parent
    logged = track(results, tracking_uri=uri)
    mark = {"tracking_uri": uri, "experiment_id": experiment_id(results.name, uri)}
    if name := snakemake.params.register:
        register(results, name, uri)
    write_json(snakemake.output.mark, mark | logged._asdict())
