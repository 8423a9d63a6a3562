"""Files that are written atomically."""

import json
import os
import tempfile
import zipfile
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(path):
    """Context with a temporary path that replaces ``path`` if the block succeeds.

    It is in the same folder, since renaming is atomic only there. It has the same
    suffix, from which some writers infer the format.
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


def write_text(path, text):
    """Write a text in UTF-8, atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path, value):
    """Write ``value`` as JSON, atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")


def write_csv(path, table, **options):
    """Write a DataFrame without its index as CSV, atomically."""
    with atomic_path(path) as temporary:
        table.to_csv(temporary, index=False, **options)


def plain(value):
    """Convert a value to types of JSON and YAML; anything else is converted to text."""
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
    """Parse an integer; from 2^63 on as a float, since table columns hold 64 bits."""
    number = float(text)
    return int(text) if abs(number) < 2**63 else number


def check_whole(*paths):
    """Raise ValueError if a file of arrays (``.npz``) is truncated or damaged."""
    for path in paths:
        try:
            with zipfile.ZipFile(path) as file:
                damaged = file.testzip()
        except zipfile.BadZipFile as error:
            damaged = error
        if damaged is not None:
            raise ValueError(
                f"{path} is incomplete ({damaged}); delete it and run again"
            )
