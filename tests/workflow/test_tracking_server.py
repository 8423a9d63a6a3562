"""MLflow's own server and pages show what was logged."""

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
    """A real `mlflow ui` on a database of its own; each test has its experiment."""
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
    found = rest(address, f"experiments/get-by-name?experiment_name={experiment}")
    body = {"experiment_ids": [found["experiment"]["experiment_id"]]}
    runs = rest(address, "runs/search", body).get("runs", [])
    return [run for run in runs if told(run, "tags")["kind"] == "solve"]


def told(run, part):
    """A run's tags, params or metrics as a mapping."""
    return {entry["key"]: entry["value"] for entry in run["data"][part]}


def test_mlflow_ui_shows_the_runs_over_rest(ui):
    uri, address = ui
    records = demo_records()[:12]
    log_records(records, experiment="demo", tracking_uri=uri)
    shown = {}
    for run in rest_runs(address):
        tags = told(run, "tags")
        shown[tags["dataset"], tags["method"], int(tags["repeat"])] = told(
            run, "metrics"
        )
    assert len(shown) == len(records)
    for record in records:
        metrics = shown[record["dataset"], record["method"], record["repeat"]]
        assert metrics["test/accuracy"] == pytest.approx(
            record["metrics"]["test"]["accuracy"]
        )

    # The server serves the artifacts that lie beside the database.
    run_id = rest_runs(address)[0]["info"]["run_id"]
    url = f"{address}/get-artifact?path=record.json&run_uuid={run_id}"
    with urllib.request.urlopen(url, timeout=30) as answer:
        assert json.load(answer)["experiment"] == "demo"

    # The same through the server itself, from two processes at once: nothing twice.
    path = os.path.join(os.path.dirname(uri.removeprefix("sqlite:///")), "r.json")
    more = [*records, *(make_record("wine", "new", k) for k in range(3))]
    with open(path, "w") as file:
        json.dump(more, file)
    processes = [start_logging(path, address) for _ in range(2)]
    assert [process.wait(120) for process in processes] == [0, 0]
    assert len(rest_runs(address)) == len(more)


def test_the_pages_open_on_the_runs(ui, browser):
    """The link that is printed leads to the runs, with the main score in sight, best
    first.
    """
    uri, address = ui
    records = [make_record(method=m, experiment="seen") for m in ("svm-cv", "dank")]
    log_records(records, experiment="seen", tracking_uri=uri)
    link = runs_page(address, experiment_id("seen", uri))
    # Who comes from the list of experiments finds it in the description.
    found = rest(address, "experiments/get-by-name?experiment_name=seen")["experiment"]
    (note,) = [t["value"] for t in found["tags"] if t["key"] == "mlflow.note.content"]
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
