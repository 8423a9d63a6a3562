"""From the bytes of a data file to a frame of columns.

Every parser takes the unpacked bytes of a file and its entry, and returns a pandas
frame with all columns of the file, the target among them.
"""

import bz2
import gzip
import io
import lzma
import zipfile
from pathlib import PurePosixPath

import numpy as np

from .entry import FORMATS
from .errors import ParseError

__all__ = ["parse", "unpack"]

MISSING_WORDS = ["?", "NA", "NaN", "nan", ""]

ENDINGS = {
    ".csv": "csv",
    ".arff": "arff",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".npz": "npz",
    ".parquet": "parquet",
}
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
    kind = entry.format or format_from_name(file.path)
    try:
        if kind != "npz":  # an npz file is a zip archive of its own
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


def format_from_name(path):
    """The format that a file name's ending stands for."""
    endings = [
        ending for ending in PurePosixPath(path).suffixes if ending not in PACKED
    ]
    if endings and endings[-1] in ENDINGS:
        return ENDINGS[endings[-1]]
    raise ParseError(
        f"{path}: its name does not tell the format; set format to one of "
        f"{', '.join(FORMATS)}."
    )


def unpack(data, file):
    """The content of a packed file; other bytes pass unchanged.

    The packing is seen from the first bytes, so that a url may offer a packed copy
    of what a mirror holds plain.
    """
    try:
        if data[:2] == b"\x1f\x8b":
            return gzip.decompress(data)
        if data[:3] == b"BZh":
            return bz2.decompress(data)
        if data[:6] == b"\xfd7zXZ\x00":
            return lzma.decompress(data)
        if data[:4] == b"PK\x03\x04":
            return _from_zip(data, file)
    except (OSError, EOFError, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise ParseError(f"{file.path} cannot be unpacked: {error}.") from error
    return data


def _from_zip(data, file):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [name for name in archive.namelist() if not name.endswith("/")]
        plain_name = PurePosixPath(file.path).name.removesuffix(".zip")
        wanted = file.member or plain_name
        found = [name for name in members if PurePosixPath(name).name == wanted]
        if wanted in members:
            found = [wanted]
        if len(members) == 1 and file.member is None:
            found = members
        if len(found) != 1:
            raise ParseError(
                f"{file.path}: the archive holds {', '.join(members)}; set member to "
                "one of them."
            )
        return unpack(archive.read(found[0]), file)


def _header(entry):
    if entry.header is None:
        return 0 if isinstance(entry.target, str) else None
    return 0 if entry.header else None


def parse_csv(data, entry):
    """Separated values; words stay words."""
    import pandas as pd

    return pd.read_csv(
        io.BytesIO(data),
        sep=entry.separator or ",",
        header=_header(entry),
        na_values=MISSING_WORDS,
        keep_default_na=False,
        skipinitialspace=True,
    )


def parse_whitespace(data, entry):
    """Values between blanks or tabs; lines that start with # are comments."""
    import pandas as pd

    return pd.read_csv(
        io.BytesIO(data),
        sep=r"\s+",
        header=_header(entry),
        na_values=MISSING_WORDS,
        keep_default_na=False,
        comment=None if entry.header else "#",
    )


def parse_arff(data, entry):
    """Attribute-relation files, by SciPy's reader."""
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
    """Sparse ``label index:value`` lines, indices from 1, made dense."""
    import pandas as pd
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(io.BytesIO(data), zero_based=False)
    frame = pd.DataFrame(X.toarray(), columns=[str(i + 1) for i in range(X.shape[1])])
    # A file need not mention its last features: the entry knows how many there are.
    for i in range(X.shape[1], entry.d or 0):
        frame[str(i + 1)] = 0.0
    frame["label"] = y
    return frame


def parse_monks(data, entry):
    """The MONK's problems: class, six attributes, a row name."""
    import pandas as pd

    names = ["class", "a1", "a2", "a3", "a4", "a5", "a6", "id"]
    frame = pd.read_csv(io.BytesIO(data), sep=r"\s+", header=None, names=names)
    return frame[[*names[1:7], "class"]]


def parse_npz(data, entry):
    """NumPy arrays ``X`` (n, d) and the target; further vectors become columns."""
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
    frame = pd.DataFrame(X.reshape(len(X), -1)).rename(columns="x{}".format)
    vector = arrays.pop(target)
    for key, values in arrays.items():
        if values.shape == (len(X),):
            frame[key] = values
    frame[target] = vector
    return frame


def parse_parquet(data, entry):
    """A parquet table."""
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
