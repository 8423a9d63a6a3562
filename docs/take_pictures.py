"""Pictures of a finished run for docs/pictures.md, taken in headless Chromium.

    make run && .venv/bin/python docs/take_pictures.py

Writes docs/images: the report at 1400 and 800 pixels, in dark mode and on paper, and
MLflow's page of runs and its comparison of five of them. ``tests/install_debian.sh``
brings Chromium.
"""

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright

from adakern._utils.files import read_json
from adakern.bench.report.show import runs_page

#: Width, height and Chromium's settings of each picture of the report.
REPORT = {
    "1400": (1400, 1900, {}),
    "800": (800, 1700, {}),
    "dark": (1400, 1140, {"color_scheme": "dark"}),
    "paper": (720, 1900, {"media": "print"}),
}


def main():
    """Take them all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--results", type=Path, default=Path("results/quickstart"))
    parser.add_argument("--store", default="sqlite:///mlflow.db", help="of MLflow")
    parser.add_argument("--link", help="MLflow's page of runs, from the root on")
    parser.add_argument("--images", type=Path, default=Path("docs/images"))
    parser.add_argument("--prefix", default="", help="of the pictures' names")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")

    def path(name):
        return options.images / f"{options.prefix}{name}.png"

    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, (width, height, media) in REPORT.items():
            page = browser.new_page(viewport={"width": width, "height": height})
            page.emulate_media(**media)
            page.goto((options.results / "report.html").resolve().as_uri())
            page.screenshot(path=path(f"report_{name}"))
        with server(options.store) as address:
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            page.set_default_timeout(180_000)
            page.goto(
                address + options.link if options.link else link(options, address)
            )
            page.wait_for_timeout(30_000)  # charts come one after the other
            page.screenshot(path=path("mlflow_runs"))
            if not options.link:
                compare(page)
                page.screenshot(path=path("mlflow_compare"))
        browser.close()


def link(options, address):
    """The page that the run's last lines name."""
    mark = read_json(options.results / "track" / "summary" / "all.json")
    return runs_page(address, mark["experiment_id"])


def compare(page):
    """Tick five runs of the list and have them compared."""
    page.goto(page.url.replace("compareRunsMode=CHART", "compareRunsMode=TABLE"))
    boxes = page.get_by_role("checkbox")
    page.get_by_text(" / ").first.wait_for()
    page.wait_for_timeout(5_000)
    for k in range(boxes.count()):
        if page.get_by_text("5 runs selected").count():
            break
        boxes.nth(k).click(force=True)
    page.get_by_role("button", name="Compare").click()
    page.get_by_text("Visualizations").first.wait_for()
    page.wait_for_timeout(10_000)


@contextmanager
def server(store):
    """`mlflow ui` on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", store]
    process = subprocess.Popen(
        [*command, "--port", str(port), "--workers", "1"],
        env=os.environ | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
        start_new_session=True,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(f"{address}/health", timeout=5).close()
                break
            except OSError:
                time.sleep(1)
        yield address
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


if __name__ == "__main__":
    main()
