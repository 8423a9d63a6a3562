"""Get the files of a data set: from the local cache, a mirror folder, or a url."""

import hashlib
import io
import json
import os
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from adakern._utils.files import atomic_path, write_json
from adakern._utils.warn import warn_user
from adakern.datasets.unpack import TableError
from adakern_bench.config.entry import (
    DatasetError,
    SourceFile,
    check_content,
    check_entry,
)
from adakern_bench.data.assemble import table_from_frames, table_from_loader
from adakern_bench.data.parsers import parse
from adakern_bench.data.splits import read_splits, row_lists, seeded_splits

MIRROR_VARIABLE = "ADAKERN_DATA_MIRROR"
#: Seconds of one network read, and repetitions of a download that fails.
TIMEOUT, RETRIES = 30.0, 3


@dataclass
class Obtained:
    """The bytes of one file and where they came from."""

    file: SourceFile
    data: bytes
    source: str  # cache, mirror or url
    place: str

    @property
    def sha256(self):
        return hashlib.sha256(self.data).hexdigest()


def load_table(name, entry, *, cache_dir, mirror=None, seed=0):
    """The checked table of a data set, its files from the cache, the mirror or the
    network.

    A fetched file enters the cache only after the whole table agreed with its entry.
    """
    if problems := check_entry(name, entry):
        raise DatasetError("\n".join(problems))
    if entry.loader:
        table = table_from_loader(name, entry, seed)
        embedded = str(entry.loader["_target_"]).startswith("sklearn.datasets.load_")
        source = "embedded" if embedded else "generated"
        drawn_with = None if embedded else entry.loader.get("random_state", seed)
        return _checked(
            table, entry, source=source, loader=dict(entry.loader), seed=drawn_with
        )
    mirror = mirror or os.environ.get(MIRROR_VARIABLE)
    places = _Places(Path(cache_dir), mirror and Path(mirror))
    while True:
        obtained = [places.obtain(name, file) for file in entry.sources]
        try:
            table = _assemble(name, entry, obtained)
        except (DatasetError, TableError) as error:
            places.refuse(obtained, error)
        else:
            places.keep(obtained)
            return table


def check_hashes(obtained):
    """Refuse files whose bytes are not those that the entry states."""
    for got in obtained:
        if got.file.sha256 not in (None, got.sha256):
            raise DatasetError(
                f"{got.place}: its SHA-256 is {got.sha256}, the entry says "
                f"{got.file.sha256}; the file or the entry is wrong"
            )


def _assemble(name, entry, obtained):
    check_hashes(obtained)
    bytes_of = {got.file.path: got.data for got in obtained}
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
    sources = "+".join(sorted({got.source for got in obtained}))
    files = [
        {"path": got.file.path, "from": got.place, "sha256": got.sha256}
        for got in obtained
    ]
    return _checked(table, entry, source=sources, files=files)


def _checked(table, entry, **origin):
    """The table with its provenance, once its content agrees with the entry."""
    content = table.content()
    check_content(entry, content)
    known = {"licence": entry.licence, "citation": entry.citation, "content": content}
    table.provenance = origin | known | {"fingerprint": content["fingerprint"]}
    return table


def is_fetched(path):
    """Whether a file of the cache was downloaded, and not put there by hand."""
    return _record_of(Path(path)).is_file()


def _record_of(path):
    return path.with_name(path.name + ".record.json")


@dataclass
class _Places:
    """Where the files of one data set may be, and which places did not
    serve, and why."""

    cache_dir: Path
    mirror: Path | None
    failures: dict = field(default_factory=dict)  # url or path -> why

    def obtain(self, name, file):
        """A file from the first place that has it."""
        if cached := self._from_cache(file):
            return cached
        if self.mirror and (path := self.mirror / file.path).is_file():
            return Obtained(file, path.read_bytes(), "mirror", str(path))
        hosts = set(map(_host, file.urls))
        for url in file.urls:
            if url not in self.failures:
                try:
                    return Obtained(file, _download(url, hosts), "url", url)
                except _Refused as error:
                    self.failures[url] = str(error)
        raise DatasetError(self._unavailable(name, file))

    def refuse(self, obtained, error):
        """Strike the urls of a table that did not pass; raise if none was fetched."""
        fetched = [got.place for got in obtained if got.source == "url"]
        for url in fetched:
            self.failures[url] = f"its content did not pass: {error}"
        if not fetched:
            places = ", ".join(got.place for got in obtained)
            raise DatasetError(
                f"{str(error).rstrip('.')}. Read from {places}: remove or replace "
                "what is wrong there, or correct the entry."
            ) from error

    def keep(self, obtained):
        """Write the fetched files into the cache, each with a record of its bytes."""
        for got in obtained:
            if got.source == "url":
                target = self.cache_dir / got.file.path
                try:
                    with atomic_path(target) as path:
                        path.write_bytes(got.data)
                    write_json(
                        _record_of(target), {"sha256": got.sha256, "url": got.place}
                    )
                except OSError as error:
                    raise DatasetError(
                        f"the folder {self.cache_dir} cannot take {got.place}: "
                        f"{error}. Free some space there, or name another folder."
                    ) from error

    def _from_cache(self, file):
        path = self.cache_dir / file.path
        if not path.is_file():
            return None
        got = Obtained(file, path.read_bytes(), "cache", str(path))
        if not is_fetched(path):
            return got  # put there by hand; the content check decides
        try:
            recorded = json.loads(_record_of(path).read_text())["sha256"]
        except (ValueError, KeyError):
            recorded = None
        if recorded == got.sha256:
            return got
        self.failures[path] = (
            f"is corrupt: its SHA-256 is {got.sha256}, {recorded} was recorded when it "
            "was fetched. It is removed"
        )
        warn_user(f"{path} {self.failures[path]} and fetched again.")
        for spoilt in (path, _record_of(path)):
            spoilt.unlink(missing_ok=True)
        return None

    def _unavailable(self, name, file):
        places = [
            folder / file.path for folder in filter(None, (self.cache_dir, self.mirror))
        ]
        tried = [
            f"{place} {self.failures.get(place, 'is not there')}" for place in places
        ]
        tried += [f"{url}: {self.failures[url]}" for url in file.urls]
        return (
            f"data set {name}: the file {file.path} is unavailable. Tried:\n  "
            + "\n  ".join(tried)
            + f"\nGet the "
            f"file elsewhere and put it at {places[0]}, or set data.mirror (or "
            f"{MIRROR_VARIABLE}) to a folder that holds {file.path}, or leave {name} "
            "out of the experiment."
        )


class _Refused(Exception):
    """Why a url does not serve."""


def _download(url, hosts):
    """The bytes of a url, after at most so many repetitions."""
    import pooch
    from requests.exceptions import RequestException

    hooks = {"response": partial(_check_answer, hosts)}
    download = pooch.HTTPDownloader(progressbar=True, timeout=TIMEOUT, hooks=hooks)
    for attempt in range(RETRIES + 1):
        time.sleep(attempt)
        content = io.BytesIO()
        try:
            download(url, content, None)
            return content.getvalue()
        except RequestException as error:
            why = str(error)
    raise _Refused(why)


def _host(url):
    return (urlsplit(url).hostname or "").removeprefix("www.")


def _check_answer(hosts, response, **_):
    """Refuse what is not there, and a redirect to a host that the entry
    does not name."""
    if 400 <= response.status_code < 500:
        raise _Refused(f"the server answers with HTTP status {response.status_code}")
    if response.is_redirect:
        place = urljoin(response.url, response.headers["location"])
        if _host(place) not in hosts:
            raise _Refused(
                f"it redirects to {place}, at a host that the entry does not name"
            )
