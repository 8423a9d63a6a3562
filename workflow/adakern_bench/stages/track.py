"""Stage `track`: the records of experiments, sent to MLflow."""

from pathlib import Path

from adakern._utils.files import write_json
from adakern_bench.tracking.track import experiment_id, rebuild, track

__all__ = ["run"]


def run(inputs, outputs, params):
    """Log the records of some data sets, or the whole experiment's summary."""
    uri = params["tracking_uri"]
    mark = {"tracking_uri": uri}
    if "records" in inputs:
        results = Path(inputs["config"]).parent
        logged = track(results, map(Path, inputs["records"]), tracking_uri=uri)
    else:
        results = Path(inputs["report"]).parent
        logged = rebuild(results, tracking_uri=uri)
        mark["experiment_id"] = experiment_id(results.name, uri)
    write_json(outputs["mark"], mark | logged._asdict())
