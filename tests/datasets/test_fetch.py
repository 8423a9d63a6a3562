"""Fetching files into the cache, from a real server on this machine."""

import gzip
import hashlib
import json
import threading
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest
from requests import Response

from adakern.tables import unpack
from adakern_bench.base import download
from adakern_bench.config.entry import UNSTATED, DatasetEntry, DatasetError, SourceFile
from adakern_bench.data import fetch
from adakern_bench.data.fetch import load_table
from adakern_bench.data.fingerprint import content_fingerprint
from adakern_bench.data.sources import placed_by_hand
from mlflow_server import free_port

ROWS = np.random.default_rng(0).normal(size=(40, 3)).round(4)
LABELS = np.where(ROWS[:, 0] > 0, "up", "down")
CONTENT = pd.DataFrame(ROWS).assign(y=LABELS).to_csv(header=False, index=False).encode()

FIRST, REST = CONTENT.split(b"\n", 1)
A, _, *OTHERS = FIRST.split(b",")
#: First part of the path -> status and what is sent of the promised bytes.
ANSWERS = {
    "good": (200, CONTENT),
    "missing": (404, b""),
    "broken": (503, b""),
    "cut": (200, CONTENT[: len(CONTENT) // 2]),  # then the connection closes
    "slow": (200, CONTENT[:20]),
    # The right shape, one cell changed.
    "tampered": (200, b",".join([A, b"9.75", *OTHERS]) + b"\n" + REST),
    "page": (200, b"<!DOCTYPE html><html><body>Log in, please</body></html>"),
    "bomb": (200, gzip.compress(bytes(10 << 20))),
    "packed": (200, gzip.compress(CONTENT)),
    "packed-twice": (200, gzip.compress(gzip.compress(CONTENT))),
    "moved": (302, CONTENT),  # and more, without end
    "moved-to-a-file": (302, b""),
    "moved-in-a-circle": (302, b""),
    "huge": (200, CONTENT),  # of the gigabytes that it promises
    "endless": (200, bytes(4 << 20)),  # without saying how much
    "trickle": (200, CONTENT),  # a byte at a time
    "trickling-head": (200, CONTENT),
}
#: The same -> content encoding, and place of a redirect.
ENCODED = {"bomb": "gzip", "packed": "gzip", "packed-twice": "gzip, gzip"}
MOVED = {
    "moved": "/good/toy.csv",
    "moved-to-a-file": "file://127.0.0.1/etc/hosts",
    "moved-in-a-circle": "moved-in-a-circle",
}


class Handler(BaseHTTPRequestHandler):
    """Behaves as the first part of the path says."""

    def do_GET(self):
        self.server.requests.append(self.path)
        kind = self.path.split("/")[1]
        if kind == "recovers":
            kind = "cut" if len(self.server.requests) < 3 else "good"
        status, content = ANSWERS[kind]
        if kind == "trickling-head":
            return self.trickle(b"HTTP/1.1 200 OK\r\nServer: " + bytes(99))
        self.send_response(status)
        promised = CONTENT if kind in ("cut", "slow") else content
        length = 3 << 30 if kind in ("huge", "moved") else len(promised)
        if kind != "endless":
            self.send_header("Content-Length", str(length))
        if kind in ENCODED:
            self.send_header("Content-Encoding", ENCODED[kind])
        if kind in MOVED:
            self.send_header("Location", MOVED[kind])
        self.end_headers()
        if kind == "trickle":
            return self.trickle(content)
        with suppress(ConnectionError):  # who refuses a bomb hears no more of it
            self.wfile.write(content)
        if kind in ("slow", "moved"):
            self.wfile.flush()
            self.server.released.wait(10)

    def trickle(self, content):
        """Send bytes one after another until nobody listens."""
        with suppress(ConnectionError):
            for byte in content:
                self.wfile.write(bytes([byte]))
                if self.server.released.wait(0.05):
                    return

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv(fetch.MIRROR_VARIABLE, raising=False)
    monkeypatch.setattr(download.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(download, "TIMEOUT", 5)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.requests, server.released = [], threading.Event()
        server.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.released.set()
        server.shutdown()


@pytest.fixture
def entry(tmp_path):
    """The entry of the rows above, and their file in a folder of its own."""
    stored = tmp_path / "made" / "toy" / "toy.csv"
    stored.parent.mkdir(parents=True)
    stored.write_bytes(CONTENT)
    facts = {"n": 40, "d": 3, "fingerprint": content_fingerprint(ROWS, LABELS)}
    return DatasetEntry(task="classification", files=[{"path": "toy/toy.csv"}], **facts)


@pytest.fixture
def served(entry, server):
    """The entry, with the url of a file that is as it should be."""
    entry.files[0].urls = [f"{server.url}/good/toy.csv"]
    return entry


def load(entry, cache, **options):
    return load_table("toy", entry, cache_dir=cache, **options)


def list_files(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_fetched_file_is_cached_with_record(served, tmp_path):
    cache = tmp_path / "cache"
    table = load(served, cache)
    np.testing.assert_array_equal(table.X, ROWS)
    assert table.y.tolist() == LABELS.tolist()
    assert (cache / "toy" / "toy.csv").read_bytes() == CONTENT
    assert list_files(cache) == ["toy/toy.csv", "toy/toy.csv.record.json"]
    assert table.provenance["source"] == "url"
    facts = {"path": "toy/toy.csv", "sha256": hashlib.sha256(CONTENT).hexdigest()}
    assert table.provenance["files"] == [facts | {"from": served.files[0].urls[0]}]
    record = json.loads((cache / "toy" / "toy.csv.record.json").read_text())
    assert record["sha256"] == facts["sha256"]
    assert placed_by_hand(served, cache) == []
    (cache / "toy" / "toy.csv.record.json").unlink()
    assert placed_by_hand(served, cache) == [str(cache / "toy" / "toy.csv")]


def test_content_encoding_gzip_is_decompressed(entry, server, tmp_path):
    entry.files[0].urls = [f"{server.url}/packed/toy.csv"]
    load(entry, tmp_path / "cache")
    assert (tmp_path / "cache" / "toy" / "toy.csv").read_bytes() == CONTENT


def test_body_of_redirect_is_not_read(entry, server, tmp_path):
    entry.files[0].urls = [f"{server.url}/moved/toy.csv"]
    load(entry, tmp_path / "cache")
    assert server.requests == ["/moved/toy.csv", "/good/toy.csv"]


def test_redirect_from_https_to_http_is_refused():
    response = Response()
    response.status_code, response.url = 302, "https://h/a.csv"
    response.headers["Location"] = "http://h/a.csv"
    with pytest.raises(download.Refused, match="is not encrypted"):
        download._check_answer({"h"}, response)


def test_source_order_cache_mirror_url(served, server, tmp_path, monkeypatch):
    cache, mirror = tmp_path / "a", tmp_path / "made"
    assert load(served, cache, mirror=mirror).provenance["source"] == "mirror"
    monkeypatch.setenv(fetch.MIRROR_VARIABLE, str(mirror))
    assert load(served, cache).provenance["source"] == "mirror"
    assert server.requests == []
    monkeypatch.delenv(fetch.MIRROR_VARIABLE)
    load(served, cache)
    assert load(served, cache, mirror=mirror).provenance["source"] == "cache"
    assert len(server.requests) == 1
    # A file without a record was put there by the user.
    assert load(served, mirror).provenance["source"] == "cache"


@pytest.mark.parametrize(
    ("response", "retries", "n_requests", "message"),
    [
        ("missing", 3, 1, "HTTP status 404"),
        ("broken", 2, 3, "503 Server Error"),
        ("cut", 1, 2, "IncompleteRead"),
        ("slow", 0, 1, "Read timed out"),
        ("tampered", 1, 1, "fingerprint is .*the entry has"),
        ("page", 1, 1, "its content is invalid"),
        ("bomb", 1, 1, r"unpacks to more than \d+ MB"),
        ("packed-twice", 1, 1, "has the encoding 'gzip, gzip'"),
        ("moved-to-a-file", 1, 1, "redirects to file://127.0.0.1/etc/hosts"),
        ("moved-in-a-circle", 1, 11, "redirects more than 10 times"),
        ("huge", 1, 1, "exceeds the limit of 2147 MB"),
        ("endless", 1, 1, "exceeds the limit of 1 MB"),
        ("trickle", 1, 1, "not complete after 0 minutes; download the file manually"),
        ("trickling-head", 1, 1, "not complete after 0 minutes"),
    ],
)
def test_wrong_response_error(
    server, entry, tmp_path, monkeypatch, response, retries, n_requests, message
):
    """The error names the problem, nothing is kept, and a second url is used."""
    monkeypatch.setattr(unpack, "_FREE_BYTES", 1 << 16)
    if response == "endless":
        monkeypatch.setattr(download, "MOST_BYTES", 1 << 20)
    longest = 0.6 if response.startswith("trickl") else 60
    monkeypatch.setattr(download, "LONGEST", longest)
    monkeypatch.setattr(download, "RETRIES", retries)
    monkeypatch.setattr(download, "TIMEOUT", 0.3 if response == "slow" else 5)
    entry.files[0].urls = [f"{server.url}/{response}/toy.csv"]
    with pytest.raises(DatasetError, match=f"(?s){message}"):
        load(entry, tmp_path / "cache")
    assert len(server.requests) == n_requests
    assert list_files(tmp_path / "cache") == []
    entry.files[0].urls.append(f"{server.url}/good/toy.csv")
    monkeypatch.setattr(download, "LONGEST", 60)
    if response.startswith("trickl"):
        entry.files[0].urls[0] = f"{server.url}/missing/toy.csv"
    table = load(entry, tmp_path / "cache")
    assert table.provenance["files"][0]["from"] == entry.files[0].urls[1]


def test_missing_network_and_folder_are_named(entry, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "RETRIES", 0)
    entry.files[0].urls = [f"http://127.0.0.1:{free_port()}/toy.csv"]
    (tmp_path / "cache" / "toy" / "toy.csv").mkdir(parents=True)
    with pytest.raises(DatasetError) as caught:
        load(entry, tmp_path / "cache")
    _, place, url, _ = str(caught.value).splitlines()
    assert place.endswith("toy.csv is a folder; a file is needed")
    assert url.startswith(f"  {entry.files[0].urls[0]}: ") and "Pool" not in url


def test_retry_after_cut_connection(server, entry, tmp_path):
    entry.files[0].urls = [f"{server.url}/recovers/toy.csv"]
    load(entry, tmp_path / "cache")
    assert len(server.requests) == 3


def test_cache_unchanged_when_one_of_two_files_fails(server, served, tmp_path):
    entry = replace(served, **UNSTATED)
    entry.files.append(
        SourceFile(path="toy/more.csv", urls=[f"{server.url}/missing/m"])
    )
    with pytest.raises(DatasetError, match=r"toy/more\.csv"):
        load(entry, tmp_path / "cache")
    assert list_files(tmp_path / "cache") == []


@pytest.mark.parametrize(
    ("damaged", "content"),
    [
        ("toy.csv", CONTENT[:100]),
        ("toy.csv", CONTENT.replace(b"1", b"2")),
        ("toy.csv.record.json", b"{"),
    ],
)
def test_corrupt_cached_file_is_fetched_again(served, tmp_path, damaged, content):
    folder = tmp_path / "cache" / "toy"
    load(served, tmp_path / "cache")
    (folder / damaged).write_bytes(content)
    with pytest.warns(UserWarning, match="corrupt"):
        table = load(served, tmp_path / "cache")
    assert table.provenance["source"] == "url"
    assert (folder / "toy.csv").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (CONTENT.split(b"\n", 1)[1], "n is 39, the entry has 40"),
        (b"\x1f\x8bnot gzip at all", "cannot be unpacked"),
    ],
)
def test_wrong_mirror_file_error_keeps_file(entry, tmp_path, content, message):
    stored = tmp_path / "made" / "toy" / "toy.csv"
    stored.write_bytes(content)
    with pytest.raises(DatasetError, match=message) as caught:
        load(entry, tmp_path / "cache", mirror=tmp_path / "made")
    assert str(stored) in str(caught.value)
    assert stored.exists()


def test_cache_folder_not_writable(served, tmp_path):
    (tmp_path / "cache").write_text("a file where a folder is wanted")
    with pytest.raises(
        DatasetError, match=r"cannot be written to .*cache: .*Free some space"
    ):
        load(served, tmp_path / "cache")
