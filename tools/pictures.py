"""Take pictures of a finished run and of the documentation in headless Chromium.

    make run docs pictures

Writes docs/images: the report at 1400 and 800 pixels, in dark mode and on paper,
MLflow's list of runs and its comparison of those on one data set, the first page and
the guide. ``tests/install_debian.sh`` installs Chromium.
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
REPORT, DOCS = "results/quickstart/report.html", "docs/_build/html"
#: Page, width, height and Chromium's settings of each picture.
PAGES = {
    "report_1400": (REPORT, 1400, 1900, {}),
    "report_800": (REPORT, 800, 1700, {}),
    "report_dark": (REPORT, 1400, 1140, {"color_scheme": "dark"}),
    "report_paper": (REPORT, 720, 1900, {"media": "print"}),
    "index": (f"{DOCS}/index.html", 1400, 900, {}),
    "guide": (f"{DOCS}/guide.html", 1400, 1500, {}),
}


def main():
    """Take all pictures."""
    if lacking := [page for page, *_ in PAGES.values() if not Path(page).exists()]:
        sys.exit(f"There is no {lacking[0]} to take a picture of: make run docs first.")
    found = shutil.which("chromium") or shutil.which("google-chrome")
    chromium = found or sys.exit(
        "There is no Chromium; as root: tests/install_debian.sh"
    )

    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, (file, width, height, media) in PAGES.items():
            page = browser.new_page(viewport={"width": width, "height": height})
            page.emulate_media(**media)
            page.goto(Path(file).resolve().as_uri())
            page.screenshot(path=f"docs/images/{name}.png")
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
    """Address of the page that compares an experiment's runs on one data set."""
    runs = client.search_runs([experiment], order_by=["attributes.run_name"])
    # Runs are named by data set and method; the repeats are their child runs.
    parents = [run.info for run in runs if "mlflow.parentRunId" not in run.data.tags]
    parents = [info for info in parents if " / " in info.run_name]
    dataset = parents[0].run_name.partition(" / ")[0]
    ticked = [run.run_id for run in parents if run.run_name.startswith(f"{dataset} /")]
    query = f"runs={json.dumps(ticked)}&experiments={json.dumps([experiment])}"
    return f"{address}/#/compare-runs?{query}"


if __name__ == "__main__":
    main()
