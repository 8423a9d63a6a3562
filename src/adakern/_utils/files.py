"""Files written whole or not at all."""

import json
import os
import tempfile
import zipfile
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(path):
    """A temporary path that takes the place of ``path``, whole, when the block
    succeeds.

    It lies in the same folder, since a rename is atomic only there, and keeps the
    suffix, since writers look at it.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(
        prefix=f".{path.name}-", suffix=path.suffix, dir=path.parent
    )
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_json(path, value):
    """Write ``value`` as JSON, whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")


def plain(value):
    """A value as JSON and YAML can hold it; what they cannot becomes its text."""
    if hasattr(value, "tolist"):  # of NumPy, without importing it
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(item) for item in value]
    return (
        value
        if value is None or isinstance(value, bool | int | float | str)
        else str(value)
    )


def read_json(path):
    """Read a JSON file; an error names the file."""
    try:
        return json.loads(Path(path).read_text(), parse_int=_number)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{path} is not valid JSON ({error}); delete it and run again"
        ) from None


def _number(text):
    """A whole number, as a float from 2^63 on, which no column of a table takes."""
    number = float(text)
    return int(text) if abs(number) < 2**63 else number


def check_whole(*paths):
    """ValueError where a file of arrays (``.npz``) is cut off or damaged."""
    for path in paths:
        try:
            with zipfile.ZipFile(path) as file:
                damaged = file.testzip()
        except zipfile.BadZipFile as error:
            damaged = error
        if damaged is not None:
            raise ValueError(
                f"{path} is not whole ({damaged}); delete it and run again"
            )
