"""Get the files of a data set: from the local cache, a mirror folder, or a url."""

import hashlib
import json
import logging
import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urljoin, urlsplit

from adakern._utils.warn import warn_user
from adakern_bench.data.assemble import check_table, table_from_frames, table_from_loader
from adakern_bench.data.entry import SourceFile, check_entry
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

logger = logging.getLogger(__name__)


@dataclass
class Obtained:
    """The bytes of one file and where they came from."""

    file: SourceFile
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
                fetcher.accept(obtained)
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
    for got in obtained:
        if got.file.sha256 not in (None, got.sha256):
            raise TableMismatchError(
                f"{got.file.path}: its SHA-256 is {got.sha256}, the entry says {got.file.sha256}"
            )
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
    table.provenance = {
        "source": "+".join(sorted({got.source for got in obtained})),
        "files": [
            {"path": got.file.path, "from": got.place, "sha256": got.sha256} for got in obtained
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


def _record_of(path):
    return path.with_name(path.name + ".record.json")


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
            return Obtained(file, path.read_bytes(), "mirror", str(path))
        hosts = set(map(_host, file.urls))
        for url in file.urls:
            if url in self.failures:
                continue
            try:
                staged = self._download(url, hosts)
                return Obtained(file, staged.read_bytes(), "url", url, staged)
            except _Refused as error:
                self._strike(url, str(error))
            except OSError as error:
                raise DatasetError(
                    f"the folder {self.cache_dir} cannot take {url}: {error}. Free "
                    "some space there, or name another folder."
                ) from error
        raise FileUnavailableError(self._unavailable(name, file))

    def refuse(self, obtained, error):
        """Strike the urls of a table that did not pass; raise if none was fetched."""
        fetched = [got for got in obtained if got.staged]
        if not fetched:
            places = ", ".join(got.place for got in obtained)
            raise type(error)(
                f"{str(error).rstrip('.')}. Read from {places}: remove or replace "
                "what is wrong there, or correct the entry."
            ) from error
        for got in fetched:
            self._strike(got.place, f"its content did not pass: {error}")

    def _strike(self, url, why):
        self.failures[url] = why
        logger.warning("%s: %s", url, why)

    def accept(self, obtained):
        """Move the fetched files into the cache, each with a record of its bytes."""
        for got in obtained:
            if got.staged is None:
                continue
            target = self.cache_dir / got.file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            record = got.staged.with_name(got.staged.name + ".record")
            record.write_text(json.dumps({"sha256": got.sha256, "url": got.place}))
            os.replace(got.staged, target)
            os.replace(record, _record_of(target))

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

    def _download(self, url, hosts):
        """The file, in a folder of its own, after at most so many repetitions."""
        import pooch
        from requests.exceptions import RequestException

        pooch.get_logger().setLevel(logging.WARNING)
        self.cache_dir.mkdir(parents=True, exist_ok=True)
        folder = TemporaryDirectory(dir=self.cache_dir, prefix=".fetch-")
        site = pooch.create(
            self.staging.enter_context(folder),
            base_url="",
            registry={"whole": None},
            urls={"whole": url},
            retry_if_failed=self.retries,
        )
        downloader = pooch.HTTPDownloader(
            progressbar=self.progress,
            timeout=self.timeout,
            hooks={"response": partial(_check_answer, hosts)},
        )
        try:
            return Path(site.fetch("whole", downloader=downloader))
        except RequestException as error:
            raise _Refused(_in_words(error, self.timeout)) from error

    def _unavailable(self, name, file):
        cached, mirror = self.cache_dir / file.path, self.mirror
        in_mirror = f"none set (data.mirror or {MIRROR_VARIABLE})"
        if mirror:
            no_folder = f"there is no folder {mirror}"
            in_mirror = f"{mirror / file.path} is not there" if mirror.is_dir() else no_folder
        urls = [f"{url}: {self.failures[url]}" for url in file.urls] or ["the entry names none"]
        return (
            f"data set {name}: the file {file.path} is unavailable. Tried:\n"
            f"  cache: {cached} {self.failures.get(cached, 'is not there')}\n"
            f"  mirror: {in_mirror}\n"
            + "".join(f"  url: {url}\n" for url in urls)
            + f"Get the file elsewhere and put it at {cached}, or set data.mirror (or "
            f"{MIRROR_VARIABLE}) to a folder that holds {file.path}, or leave {name} out "
            "of the experiment."
        )


class _Refused(Exception):
    """Why a url does not serve."""


def _host(url):
    return (urlsplit(url).hostname or "").removeprefix("www.")


def _check_answer(hosts, response, **_):
    """Refuse what is not there, and a redirect to a host that the entry does not name."""
    if 400 <= response.status_code < 500:
        raise _Refused(f"the server answers with HTTP status {response.status_code}")
    if response.is_redirect:
        place = urljoin(response.url, response.headers["location"])
        if _host(place) not in hosts:
            raise _Refused(f"it redirects to {place}, at a host that the entry does not name")


def _in_words(error, timeout):
    from requests import exceptions

    text = str(error)
    if isinstance(error, exceptions.HTTPError) and error.response is not None:
        return f"the server answers with HTTP status {error.response.status_code}"
    if isinstance(error, exceptions.ChunkedEncodingError):
        return "the connection was cut before the file was whole"
    if "NameResolutionError" in text:
        return "the host name is not known: is there a network?"
    return f"no answer within {timeout:g} s" if "timed out" in text else text
