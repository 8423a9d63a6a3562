"""Get the files of a data set: from the local cache, a mirror folder, or a url."""

import hashlib
import json
import logging
import os
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urljoin, urlsplit

from adakern._utils.warn import warn_user
from adakern_bench.data.assemble import check_table, table_from_frames, table_from_loader
from adakern_bench.data.entry import check_entry
from adakern_bench.data.errors import (
    DatasetError,
    FileUnavailableError,
    ParseError,
    TableMismatchError,
)
from adakern_bench.data.parsers import parse
from adakern_bench.data.splits import read_splits, row_lists, seeded_splits

__all__ = ["MIRROR_VARIABLE", "is_fetched", "load_table"]

MIRROR_VARIABLE = "ADAKERN_DATA_MIRROR"
PAUSE_SECONDS = 1.0  # before the first repetition of a download; doubles each time

logger = logging.getLogger(__name__)


@dataclass
class Obtained:
    """The bytes of one file and where they came from."""

    data: bytes
    source: str  # cache, mirror or url
    place: str
    staged: Path | None = None  # downloaded, not yet accepted into the cache

    @property
    def sha256(self):
        return hashlib.sha256(self.data).hexdigest()


def load_table(
    name, entry, *, cache_dir, mirror=None, seed=0, timeout=30.0, retries=3, progress=True
):
    """The checked table of a data set.

    Files are taken from the cache, else from the mirror folder, else fetched. A
    fetched file enters the cache only after the whole table agreed with its entry.
    """
    problems = check_entry(name, entry)
    if problems:
        raise DatasetError("\n".join(problems))
    if entry.loader:
        return _load_generated(name, entry, seed)
    mirror = mirror or os.environ.get(MIRROR_VARIABLE) or None
    mirror, cache_dir = mirror and Path(mirror), Path(cache_dir)
    with ExitStack() as staging:
        fetcher = _Fetcher(cache_dir, mirror, timeout, retries, progress, staging)
        while True:
            obtained = [fetcher.obtain(name, file) for file in entry.sources]
            try:
                table = _assemble(name, entry, obtained)
            except (ParseError, TableMismatchError) as error:
                fetcher.refuse(obtained, error)
            else:
                fetcher.accept(entry.sources, obtained)
                return table


def _load_generated(name, entry, seed):
    table = table_from_loader(name, entry, seed)
    embedded = entry.loader["_target_"].startswith("sklearn.datasets.load_")
    table.provenance = {
        "source": "embedded" if embedded else "generated",
        "loader": dict(entry.loader),
        "seed": None if embedded else entry.loader.get("random_state", seed),
        **_checked_content(entry, table),
    }
    return table


def _assemble(name, entry, obtained):
    for file, got in zip(entry.sources, obtained, strict=True):
        if file.sha256 not in (None, got.sha256):
            raise TableMismatchError(
                f"{file.path}: its SHA-256 is {got.sha256}, the entry says {file.sha256}"
            )
    bytes_of = {file.path: got.data for file, got in zip(entry.sources, obtained, strict=True)}
    frames = [parse(bytes_of[file.path], entry, file) for file in entry.files]
    table = table_from_frames(name, entry, frames)
    if entry.splits:
        data = bytes_of[entry.splits.path]
        table.published_splits = read_splits(data, entry, len(table.X))
    if entry.split_seeds:
        table.published_splits = seeded_splits(entry, len(table.X))
    if entry.tuning_split:
        data = bytes_of[entry.tuning_split.path]
        (table.tuning_rows,) = row_lists(data, entry.tuning_split, len(table.X))
    table.provenance = {
        "source": "+".join(sorted({got.source for got in obtained})),
        "files": [
            {"path": file.path, "from": got.place, "sha256": got.sha256}
            for got, file in zip(obtained, entry.sources, strict=True)
        ],
        **_checked_content(entry, table),
    }
    return table


def _checked_content(entry, table):
    """What the provenance says of the content, once that agrees with the entry."""
    fingerprint = table.fingerprint
    check_table(entry, table, fingerprint)
    return {"fingerprint": fingerprint, "licence": entry.licence, "citation": entry.citation}


def is_fetched(path):
    """Whether a file of the cache was downloaded, and not put there by hand."""
    return _record_of(Path(path)).is_file()


@dataclass
class _Fetcher:
    """Obtains files for one data set; remembers what was tried and refused."""

    cache_dir: Path
    mirror: Path | None
    timeout: float
    retries: int
    progress: bool
    staging: ExitStack  # folders of what was downloaded and not yet accepted
    failures: dict = field(default_factory=dict)  # url or path -> why it did not serve

    def obtain(self, name, file):
        """Bytes of a file from the first place that has it."""
        if cached := self._from_cache(file):
            return cached
        if self.mirror and (path := self.mirror / file.path).is_file():
            return Obtained(path.read_bytes(), "mirror", str(path))
        for url in file.urls:
            if url in self.failures:
                continue
            staged, failure = self._download(url, {_host(u) for u in file.urls})
            if staged is not None:
                return Obtained(staged.read_bytes(), "url", url, staged)
            self.failures[url] = failure
            logger.warning("%s: %s: %s", name, url, failure)
        raise FileUnavailableError(self._unavailable(name, file))

    def refuse(self, obtained, error):
        """Strike the urls of a table that did not pass; raise if none was fetched."""
        fetched = [got for got in obtained if got.staged is not None]
        if not fetched:
            places = ", ".join(got.place for got in obtained)
            raise type(error)(
                f"{str(error).rstrip('.')}. Read from {places}: remove or replace "
                "what is wrong there, or correct the entry."
            ) from error
        for got in fetched:
            self.failures[got.place] = f"its content did not pass: {error}"
            logger.warning("%s: %s", got.place, self.failures[got.place])
            got.staged.unlink()

    def accept(self, files, obtained):
        """Move the fetched files into the cache, each with a record of its bytes."""
        for file, got in zip(files, obtained, strict=True):
            if got.staged is None:
                continue
            target = self.cache_dir / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            record = got.staged.with_name(got.staged.name + ".record")
            record.write_text(json.dumps({"sha256": got.sha256, "url": got.place}))
            os.replace(got.staged, target)
            os.replace(record, _record_of(target))

    def _from_cache(self, file):
        path = self.cache_dir / file.path
        if not path.is_file():
            return None
        got = Obtained(path.read_bytes(), "cache", str(path))
        try:
            recorded = json.loads(_record_of(path).read_text())["sha256"]
        except FileNotFoundError:
            return got  # put there by hand; the content check decides
        except (ValueError, KeyError):
            recorded = None
        if recorded == got.sha256:
            return got
        corrupt = (
            f"is corrupt: its SHA-256 is {got.sha256}, {recorded} was recorded when it "
            "was fetched. It is removed"
        )
        self.failures[path] = corrupt
        warn_user(f"{path} {corrupt} and fetched again.")
        for spoilt in (path, _record_of(path)):
            spoilt.unlink(missing_ok=True)
        return None

    def _download(self, url, hosts):
        """(path, None), or (None, why not) after all repetitions."""
        import pooch
        import requests

        pooch.get_logger().setLevel(logging.WARNING)
        downloader = pooch.HTTPDownloader(progressbar=self.progress, timeout=self.timeout)
        downloader.kwargs["hooks"] = {"response": partial(_stay_at, hosts)}
        failure = None
        for attempt in range(self.retries + 1):
            if attempt:
                logger.warning("%s: %s; trying again", url, failure)
                time.sleep(PAUSE_SECONDS * 2 ** (attempt - 1))
            try:
                self.cache_dir.mkdir(parents=True, exist_ok=True)
                # pooch moves the file to its place only when it arrived whole.
                folder = TemporaryDirectory(dir=self.cache_dir, prefix=".fetch-")
                place = self.staging.enter_context(folder)
                path = pooch.retrieve(url, None, "whole", place, downloader=downloader)
                return Path(path), None
            except requests.RequestException as error:
                failure, worth_repeating = self._reason(error)
                if not worth_repeating:
                    break
            except OSError as error:
                raise DatasetError(
                    f"the folder {self.cache_dir} cannot take {url}: {error}. Free "
                    "some space there, or name another folder."
                ) from error
        return None, failure

    def _reason(self, error):
        """(what went wrong in plain words, whether to try again)."""
        from requests import ConnectionError, HTTPError, Timeout, exceptions

        text = str(error)
        if isinstance(error, HTTPError):
            status = getattr(error.response, "status_code", 0)
            return f"the server answers with HTTP status {status}", status >= 500
        if "NameResolutionError" in text:  # no network, or no such host
            return "the host name is not known: is there a network?", False
        if isinstance(error, exceptions.ChunkedEncodingError):
            return "the connection was cut before the file was whole", True
        slow = isinstance(error, ConnectionError) and "timed out" in text
        if slow or isinstance(error, Timeout):
            return f"no answer within {self.timeout:g} s", True
        return text, not isinstance(error, exceptions.InvalidURL)

    def _unavailable(self, name, file):
        cached = self.cache_dir / file.path
        tried = [f"  cache: {cached} {self.failures.get(cached, 'is not there')}"]
        if not self.mirror:
            tried.append(f"  mirror: none set (data.mirror or {MIRROR_VARIABLE})")
        elif not self.mirror.is_dir():
            tried.append(f"  mirror: there is no folder {self.mirror}")
        else:
            tried.append(f"  mirror: {self.mirror / file.path} is not there")
        tried += [f"  url: {url}: {self.failures[url]}" for url in file.urls]
        tried += [] if file.urls else ["  url: the entry names none"]
        return (
            f"data set {name}: the file {file.path} cannot be had. Tried:\n"
            + "\n".join(tried)
            + f"\nGet the file elsewhere and put it at {cached}, "
            f"or set data.mirror (or {MIRROR_VARIABLE}) to a folder that holds "
            f"{file.path}, or leave {name} out of the experiment."
        )


def _host(url):
    return (urlsplit(url).hostname or "").removeprefix("www.")


def _stay_at(hosts, response, **_):
    """Follow a redirect only to a host that the entry names."""
    import requests

    if response.is_redirect:
        place = urljoin(response.url, response.headers["location"])
        if _host(place) not in hosts:
            raise requests.exceptions.InvalidURL(
                f"it redirects to {place}, at a host that the entry does not name"
            )


def _record_of(path):
    return path.with_name(path.name + ".record.json")
