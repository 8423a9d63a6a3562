"""The records of some data sets, sent to MLflow as soon as they are complete."""

from pathlib import Path

from adakern._utils.files import write_json
from adakern_bench.records.job import job
from adakern_bench.tracking.track import track

uri = snakemake.params.settings["tracking_uri"]

with job(snakemake):
    results = Path(snakemake.input.config).parent
    records = [Path(path) for path in snakemake.input.records]
    logged = track(results, records, tracking_uri=uri)
    write_json(snakemake.output.mark, {"tracking_uri": uri} | logged._asdict())
