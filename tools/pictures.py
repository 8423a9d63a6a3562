"""Take all screenshots of docs/pictures.md in headless Chromium.

    make run docs pictures

The first two targets make the experiment quickstart and the documentation. The last one
makes reports of a rare class and of a panel (generated tables) and of nine published
sets, a notebook's output, and the images in docs/images. ``tests/install_debian.sh``
installs Chromium.
"""

import html
import json
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from mlflow import MlflowClient
from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from adakern import AdaptiveKernelRegressor
from adakern_bench.report.page import report
from adakern_bench.report.show import runs_page
from mlflow_server import serve
from test_exports import write_bank_bookings

STORE = "sqlite:///mlflow.db"
BUILD = Path("build/pictures")
REPORT, DOCS = "results/quickstart/report.html", "docs/_build/html"
RARE, PANEL = (f"results/my-{name}/report.html" for name in ("bookings", "panel"))
NINE, NOTEBOOK = f"{BUILD}/nine/report.html", f"{BUILD}/notebook.html"
FLAGSHIP = f"{DOCS}/api/adakern.AdaptiveKernelRegressor.html"
#: Picture -> page, width, height, and a selector of a part or settings of Chromium.
PAGES = {
    "report_1400": (REPORT, 1400, 1840, {}),
    "report_800": (REPORT, 800, 1700, {}),
    "report_dark": (REPORT, 1400, 1080, {"color_scheme": "dark"}),
    "report_paper": (REPORT, 720, 1900, {"media": "print"}),
    "report_rare_1400": (RARE, 1400, 3300, {}),
    "report_rare_800": (RARE, 800, 1700, {}),
    "report_panel_1400": (PANEL, 1400, 1000, {"part": "#best-method"}),
    "report_panel_800": (PANEL, 800, 1700, {}),
    "report_nine_1400": (NINE, 1400, 1900, {}),
    "report_nine_800": (NINE, 800, 1700, {}),
    "notebook": (NOTEBOOK, 1100, 1000, {"part": "body"}),
    "index": (f"{DOCS}/index.html", 1400, 900, {}),
    "guide": (f"{DOCS}/guide.html", 1400, 1500, {}),
    "api": (FLAGSHIP, 1400, 1500, {}),
    "gallery": (f"{DOCS}/gallery/plot_rare_class.html", 1400, 1500, {}),
}
#: Few fits, since only the appearance matters.
QUICK = ["protocol.repeats=2", "search.step=5", "method.adaptive.preset=fast"]
QUICK += ["method=[adaptive,linear,lightgbm-default]"]
COLOURS = 128
#: Otherwise MLflow's assistant covers a quarter of a page opened for the first time.
NO_ASSISTANT = """
localStorage.setItem("mlflow.assistant.fab.autoOpenedOnFirstLoad_v1", "true");
localStorage.setItem("mlflow.assistant.panelOpen_v1", "false");
"""
NOTEBOOK_PAGE = """<!doctype html><meta charset="utf-8">
<style>body {{ font: 14px system-ui, sans-serif; margin: 0; padding: 1rem }}
pre {{ background: #f5f5f5; border: 1px solid #ddd; padding: .6rem }}
svg {{ width: 100%; height: auto }}</style>
<pre>{code}</pre>{model}<pre>{plot}</pre>{figure}"""


def main():
    """Take all pictures."""
    found = shutil.which("chromium") or shutil.which("google-chrome")
    chromium = found or sys.exit(
        "Chromium is not installed; run as root: tests/install_debian.sh"
    )
    BUILD.mkdir(parents=True, exist_ok=True)
    compare_a_rare_class()
    compare_a_panel()
    report_nine_sets()
    write_notebook()
    if lacking := [page for page, *_ in PAGES.values() if not Path(page).exists()]:
        sys.exit(f"There is no {lacking[0]}: run `make run docs` first.")
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, (file, width, height, options) in PAGES.items():
            address = Path(file).resolve().as_uri()
            take(browser, name, address, width, height, **options)
        with serve(STORE, Path.cwd()) as address:
            for name, link in pages_of_mlflow(address).items():
                # Charts are loaded one after the other.
                take(browser, name, link, 1400, 1000, wait=30_000)
        browser.close()


def take(browser, name, address, width, height, part=None, wait=0, **media):
    """Save a screenshot of a page, or of the part that a selector names."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(180_000)
    page.emulate_media(**media)
    page.add_init_script(NO_ASSISTANT)
    page.goto(address)
    page.wait_for_timeout(wait)
    path = f"docs/images/{name}.png"
    (page.locator(part) if part else page).screenshot(path=path)
    page.close()
    # A third of the size without a visible difference.
    picture = Image.open(path).convert("RGB")
    how = {"method": Image.Quantize.MAXCOVERAGE, "dither": Image.Dither.NONE}
    picture.quantize(COLOURS, **how).save(path, optimize=True)


def compare(file, *options):
    """Run ``adakern compare`` on a file."""
    command = [sys.executable, "-m", "adakern_bench.cli.main", "compare", str(file)]
    subprocess.run([*command, *options, *QUICK], check=True)


def compare_a_rare_class():
    """Compare methods on a bank's bookings, 3 % of them fraud, with models in
    MLflow.
    """
    file = BUILD / "bookings.csv"
    write_bank_bookings(file, 1500, 0)
    kept = ["tracking.models=true", "tracking.register=fraud"]
    compare(file, "--target", "fraud", "--metric", "auc", *kept)


def compare_a_panel():
    """Compare methods on the sales of 15 stores over 24 months, with a rising trend."""
    rng = np.random.default_rng(5)
    store, month = np.divmod(np.arange(15 * 24), 24)
    temperature = (
        10 + 10 * np.sin(2 * np.pi * month / 12) + rng.normal(0, 2, len(month))
    )
    price = rng.uniform(2, 5, len(month))
    level = rng.normal(100, 20, 15)[store]
    trend = 1.5 * month * (1 + 0.05 * month) / 2
    noise = rng.normal(0, 4, len(month))
    panel = pd.DataFrame(
        {
            "store": [f"store {number:02d}" for number in store],
            "month": pd.date_range("2022-01-01", periods=24, freq="MS")[month],
            "temperature": temperature.round(1),
            "price": price.round(2),
            "sales": (level + trend + 2 * temperature - 8 * price + noise).round(1),
        }
    )
    panel.to_csv(BUILD / "panel.csv", index=False)
    options = ["--target", "sales", "--time", "month", "--group", "none"]
    compare(BUILD / "panel.csv", *options, "tracking.enabled=false")


def report_nine_sets():
    """Write the report of nine regression sets from their published records."""
    folder = Path(NINE).parent
    shutil.copytree("docs/results/uci_regression", folder, dirs_exist_ok=True)
    config = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    report(folder, config)


def write_notebook():
    """Write a page with a notebook's output for a fitted model and its plot."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = AdaptiveKernelRegressor(random_state=0).fit(X_train, y_train)
    drawn = StringIO()
    model.plot(X_test, y_test)[0].figure.savefig(drawn, format="svg")
    _, _, figure = drawn.getvalue().partition("<svg")
    code = "AdaptiveKernelRegressor(random_state=0).fit(X_train, y_train)"
    Path(NOTEBOOK).write_text(
        NOTEBOOK_PAGE.format(
            code=html.escape(code),
            model=model._repr_html_(),
            plot="model.plot(X_test, y_test)",
            figure=f"<svg{figure}",
        ),
        encoding="utf-8",
    )


def pages_of_mlflow(address):
    """Name -> address of the pages of MLflow."""
    client = MlflowClient(STORE)
    number = client.get_experiment_by_name("quickstart").experiment_id
    return {
        "mlflow_runs": runs_page(address, number),
        "mlflow_compare": comparison(client, address, number),
        "mlflow_model": f"{address}/#/models/fraud/versions/1",
    }


def comparison(client, address, experiment):
    """URL of the page that compares an experiment's runs on one data set."""
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
