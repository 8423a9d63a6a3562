"""Downloads from known hosts, cached with a record of their hashes."""

import hashlib
import io
import json
import time
from contextlib import suppress
from functools import partial
from multiprocessing import TimeoutError as LimitReached
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from adakern._utils.files import atomic_path, write_json
from adakern.tables.unpack import most_unpacked
from adakern_bench.base.plain_text import one_line

#: Timeout of one network read in seconds, and retries of a failed download.
TIMEOUT, RETRIES = 30.0, 3

#: Time limit of a download with its retries in seconds; a server that sends a byte now
#: and then never exceeds TIMEOUT.
LONGEST = 3600.0

#: Maximum size of a download in bytes, since it is held in memory; a larger file must
#: be put in place manually.
MOST_BYTES = 2 * 2**30

#: Maximum number of redirects of a download.
MOST_REDIRECTS = 10

#: Encodings that are unpacked in small steps. A chain of several, or another one, could
#: unpack to gigabytes in a single step.
ENCODINGS = ("", "identity", "gzip", "deflate")


class Refused(Exception):
    """A URL or a cached file cannot be used; the message says why."""


class Absent(Refused):
    """The server has no such resource."""


class _Moved(Exception):
    """The server redirects to this URL, which may be used."""


class _Content(io.BytesIO):
    """Body of a response; raises Refused if it exceeds MOST_BYTES, or if it was
    compressed for transfer and unpacks to more than a table of its size would.
    """

    answer: Any = None

    def watch(self, answer, **_):
        self.answer = answer
        length = answer.headers.get("content-length", "")
        _check_bytes(int(length) if length.isdecimal() else 0)

    def write(self, chunk):
        _check_bytes(self.tell() + len(chunk))
        most = most_unpacked(self.answer.raw.tell())
        if self.tell() + len(chunk) > most:
            raise Refused(
                f"the response unpacks to more than {most / 1e6:.0f} MB, which is "
                "implausible for a table of its size"
            )
        return super().write(chunk)


def _check_bytes(n_bytes):
    if n_bytes > MOST_BYTES:
        raise Refused(f"the response exceeds the limit of {MOST_BYTES / 1e6:.0f} MB")


def download(url, hosts, progress=True):
    """Return the bytes of a URL, after a limited number of retries."""
    from requests.exceptions import RequestException

    deadline = time.monotonic() + LONGEST
    for attempt in range(RETRIES + 1):
        time.sleep(attempt)
        content = _Content()
        try:
            with ThreadPool(1) as pool:  # beyond the deadline, its thread ends alone
                fetched = pool.apply_async(_fetch, (url, hosts, content, progress))
                fetched.get(deadline - time.monotonic())
            return content.getvalue()
        except RequestException as error:
            # Without the connection pools and the URL that urllib3 puts before it.
            reason = getattr(next(iter(error.args), ""), "reason", error)
            why = str(reason).rpartition("): ")[2]
        except ValueError as error:  # a redirect to an invalid URL
            raise Refused(str(error)) from None
        except LimitReached:
            content.close()  # discards what still arrives
            raise Refused(
                f"the download was not complete after {LONGEST / 60:.0f} minutes; "
                "download the file manually"
            ) from None
    raise Refused(why)


def _fetch(url, hosts, content, progress):
    """Write the bytes of a URL to `content`.

    Redirects are followed here, since requests reads their bodies, of any size.
    """
    import pooch

    fetch = pooch.HTTPDownloader(
        progressbar=progress,
        timeout=TIMEOUT,
        hooks={"response": [partial(_check_answer, hosts), content.watch]},
        headers={"Accept-Encoding": "gzip, deflate"},
    )
    for _ in range(MOST_REDIRECTS + 1):
        try:
            return fetch(url, content, None)
        except _Moved as moved:
            (url,) = moved.args
    raise Refused(f"it redirects more than {MOST_REDIRECTS} times")


def host_of(url):
    """Host name of a URL, "" if it has none."""
    with suppress(ValueError):
        return (urlsplit(url).hostname or "").removeprefix("www.")
    return ""


def _check_answer(hosts, response, **_):
    """Refuse an error status, an encoding other than `ENCODINGS`, and a redirect to a
    host other than `hosts` or without encryption.
    """
    encoding = response.headers.get("content-encoding", "").lower()
    if encoding not in ENCODINGS:
        raise Refused(f"the response has the encoding {encoding[:60]!r}")
    if 400 <= response.status_code < 500:
        said = _message(next(response.iter_content(2000), b""))
        raise Absent(f"the server returned HTTP status {response.status_code}{said}")
    if response.is_redirect:
        place = urljoin(response.url, response.headers["location"])
        if host_of(place) not in hosts:
            raise Refused(f"it redirects to {place}, a host that is not in the entry")
        if not place.startswith(("https:", f"{urlsplit(response.url).scheme}:")):
            raise Refused(f"it redirects to {place}, which is not encrypted")
        response.close()
        raise _Moved(place)


def _message(answer):
    """The error message in OpenML's response, in parentheses."""
    with suppress(ValueError, KeyError, TypeError):
        return f" ({one_line(json.loads(answer)['error']['message'])[:200]})"
    return ""


def keep(path, data, url):
    """Write a downloaded file, and a record of its hash and URL beside it."""
    with atomic_path(path) as whole:
        whole.write_bytes(data)
    record = {"sha256": hashlib.sha256(data).hexdigest(), "url": url}
    write_json(_record_of(path), record)


def kept(path):
    """Return the bytes of a cached file; remove and refuse it if they have changed."""
    data = path.read_bytes()
    if not is_fetched(path):
        return data  # put there by the user; its content is checked later
    try:
        recorded = json.loads(_record_of(path).read_text())["sha256"]
    except (ValueError, KeyError):
        recorded = None
    found = hashlib.sha256(data).hexdigest()
    if recorded != found:
        for spoilt in (path, _record_of(path)):
            spoilt.unlink(missing_ok=True)
        raise Refused(
            f"is corrupt: its SHA-256 is {found}, but {recorded} was recorded when it "
            "was downloaded. It has been removed"
        )
    return data


def is_fetched(path):
    """Whether a cached file was downloaded rather than put there by the user."""
    return _record_of(Path(path)).is_file()


def _record_of(path):
    return path.with_name(path.name + ".record.json")
