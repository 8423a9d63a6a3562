"""A local server with OpenML's responses in the documented formats, and faults. Data
sets 31 (ARFF, categories, missing values, row identifiers), 561 (Parquet only,
numbers), 40 (texts), 41 (no target), 42 (sparse); tasks 59 and 60 on 31
(classification, five folds; without splits), 61 on 561 (regression), 62 (clustering);
study 99 with the tasks 59, 61 and 63, which is 59 with a holdout.
"""

import hashlib
import io
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

N = 60
_rng = np.random.default_rng(5)
AGE = _rng.integers(20, 60, N)
CODE = _rng.integers(1, 4, N)  # a category that looks like a number
JOB = np.array(["none", "it's own", "at a desk, 9-5"])[_rng.integers(0, 3, N)]
GOOD = np.where(AGE + 8 * (CODE == 2) + _rng.normal(0, 4, N) > 42, "good", "bad")
SIZES = pd.DataFrame(_rng.normal(size=(N, 3)), columns=["a", "b", "c"])
SIZES = SIZES.assign(price=SIZES["a"] * 2 - SIZES["b"])


def arff():
    """Data set 31, with quoted names and cells, missing values and comments."""
    jobs = ["'" + job.replace("'", "\\'") + "'" for job in JOB]
    rows = [
        f"r{k}, {'?' if k == 7 else AGE[k]}, {CODE[k]}, {jobs[k]}, {GOOD[k]}"
        for k in range(N)
    ]
    kinds = ",".join(sorted(set(jobs)))
    head = ["% made by hand", "", "@RELATION 'credit, small'", ""]
    head += ["@attribute name string", "@ATTRIBUTE 'Age in years' NUMERIC"]
    head += ["@attribute code {1,2,3}", f"@attribute job {{{kinds}}}"]
    head += ["@attribute class {good,bad}", "", "@DATA"]
    return "\n".join([*head, *rows, "% the end", ""]).encode()


def parquet():
    file = io.BytesIO()
    SIZES.to_parquet(file, index=False)
    return file.getvalue()


def folds():
    """The splits of task 59."""
    return list(StratifiedKFold(5, shuffle=True, random_state=1).split(AGE, GOOD))


def splits(parts):
    head = ["@RELATION splits", "@ATTRIBUTE type {TRAIN,TEST}"]
    head += [f"@ATTRIBUTE {name} INTEGER" for name in ("rowid", "repeat", "fold")]
    rows = [
        f"{kind},{row},0,{fold}"
        for fold, (train, test) in enumerate(parts)
        for kind, part in (("TRAIN", train), ("TEST", test))
        for row in part
    ]
    return "\n".join([*head, "@DATA", *rows, ""]).encode()


def _description(number, **more):
    about = {"id": str(number), "name": f"set-{number}", "version": "1"}
    about |= {"format": "ARFF", "licence": "CC BY 4.0", "status": "active"}
    return {"data_set_description": about | more}


def _features(*columns, **marks):
    named = [
        {"index": str(k), "name": name, "data_type": kind, "is_target": "false"}
        | {"is_ignore": "false", "is_row_identifier": "false"}
        | {"number_of_missing_values": str(int(name == "Age in years"))}
        | marks.get(name, {})
        for k, (name, kind) in enumerate(columns)
    ]
    return {"data_features": {"feature": named[::-1]}}


def _task(number, kind, data, target, url, folds=None):
    parameters = [{"name": "number_repeats", "value": "1"}]
    parameters += [{"name": "number_folds", "value": folds}] * bool(folds)
    parameters += [{"name": "stratified_sampling"}]
    procedure = {"id": "1", "type": "crossvalidation", "parameter": parameters}
    source = {"data_set_id": str(data), "target_feature": target}
    inputs = [
        {"name": "source_data", "data_set": source},
        {
            "name": "estimation_procedure",
            "estimation_procedure": procedure | {"data_splits_url": url},
        },
        {"name": "evaluation_measures", "evaluation_measures": {}},
    ]
    return {"task": {"task_id": str(number), "task_type": kind, "input": inputs}}


def answers(server):
    """Path -> response: JSON as a mapping, or bytes."""
    api = "/api/v1/json/"
    rows = arff()
    split = f"{server}/api_splits/get"
    texts = _features(("text", "string"), ("label", "nominal"))
    quality = [{"name": "NumberOfInstances", "value": f"{N}.0"}]
    responses = {
        "data/31": _description(
            31,
            url=f"{server}/data/v1/download/31/credit.arff",
            default_target_attribute="class",
            md5_checksum=hashlib.md5(rows).hexdigest(),
            citation="Hofmann, H.\nStatlog (German Credit Data) ${oc.env:HOME}. 1994.",
        ),
        "data/features/31": _features(
            ("name", "string"),
            ("Age in years", "numeric"),
            ("code", "nominal"),
            ("job", "nominal"),
            ("class", "nominal"),
        ),
        "data/qualities/31": {"data_qualities": {"quality": quality}},
        "data/561": _description(
            561,
            parquet_url=f"{server}/datasets/0000/0561/dataset_561.pq",
            default_target_attribute="price",
            md5_checksum="0" * 32,  # of an ARFF file
        ),
        "data/features/561": _features(*((name, "numeric") for name in SIZES)),
        "data/40": _description(40, url=server, default_target_attribute="label"),
        "data/features/40": texts,
        "data/41": _description(41, url=server),
        "data/features/41": _features(("a", "numeric"), ("b", "numeric")),
        "data/42": _description(42, url=server, format="Sparse_ARFF"),
        "data/features/42": texts,
        "task/59": _task(
            59, "Supervised Classification", 31, "class", f"{split}/59/s.arff", "5"
        ),
        "task/60": _task(
            60, "Supervised Classification", 31, "class", f"{split}/60/s.arff", "5"
        ),
        "task/61": _task(
            61, "Supervised Regression", 561, "price", f"{split}/61/s.arff", "2"
        ),
        "task/62": _task(62, "Clustering", 31, "", ""),
        "task/63": _task(
            63, "Supervised Classification", 31, "class", f"{split}/63/s.arff"
        ),
        "study/99": {
            "study": {
                "id": "99",
                "data": {"data_id": ["31", "561"]},
                "tasks": {"task_id": ["59", "61", "63"]},
            }
        },
    }
    half = np.arange(N)
    files = {
        "/data/v1/download/31/credit.arff": rows,
        "/datasets/0000/0561/dataset_561.pq": parquet(),
        "/api_splits/get/59/s.arff": splits(folds()),
        "/api_splits/get/61/s.arff": splits(
            [(half[::2], half[1::2]), (half[1::2], half[::2])]
        ),
        "/api_splits/get/63/s.arff": splits(folds()[:1]),
    }
    return {api + path: answer for path, answer in responses.items()} | files


class Handler(BaseHTTPRequestHandler):
    """Responds, with the `faults` of the server for parts of the path."""

    def do_GET(self):
        path = urlsplit(self.path).path
        self.server.requests.append(path)
        fault = next((f for part, f in self.server.faults.items() if part in path), "")
        answer = self.server.answers.get(path)
        if fault == 404:
            self._send(404, b"not found")
        elif fault == "moved":
            self.send_response(302)
            self.send_header("Location", f"http://localhost:1{path}")
            self.end_headers()
        elif answer is None:
            error = {"error": {"code": "111", "message": "Unknown: no such thing"}}
            if path.startswith("/api_splits"):
                error["error"]["message"] = "no split"
            self._send(412, json.dumps(error).encode())
        else:
            content = (
                answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            )
            if fault == "changed":
                content = content.replace(b"good", b"bad ")
            self._send(200, content, fault)

    def _send(self, status, content, fault=""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        half = content[: len(content) // 2]
        self.wfile.write(half if fault in ("half", "slow") else content)
        if fault == "slow":
            self.wfile.flush()
            self.server.released.wait(20)

    def log_message(self, *args):
        pass


@contextmanager
def serving():
    """A local server with attributes `url`, `faults` and `requests`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{server.server_port}"
    server.answers, server.faults, server.requests = answers(server.url), {}, []
    server.released = threading.Event()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()
