"""What an experiment found, and where the rest of it lies."""

import os
import sys
from pathlib import Path

from adakern._utils.files import read_json
from adakern_bench.config.compose import ConfigError
from adakern_bench.config.plan import load_plan
from adakern_bench.paths import CONF
from adakern_bench.report.console import print_table

__all__ = ["main", "runs_page", "show"]

#: MLflow opens an experiment on its traces unless the address says otherwise.
_RUNS = "#/experiments/{}/runs?workflowType=machine_learning&compareRunsMode=CHART"


def main(argv=None, conf=CONF):
    """Command line: ``adakern show quickstart``, or with overrides alone."""
    try:
        plan = load_plan(sys.argv[1:] if argv is None else argv, conf)
    except ConfigError as error:
        sys.exit(str(error))
    if not (plan.results / "report.html").exists():
        sys.exit(
            f"There are no results in {plan.results} yet. Run the experiment first: "
            f"adakern run {plan.config.experiment}"
        )
    show(plan)


def show(plan):
    """Print the comparison of a plan's results, and the ways to see more of them."""
    if plan.cells:
        print_table(plan.results)
    print(f"\nReport: {(plan.results / 'report.html').resolve().as_uri()}")
    mark = plan.results / "track" / "summary" / "all.json"
    if plan.config.tracking.enabled and mark.exists():
        uri = os.environ.get("MLFLOW_TRACKING_URI") or plan.config.tracking.uri
        page = runs_page(uri, read_json(mark).get("experiment_id"))
        if uri.startswith("http"):
            print(f"MLflow: {page}")
        else:
            print(f"MLflow: {_program('mlflow')} ui --backend-store-uri {uri}")
            print(f"        then open {page}")


def runs_page(uri, experiment_id):
    """Address of an experiment's runs, as a chart, in MLflow's pages."""
    server = uri.rstrip("/") if uri.startswith("http") else "http://127.0.0.1:5000"
    return f"{server}/{_RUNS.format(experiment_id)}"


def _program(name):
    local = Path(".venv/bin") / name
    return local if local.exists() else name


if __name__ == "__main__":
    main()
