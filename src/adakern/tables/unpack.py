"""Decompression of files and archives, with a limit on the unpacked size."""

import bz2
import gzip
import io
import lzma
import re
import tarfile
import zipfile
from copy import copy
from pathlib import PurePosixPath

_PACKED = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\0", lzma.open))
#: Maximum compression ratio, except for small files. A file with a larger ratio is
#: treated as an attack, or as a mistake that would exhaust the memory.
_MOST_TIMES_LARGER = 100
_FREE_BYTES = 64 * 2**20
#: Files of an archive that programs and authors add to a table.
_BESIDE = re.compile(
    r"(?i)__MACOSX/.*|(.*/)?(\..*|(read[ _-]?me|licen[cs]e|copying|changelog|citation)"
    r"(\.\w+)?|thumbs\.db|[^/]*\.(md|rst|pdf|docx?|html?))"
)


class TableError(ValueError):
    """A file that cannot be read as a table; the message says what to change."""


def most_unpacked(n_bytes):
    """Maximum number of unpacked bytes of a table with ``n_bytes`` packed ones."""
    return _FREE_BYTES + _MOST_TIMES_LARGER * n_bytes


def read_part(archive, name):
    """Read a part of a ZIP archive, without unpacking more than its stated size."""
    part = copy(archive.getinfo(name))
    if part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{part.filename} is compressed, and not by deflate")
    n_bytes = part.file_size
    part.file_size += 1  # otherwise zipfile unpacks the rest as well, and drops it
    with archive.open(part) as file:
        content = file.read(part.file_size)
    if len(content) != n_bytes:
        raise ValueError(f"the stated size of {part.filename} is wrong")
    return content


def unpack(data, name, member=None, most=None):
    """Unpack a file, or one member of an archive, up to `most` bytes in all."""
    most = most_unpacked(len(data)) if most is None else most
    try:
        content = _content(data, name, member, most)
    except TableError:
        raise
    except Exception as error:
        raise TableError(f"{name} cannot be unpacked: {error}.") from error
    if content is data:
        return data
    return unpack(content, name, member, most - len(content))


def _content(data, name, member, most):
    """Return the content of a packed file, or of a member of an archive.

    Other files are returned as they are, also documents that are ZIP archives (xlsx).
    """
    file = io.BytesIO(data)
    for start, reader in _PACKED:
        if data.startswith(start):
            with reader(file) as packed:
                content = packed.read(most + 1)
            check_size(len(content), most, name)
            return content
    if data[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(file) as archive:
            sizes = {
                m.filename: m.file_size for m in archive.infolist() if not m.is_dir()
            }
            if "[Content_Types].xml" not in sizes and "mimetype" not in sizes:
                return read_part(archive, _member(sizes, most, name, member))
            check_size(sum(sizes.values()), most, name)
            for part in sizes:
                read_part(archive, part)
            return data
    if data[257:262] == b"ustar":
        with tarfile.open(fileobj=file) as archive:
            files = {m.name: m for m in archive if m.isfile()}
            sizes = {path: file.size for path, file in files.items()}
            return archive.extractfile(files[_member(sizes, most, name, member)]).read()
    return data


def _member(sizes, most, name, member):
    """Return the requested file of an archive, the only one, or its namesake."""
    stem = PurePosixPath(name).stem
    for wanted in filter(None, (member, PurePosixPath(name).name, stem)):
        members = [path for path in sizes if wanted in (path, PurePosixPath(path).name)]
        if len(members) == 1:
            break
    else:
        members = [path for path in sizes if not _BESIDE.fullmatch(path)] or list(sizes)
    if len(members) != 1:
        raise TableError(
            f"{name}: the archive holds {', '.join(sizes) or 'no file'}; unpack "
            "it, or set member to one of them in an entry of conf/dataset."
        )
    check_size(sizes[members[0]], most, name)
    return members[0]


def check_size(n_bytes, most, name):
    """Raise TableError if a file would unpack to more than ``most`` bytes."""
    if n_bytes > most:
        raise TableError(
            f"{name} unpacks to more than {most / 1e6:.0f} MB, which is implausible "
            "for a table of its size; if it is one, unpack it and put the plain file "
            "in its place."
        )
