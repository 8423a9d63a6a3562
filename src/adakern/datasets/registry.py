"""Read entries from the files of ``conf/dataset/``."""

from pathlib import Path

from adakern.datasets.entry import DatasetEntry, check_entry
from adakern.datasets.errors import DatasetError

__all__ = ["read_entry"]


def read_entry(path):
    """The entry in one file, checked against the schema.

    Needs OmegaConf (the extra ``workflow``).

    Parameters
    ----------
    path : path-like
        ``conf/dataset/<name>.yaml``; the name of the file is the name of the set.

    Returns
    -------
    DatasetEntry

    Raises
    ------
    DatasetError
        For an unknown key, a wrong type or a value out of range.
    """
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    path = Path(path)
    try:
        schema = OmegaConf.structured(DatasetEntry)
        entry = OmegaConf.to_object(OmegaConf.merge(schema, OmegaConf.load(path)))
    except OmegaConfBaseException as error:
        raise DatasetError(f"{path}: {error}") from error
    problems = check_entry(path.stem, entry)
    if problems:
        raise DatasetError(f"{path}:\n" + "\n".join(problems))
    return entry
