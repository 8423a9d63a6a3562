"""Obtain the files of a data set from the cache, a mirror folder or a URL."""

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from adakern._utils.warn import warn_user
from adakern.tables.unpack import TableError
from adakern_bench.base.download import Refused, download, host_of, keep, kept
from adakern_bench.base.paths import MIRROR_VARIABLE
from adakern_bench.config.entry import (
    DatasetError,
    SourceFile,
    check_content,
    check_entry,
)
from adakern_bench.data.assemble import SEED, table_from_frames, table_from_loader
from adakern_bench.data.parsers import parse
from adakern_bench.data.splits import read_splits, row_lists, seeded_splits


@dataclass
class Obtained:
    """Bytes of a file and their source."""

    file: SourceFile
    data: bytes
    source: str  # cache, mirror or url
    place: str

    @property
    def sha256(self):
        return hashlib.sha256(self.data).hexdigest()

    @property
    def is_right(self):
        """Whether the entry states a hash and the bytes match it."""
        return bool(self.file.sha256 or self.file.md5) and self.wrong_hash() is None

    def wrong_hash(self):
        """Return (kind, found, stated) of a hash that differs; None if all agree."""
        found = {"SHA-256": (self.sha256, self.file.sha256)}
        if not self.data.startswith(b"PAR1"):  # OpenML's MD5 is that of the ARFF file
            digest = hashlib.md5(self.data, usedforsecurity=False).hexdigest()
            found["MD5"] = (digest, self.file.md5)
        for kind, (ours, stated) in found.items():
            if stated not in (None, ours):
                return kind, ours, stated
        return None


def load_table(name, entry, *, cache_dir, mirror=None, frames=None):
    """Return the checked table of a data set, with files from the cache, the mirror or
    the network.

    `frames` are the contents of the files if they have been parsed already. Downloads
    are cached only if the whole table agrees with its entry.
    """
    if problems := check_entry(name, entry):
        raise DatasetError("\n".join(problems))
    if entry.loader:
        table = table_from_loader(name, entry)
        embedded = str(entry.loader["_target_"]).startswith("sklearn.datasets.load_")
        source = "embedded" if embedded else "generated"
        drawn_with = None if embedded else entry.loader.get("random_state", SEED)
        return _checked(
            table, entry, source=source, loader=dict(entry.loader), seed=drawn_with
        )
    mirror = mirror or os.environ.get(MIRROR_VARIABLE)
    places = _Places(Path(cache_dir), mirror and Path(mirror))
    while True:
        obtained = places.obtain_all(name, entry)
        try:
            table = _assemble(name, entry, obtained, frames)
        except (DatasetError, TableError) as error:
            places.refuse(obtained, error)
        else:
            places.keep(obtained)
            return table


def check_hashes(obtained):
    """Refuse files whose hash differs from the one that the entry states."""
    for got in obtained:
        if wrong := got.wrong_hash():
            kind, found, stated = wrong
            raise DatasetError(
                f"{got.place}: expected {kind} {stated}, got {found}; replace the "
                "file, or correct the entry"
            )


def _assemble(name, entry, obtained, frames):
    check_hashes(obtained)
    bytes_of = {got.file.path: got.data for got in obtained}
    if frames is None:
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
    """Check the content of a table against its entry, and add its provenance."""
    content = table.content()
    check_content(entry, content)
    known = {"licence": entry.licence, "citation": entry.citation, "content": content}
    table.provenance = origin | known | {"fingerprint": content["fingerprint"]}
    return table


@dataclass
class _Places:
    """Places where the files of a data set may be, and reasons why some failed."""

    cache_dir: Path
    mirror: Path | None
    failures: dict = field(default_factory=dict)  # url or path -> why

    def obtain(self, name, file):
        """Return a file from the first place that has it."""
        if cached := self._from_cache(file):
            return cached
        if self.mirror and (path := self.mirror / file.path).is_file():
            return Obtained(file, path.read_bytes(), "mirror", str(path))
        hosts = set(map(host_of, file.urls))
        for url in file.urls:
            if url not in self.failures:
                try:
                    return Obtained(file, download(url, hosts), "url", url)
                except Refused as error:
                    self.failures[url] = str(error)
        raise DatasetError(self._unavailable(name, file))

    def obtain_all(self, name, entry):
        """Return all files; if one is unavailable, cache those with the right hash."""
        obtained = []
        for file in entry.sources:
            try:
                obtained.append(self.obtain(name, file))
            except DatasetError:
                self.keep(got for got in obtained if got.is_right)
                raise
        return obtained

    def refuse(self, obtained, error):
        """Exclude the URLs of an invalid table; raise if no file was downloaded."""
        fetched = [got.place for got in obtained if got.source == "url"]
        for url in fetched:
            self.failures[url] = f"its content is invalid: {error}"
        if not fetched:
            places = ", ".join(got.place for got in obtained)
            raise DatasetError(
                f"{str(error).rstrip('.')}. The data were read from {places}: remove "
                "or replace what is wrong there, or correct the entry."
            ) from error

    def keep(self, obtained):
        """Write downloaded files into the cache, each with a record of its hash."""
        for got in obtained:
            if got.source == "url":
                try:
                    keep(self.cache_dir / got.file.path, got.data, got.place)
                except OSError as error:
                    raise DatasetError(
                        f"{got.place} cannot be written to the folder "
                        f"{self.cache_dir}: {error}. Free some space there, or use "
                        "another folder."
                    ) from error

    def _from_cache(self, file):
        path = self.cache_dir / file.path
        if not path.is_file():
            return None
        try:
            return Obtained(file, kept(path), "cache", str(path))
        except Refused as error:
            self.failures[path] = str(error)
        warn_user(f"{path} {self.failures[path]} and is obtained again.")
        return None

    def _unavailable(self, name, file):
        places = [
            folder / file.path for folder in filter(None, (self.cache_dir, self.mirror))
        ]
        tried = [
            f"{place} {self.failures.get(place) or _why_absent(place)}"
            for place in places
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


def _why_absent(place):
    return "is a folder; a file is needed" if place.is_dir() else "is not there"
