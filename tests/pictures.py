"""Pictures of a finished run for docs/pictures.md, taken in headless Chromium.

    make run pictures

Writes docs/images: the report at 1400 and 800 pixels, in dark mode and on paper, and
MLflow's page of runs and its comparison of those on one data set.
``tests/install_debian.sh`` brings Chromium.
"""

import json
import shutil
import sys
from pathlib import Path

from mlflow import MlflowClient
from playwright.sync_api import sync_playwright

from adakern_bench.report.show import runs_page
from mlflow_server import serve

STORE = "sqlite:///mlflow.db"
#: Width, height and Chromium's settings of each picture of the report.
REPORT = {
    "1400": (1400, 1900, {}),
    "800": (800, 1700, {}),
    "dark": (1400, 1140, {"color_scheme": "dark"}),
    "paper": (720, 1900, {"media": "print"}),
}


def main():
    """Take them all."""
    report = Path("results/quickstart/report.html")
    if not report.exists():
        sys.exit(f"There is no {report} to take a picture of: make run first.")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("There is no Chromium; on Debian, as root: tests/install_debian.sh")

    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, (width, height, media) in REPORT.items():
            page = browser.new_page(viewport={"width": width, "height": height})
            page.emulate_media(**media)
            page.goto(report.resolve().as_uri())
            page.screenshot(path=f"docs/images/report_{name}.png")
        with serve(STORE, Path.cwd()) as address:
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            page.set_default_timeout(180_000)
            client = MlflowClient(STORE)
            experiment = client.get_experiment_by_name("quickstart")
            links = {
                "mlflow_runs": runs_page(address, experiment.experiment_id),
                "mlflow_compare": comparison(client, address, experiment.experiment_id),
            }
            for name, link in links.items():
                page.goto(link)
                page.wait_for_timeout(30_000)  # charts come one after the other
                page.screenshot(path=f"docs/images/{name}.png")
        browser.close()


def comparison(client, address, experiment):
    """The page that comes when an experiment's runs on one data set are ticked."""
    runs = client.search_runs([experiment], order_by=["attributes.run_name"])
    # The runs of a data set and method are called by both; repeats lie below them.
    parents = [
        run.info
        for run in runs
        if "mlflow.parentRunId" not in run.data.tags and " / " in run.info.run_name
    ]
    dataset = parents[0].run_name.partition(" / ")[0]
    ticked = [run.run_id for run in parents if run.run_name.startswith(f"{dataset} /")]
    query = f"runs={json.dumps(ticked)}&experiments={json.dumps([experiment])}"
    return f"{address}/#/compare-runs?{query}"


if __name__ == "__main__":
    main()
