"""Get the files of a data set: from the local cache, a mirror folder, or a url."""

import hashlib
import json
import logging
import os
import shutil
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from adakern._utils.warn import warn_user
from adakern_bench.data.assemble import (
    check_table,
    table_from_frames,
    table_from_loader,
)
from adakern_bench.data.entry import check_entry
from adakern_bench.data.errors import (
    DatasetError,
    FileUnavailableError,
    ParseError,
    TableMismatchError,
)
from adakern_bench.data.parsers import parse
from adakern_bench.data.splits import read_splits, row_lists

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
    name,
    entry,
    *,
    cache_dir,
    mirror=None,
    seed=0,
    timeout=30.0,
    retries=3,
    progress=True,
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
    fetcher = _Fetcher(Path(cache_dir), mirror, timeout, retries, progress)
    with fetcher:
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
    bytes_of = {
        file.path: got.data for file, got in zip(entry.sources, obtained, strict=True)
    }
    frames = [parse(bytes_of[file.path], entry, file) for file in entry.files]
    table = table_from_frames(name, entry, frames)
    if entry.splits:
        data = bytes_of[entry.splits.path]
        table.published_splits = read_splits(data, entry, len(table.X))
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
    return {
        "fingerprint": fingerprint,
        "licence": entry.licence,
        "citation": entry.citation,
    }


def is_fetched(path):
    """Whether a file of the cache was downloaded, and not put there by hand."""
    return _record_of(Path(path)).is_file()


class _Fetcher:
    """Obtains files for one data set; remembers what was tried and refused."""

    def __init__(self, cache_dir, mirror, timeout, retries, progress):
        self.cache_dir = cache_dir
        self.mirror = None if mirror is None else Path(mirror)
        self.timeout = timeout
        self.retries = retries
        self.progress = progress
        self.failures = {}  # url or path -> why it did not serve
        self.staging = None
        self.n_staged = 0

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.staging is not None:
            shutil.rmtree(self.staging, ignore_errors=True)

    def obtain(self, name, file):
        """Bytes of a file from the first place that has it."""
        cached = self._from_cache(file)
        if cached is not None:
            return cached
        if self.mirror is not None and (self.mirror / file.path).is_file():
            path = self.mirror / file.path
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
            with suppress(FileNotFoundError):
                spoilt.unlink()
        return None

    def _download(self, url, hosts):
        """(path, None), or (None, why not) after all repetitions."""
        import pooch
        import requests

        pooch.get_logger().setLevel(logging.WARNING)
        downloader = pooch.HTTPDownloader(
            progressbar=self.progress, timeout=self.timeout
        )
        downloader.kwargs["hooks"] = {"response": partial(_stay_at, hosts)}
        failure = None
        for attempt in range(self.retries + 1):
            if attempt:
                logger.warning("%s: %s; trying again", url, failure)
                time.sleep(PAUSE_SECONDS * 2 ** (attempt - 1))
            try:
                target = self._new_staged_name()
                # pooch moves the file to its place only when it arrived whole.
                pooch.retrieve(
                    url,
                    known_hash=None,
                    fname=target.name,
                    path=target.parent,
                    downloader=downloader,
                )
                return target, None
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

    def _new_staged_name(self):
        if self.staging is None:
            self.cache_dir.mkdir(parents=True, exist_ok=True)
            self.staging = Path(tempfile.mkdtemp(dir=self.cache_dir, prefix=".fetch-"))
        self.n_staged += 1
        return self.staging / f"{self.n_staged}.part"

    def _reason(self, error):
        """(what went wrong in plain words, whether to try again)."""
        import requests

        if isinstance(error, requests.HTTPError):
            status = error.response.status_code
            return f"the server answers with HTTP status {status}", status >= 500
        if isinstance(error, requests.Timeout):
            return f"no answer within {self.timeout:g} s", True
        if "NameResolutionError" in str(error):  # no network, or no such host
            return "the host name is not known: is there a network?", False
        if isinstance(error, requests.exceptions.ChunkedEncodingError):
            return "the connection was cut before the file was whole", True
        if isinstance(error, requests.ConnectionError) and "timed out" in str(error):
            return f"no data within {self.timeout:g} s", True
        return str(error), not isinstance(error, requests.exceptions.InvalidURL)

    def _unavailable(self, name, file):
        cached = self.cache_dir / file.path
        tried = [f"  cache: {cached} {self.failures.get(cached, 'is not there')}"]
        if self.mirror is None:
            tried.append(f"  mirror: none set (data.mirror or {MIRROR_VARIABLE})")
        elif not self.mirror.is_dir():
            tried.append(f"  mirror: there is no folder {self.mirror}")
        else:
            tried.append(f"  mirror: {self.mirror / file.path} is not there")
        tried += [f"  url: {url}: {self.failures[url]}" for url in file.urls]
        if not file.urls:
            tried.append("  url: the entry names none")
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
