"""The service of docs/service.md, run on 127.0.0.1."""

import json
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from adakern import cli
from adakern.model_file import load_model

PAGE = Path(__file__).parents[1] / "docs" / "service.md"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """Address of the service, its model and the training table."""
    pytest.importorskip("fastapi", reason="the page's service is FastAPI's")
    pytest.importorskip("uvicorn")
    pytest.importorskip("skops")
    folder = tmp_path_factory.mktemp("service")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 90, 80),
            "ward": rng.choice(["north", "south"], 80),
            "dose": rng.normal(size=80).round(2),
        }
    )
    frame["outcome"] = np.where(frame["dose"] > 0, "ill", "well")
    frame.to_csv(folder / "patients.csv", index=False)
    method = "sklearn.linear_model.LogisticRegression"
    command = ["fit", str(folder / "patients.csv"), "--target", "outcome"]
    output = folder / "patients.skops"
    assert cli.main([*command, "--method", method, "--output", str(output)]) == 0
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
    (folder / "service.py").write_text(code)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = [sys.executable, "-m", "uvicorn", "service:app", "--port", str(port)]
    process = subprocess.Popen(server, cwd=folder, stderr=subprocess.PIPE, text=True)
    address = f"http://127.0.0.1:{port}"
    while process.poll() is None:
        try:
            urllib.request.urlopen(f"{address}/openapi.json")
            break
        except urllib.error.URLError:
            time.sleep(0.2)
    assert process.poll() is None, process.stderr.read()
    yield address, load_model(output)[0], frame
    process.terminate()
    process.communicate()


def request_predictions(address, rows):
    request = urllib.request.Request(
        f"{address}/predict",
        data=json.dumps(rows).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


@pytest.mark.slow
def test_service_predictions_equal_the_model(service):
    address, model, frame = service
    rows = frame.drop(columns="outcome")
    expected = model.predict(rows).tolist()
    assert request_predictions(address, json.loads(rows.to_json(orient="records"))) == {
        "outcome": expected
    }
    one = {"age": 61, "ward": "north", "dose": 0.4}  # as on the page
    assert str(one).replace("'", '"') in PAGE.read_text()
    assert (
        request_predictions(address, [one])["outcome"]
        == model.predict(pd.DataFrame([one])).tolist()
    )


@pytest.mark.slow
def test_service_with_missing_columns_and_new_categories(service):
    address, *_ = service
    assert request_predictions(address, [{"dose": 3.0}]) == {"outcome": ["ill"]}
    assert request_predictions(address, [{"dose": -3.0, "ward": "east"}]) == {
        "outcome": ["well"]
    }


@pytest.mark.slow
def test_service_with_invalid_input_returns_an_error(service):
    address, *_ = service
    with pytest.raises(urllib.error.HTTPError) as refused:
        request_predictions(address, [])
    assert refused.value.code == 422
    assert "no rows" in refused.value.read().decode()


@pytest.mark.slow
def test_service_limits_the_number_of_rows(service):
    address, *_ = service
    with pytest.raises(urllib.error.HTTPError) as refused:
        request_predictions(address, [{}] * 10_001)
    assert refused.value.code == 422


@pytest.mark.slow
@pytest.mark.parametrize(
    "size", ["Content-Length: 1048577", "Transfer-Encoding: chunked"]
)
def test_service_refuses_a_large_body_before_it_arrives(service, size):
    address, *_ = service
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        head = f"POST /predict HTTP/1.1\r\nHost: x\r\n{size}\r\n\r\n"
        connection.sendall(head.encode())
        assert b" 413 " in connection.recv(100)
