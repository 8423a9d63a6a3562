"""Print what an experiment found, and where the rest of it lies."""

import os
import sys

from adakern.bench.config.compose import ConfigError
from adakern.bench.config.plan import load_plan
from adakern.bench.report.console import print_table

__all__ = ["main"]


def main():
    """Command line: ``python -m adakern.bench.report.show experiment=quickstart``."""
    try:
        plan = load_plan(sys.argv[1:])
    except ConfigError as error:
        sys.exit(str(error))
    if not (plan.results / "report.html").exists():
        sys.exit(
            f"There are no results in {plan.results} yet. Run the experiment first: "
            f"snakemake --cores 2 --config experiment={plan.config.experiment}"
        )
    if plan.cells:
        print_table(plan.results)
    print(f"\nReport: {(plan.results / 'report.html').resolve().as_uri()}")
    if plan.config.tracking.enabled and plan.cells:
        uri = os.environ.get("MLFLOW_TRACKING_URI") or plan.config.tracking.uri
        print(f"MLflow: .venv/bin/mlflow ui --backend-store-uri {uri}")


if __name__ == "__main__":
    main()
