"""Runs as shown by MLflow's server and pages."""

import json
import os
import urllib.request

import pytest

from adakern_bench.report.show import runs_page
from adakern_bench.tracking.store import experiment_id
from adakern_bench.tracking.track import log_records
from mlflow_server import serve, start_logging
from record_factory import demo_records, make_record


@pytest.fixture(scope="module")
def ui(tmp_path_factory, schema):
    """`mlflow ui` on a separate database; each test has its own experiment."""
    folder = tmp_path_factory.mktemp("ui")
    (folder / "mlflow.db").write_bytes(schema)
    uri = f"sqlite:///{folder / 'mlflow.db'}"
    with serve(uri, folder) as address:
        yield uri, address


def rest(address, path, body=None):
    request = urllib.request.Request(
        f"{address}/api/2.0/mlflow/{path}",
        data=body and json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def rest_runs(address, experiment="demo"):
    response = rest(address, f"experiments/get-by-name?experiment_name={experiment}")
    body = {"experiment_ids": [response["experiment"]["experiment_id"]]}
    runs = rest(address, "runs/search", body).get("runs", [])
    return [run for run in runs if as_mapping(run, "tags")["kind"] == "solve"]


def as_mapping(run, part):
    """Tags, params or metrics of a run as a mapping."""
    return {entry["key"]: entry["value"] for entry in run["data"][part]}


def test_runs_are_available_over_rest(ui):
    uri, address = ui
    records = demo_records()[:12]
    log_records(records, experiment="demo", tracking_uri=uri)
    metrics_by_run = {}
    for run in rest_runs(address):
        tags = as_mapping(run, "tags")
        metrics_by_run[tags["dataset"], tags["method"], int(tags["repeat"])] = (
            as_mapping(run, "metrics")
        )
    assert len(metrics_by_run) == len(records)
    for record in records:
        metrics = metrics_by_run[record["dataset"], record["method"], record["repeat"]]
        assert metrics["test/accuracy"] == pytest.approx(
            record["metrics"]["test"]["accuracy"]
        )

    # The server serves the artifacts stored next to the database.
    run_id = rest_runs(address)[0]["info"]["run_id"]
    url = f"{address}/get-artifact?path=record.json&run_uuid={run_id}"
    with urllib.request.urlopen(url, timeout=30) as answer:
        assert json.load(answer)["experiment"] == "demo"

    # Logging through the server from two processes writes each run once.
    path = os.path.join(os.path.dirname(uri.removeprefix("sqlite:///")), "r.json")
    more = [*records, *(make_record("wine", "new", k) for k in range(3))]
    with open(path, "w") as file:
        json.dump(more, file)
    processes = [start_logging(path, address) for _ in range(2)]
    assert [process.wait(120) for process in processes] == [0, 0]
    assert len(rest_runs(address)) == len(more)


def test_link_opens_the_table_of_runs(ui, browser):
    """The printed link opens the runs, with the main score visible, best first."""
    uri, address = ui
    records = [make_record(method=m, experiment="seen") for m in ("svm-cv", "dank")]
    log_records(records, experiment="seen", tracking_uri=uri)
    link = runs_page(address, experiment_id("seen", uri))
    # The description of the experiment contains the link, too.
    experiment = rest(address, "experiments/get-by-name?experiment_name=seen")[
        "experiment"
    ]
    (note,) = [
        t["value"] for t in experiment["tags"] if t["key"] == "mlflow.note.content"
    ]
    assert note.endswith(f"]({link.removeprefix(address + '/')})")
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(180_000)
    page.goto(link)
    scores = {
        f"heart / {r['method']}": r["metrics"]["test"]["accuracy"] for r in records
    }
    places = []
    for name in sorted(scores, key=scores.get, reverse=True):
        row = page.get_by_text(name).first
        row.wait_for()
        places.append(row.bounding_box()["y"])
        shown = page.get_by_text(f"{scores[name]:.6f}"[:6]).first.bounding_box()
        assert shown["x"] + shown["width"] <= 1400
    assert places == sorted(places)
    assert "/runs" in page.url and "/traces" not in page.url
    page.close()
