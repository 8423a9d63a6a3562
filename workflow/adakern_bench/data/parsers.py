"""From the bytes of a data file to a frame of columns.

Every parser takes the unpacked bytes of a file and its entry, and returns a pandas
frame with all columns of the file, the target among them.
"""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from itertools import islice
from pathlib import PurePosixPath

import numpy as np

from adakern._utils.memory import require_memory
from adakern_bench.data.entry import FORMATS
from adakern_bench.data.errors import ParseError

__all__ = ["parse", "unpack"]

MISSING_WORDS = ["?", "NA", "NaN", "nan", ""]
# What people and programs write besides, in tables of their own.
MORE_MISSING_WORDS = [
    "N/A",
    "n/a",
    "na",
    "NULL",
    "null",
    "None",
    "none",
    "-",
    ".",
    "#N/A",
]

ENDINGS = {
    ".csv": "csv",
    ".arff": "arff",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".npz": "npz",
    ".parquet": "parquet",
}
PACKINGS = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
)
#: A table may shrink to a hundredth, small ones further; what unpacks to more is taken
#: for an attack, or for a mistake that would cost the machine its memory.
MOST_TIMES_LARGER, FREE_BYTES = 100, 64 * 2**20
PACKED = (".gz", ".bz2", ".xz", ".zip")


def parse(data, entry, file):
    """All columns of one file.

    Parameters
    ----------
    data : bytes
        Content of the file, packed or not.
    entry : DatasetEntry
    file : SourceFile

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    ParseError
        If the bytes are not in the stated format.
    """
    kind = format_of(entry, file)
    try:
        if kind == "npz":  # a zip archive of its own
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                for member in archive.infolist():
                    _check_size(member.file_size, data, file)
        else:
            data = unpack(data, file)
        frame = PARSERS[kind](data, entry)
    except ParseError:
        raise
    except Exception as error:
        raise ParseError(
            f"{file.path} cannot be read as {kind}: {error}. Is the format right "
            "(format, separator, header), and is it the data and not a web page?"
        ) from error
    if frame.empty:
        raise ParseError(f"{file.path} holds no rows when read as {kind}.")
    return frame


def format_of(entry, file):
    """The format of a file: the stated one, or what its name's ending stands for.

    Parameters
    ----------
    entry : DatasetEntry
        What the registry says of the data set.
    file : SourceFile
        Entry of one file.
    """
    if entry.format is not None:
        return entry.format
    endings = [e for e in PurePosixPath(file.path).suffixes if e not in PACKED]
    if endings and endings[-1] in ENDINGS:
        return ENDINGS[endings[-1]]
    raise ParseError(
        f"{file.path}: its name does not tell the format; set format to one of "
        f"{', '.join(FORMATS)}."
    )


def unpack(data, file):
    """The content of a packed file or of an archive's member; other bytes pass.

    The packing is seen from the first bytes, so that a url may offer a packed copy
    of what a mirror holds plain.

    Parameters
    ----------
    data : bytes
        Its content.
    file : SourceFile
        Entry of one file.
    """
    try:
        for start, reader in PACKINGS:
            if data.startswith(start):
                with reader(io.BytesIO(data)) as packed:
                    unpacked = packed.read(_most_bytes(data) + 1)
                _check_size(len(unpacked), data, file)
                return unpack(unpacked, file)
        if data[:4] == b"PK\x03\x04":
            return _from_zip(data, file)
        if data[257:262] == b"ustar":
            return _from_tar(data, file)
    except (
        OSError,
        EOFError,
        ValueError,
        lzma.LZMAError,
        zipfile.BadZipFile,
        tarfile.TarError,
    ) as error:
        raise ParseError(f"{file.path} cannot be unpacked: {error}.") from error
    return data


def _most_bytes(packed):
    return FREE_BYTES + MOST_TIMES_LARGER * len(packed)


def _check_size(n_bytes, packed, file):
    if n_bytes > _most_bytes(packed):
        raise ParseError(
            f"{file.path} unpacks to more than {_most_bytes(packed) / 1e6:.0f} MB from "
            f"{len(packed) / 1e6:.1f} MB, which no table does; if it is one, unpack it "
            "and put the plain file in its place."
        )


def _from_archive(members, read, file):
    """The one wanted member of a zip or tar archive, unpacked in its turn."""
    by_name = PurePosixPath(file.path).name
    for wanted in (file.member, by_name, PurePosixPath(by_name).stem):
        found = [m for m in members if m == wanted or PurePosixPath(m).name == wanted]
        if len(found) == 1:
            return unpack(read(found[0]), file)
    if len(members) == 1:
        return unpack(read(members[0]), file)
    raise ParseError(
        f"{file.path}: the archive holds {', '.join(members)}; set member to one of "
        "them."
    )


def _from_zip(data, file):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [name for name in archive.namelist() if not name.endswith("/")]

        def read(member):
            _check_size(archive.getinfo(member).file_size, data, file)
            return archive.read(member)

        return _from_archive(members, read, file)


def _from_tar(data, file):
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        members = [member.name for member in archive if member.isfile()]

        def read(member):
            _check_size(archive.getmember(member).size, data, file)
            return archive.extractfile(member).read()

        return _from_archive(members, read, file)


def _header(data, entry, split):
    """Row of the column names: as stated, else 0 if the first line looks like it.

    A first line of words above a line with numbers is taken for column names, so that
    copies of a file with and without them are read alike.
    """
    if entry.header is not None:
        return 0 if entry.header else None
    lines = (line.strip() for line in io.BytesIO(data))
    lines = (line.decode("utf-8", "replace") for line in lines if line)
    head = list(islice((line for line in lines if line[0] != "#"), 2))
    if len(head) < 2:
        return None
    first, second = head
    words = not any(_is_number(field) for field in split(first))
    return 0 if words and any(_is_number(field) for field in split(second)) else None


def _is_number(field):
    field = field.strip("\"' ")
    try:
        float(field)
    except ValueError:
        return field in MISSING_WORDS
    return True


def parse_csv(data, entry):
    """Separated values; words stay words.

    Parameters
    ----------
    data : bytes
        Its content.
    entry : DatasetEntry
        What the registry says of the data set.
    """
    import pandas as pd

    separator, encoding = entry.separator or ",", entry.encoding or "utf-8"
    if entry.header is None:
        header = _header(data, entry, lambda line: line.split(separator))
    else:
        header = 0 if entry.header else None
    frame = pd.read_csv(
        io.BytesIO(data),
        sep=separator,
        header=header,
        na_values=MISSING_WORDS + MORE_MISSING_WORDS * (entry.missing == "fill"),
        keep_default_na=False,
        skipinitialspace=True,
        decimal=entry.decimal,
        encoding=encoding,
    )
    if entry.separator is None and frame.shape[1] == 1:
        first = data.partition(b"\n")[0].decode(encoding, "replace")
        for other, word in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
            if other in first:
                raise ParseError(
                    f"the file has {word} between its values, not commas: set "
                    f"separator to {other!r} in its entry"
                )
    return frame


def as_dates(values):
    """Words as dates, NaT where one is none; a number is no date.

    Parameters
    ----------
    values : pandas.Series of str

    Returns
    -------
    pandas.Series of datetime64
    """
    import pandas as pd

    for settings in ({"format": "ISO8601"}, {"format": "mixed", "dayfirst": True}):
        dates = pd.to_datetime(values, errors="coerce", utc=True, **settings)
        if not dates.isna().any():
            break
    looks_alike = values.astype(str).str.contains(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")
    return dates.where(looks_alike)


def parse_whitespace(data, entry):
    """Values between blanks or tabs; lines that start with # are comments.

    Parameters
    ----------
    data : bytes
        Its content.
    entry : DatasetEntry
        What the registry says of the data set.
    """
    import pandas as pd

    return pd.read_csv(
        io.BytesIO(data),
        sep=r"\s+",
        header=_header(data, entry, str.split),
        na_values=MISSING_WORDS,
        keep_default_na=False,
        comment="#",
    )


def parse_arff(data, entry):
    """Attribute-relation files, by SciPy's reader.

    Parameters
    ----------
    data : bytes
        Its content.
    entry : DatasetEntry
        What the registry says of the data set.
    """
    import pandas as pd
    from scipy.io import arff

    records, _ = arff.loadarff(io.StringIO(data.decode("utf-8", "replace")))
    frame = pd.DataFrame(records)
    for column in frame.columns:
        if frame[column].dtype == object:  # nominal: SciPy gives bytes
            words = frame[column].str.decode("utf-8").replace("?", np.nan)
            frame[column] = _numbers_if_possible(words)
    return frame


def parse_libsvm(data, entry):
    """Sparse ``label index:value`` lines, indices from 1, made dense.

    Parameters
    ----------
    data : bytes
        Its content.
    entry : DatasetEntry
        What the registry says of the data set.
    """
    import pandas as pd
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(io.BytesIO(data), zero_based=False)
    require_memory(
        8 * X.shape[0] * max(X.shape[1], entry.d or 0),
        f"a dense table of {X.shape[0]} rows and {X.shape[1]} features",
        "is the largest index of a feature right?",
    )
    frame = pd.DataFrame(X.toarray(), columns=[str(i + 1) for i in range(X.shape[1])])
    # A file need not mention its last features: the entry knows how many there are.
    for i in range(X.shape[1], entry.d or 0):
        frame[str(i + 1)] = 0.0
    frame["label"] = y
    return frame


def parse_monks(data, entry):
    """The MONK's problems: class, six attributes, a row name.

    Parameters
    ----------
    data : bytes
        Its content.
    entry : DatasetEntry
        What the registry says of the data set.
    """
    import pandas as pd

    frame = pd.read_csv(
        io.BytesIO(data), sep=r"\s+", header=_header(data, entry, str.split)
    )
    frame.columns = ["class", "a1", "a2", "a3", "a4", "a5", "a6", "id"]
    return frame[["a1", "a2", "a3", "a4", "a5", "a6", "class"]]


def parse_npz(data, entry):
    """NumPy arrays ``X`` (n, d) and the target; further vectors become columns.

    Parameters
    ----------
    data : bytes
        Its content.
    entry : DatasetEntry
        What the registry says of the data set.
    """
    import pandas as pd

    target = entry.target if isinstance(entry.target, str) else "y"
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        arrays = {key: stored[key] for key in stored.files}
    absent = {"X", target} - set(arrays)
    if absent:
        raise ParseError(
            f"the file holds the arrays {', '.join(arrays)}, not "
            f"{' and '.join(sorted(absent))}"
        )
    X = arrays.pop("X")
    if X.ndim == 0:
        raise ParseError("the array X is a single number")
    frame = pd.DataFrame(X.reshape(len(X), int(np.prod(X.shape[1:])))).rename(
        columns="x{}".format
    )
    vector = arrays.pop(target)
    for key, values in arrays.items():
        if values.shape == (len(X),):
            frame[key] = values
    frame[target] = vector
    return frame


def parse_parquet(data, entry):
    """A parquet table.

    Parameters
    ----------
    data : bytes
        Its content.
    entry : DatasetEntry
        What the registry says of the data set.
    """
    import pandas as pd

    return pd.read_parquet(io.BytesIO(data))


def _numbers_if_possible(words):
    import pandas as pd

    try:
        return pd.to_numeric(words)
    except ValueError:
        return words


PARSERS = {
    "csv": parse_csv,
    "whitespace": parse_whitespace,
    "arff": parse_arff,
    "libsvm": parse_libsvm,
    "monks": parse_monks,
    "npz": parse_npz,
    "parquet": parse_parquet,
}
