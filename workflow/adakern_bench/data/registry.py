"""Read entries from the files of ``conf/dataset/``."""

from pathlib import Path

from adakern_bench.data.entry import DatasetEntry, check_entry
from adakern_bench.data.errors import DatasetError
from adakern_bench.data.suite import Suite
from adakern_bench.records.dotted import use_own_resolvers

__all__ = ["read_entry", "read_suite"]


def read_entry(path):
    """The entry in one file, checked against the schema."""
    path = Path(path)
    entry = _read(path, DatasetEntry)
    problems = check_entry(path.stem, entry)
    if problems:
        raise DatasetError(f"{path}:\n" + "\n".join(problems))
    return entry


def read_suite(path):
    """The suite in one file of ``conf/suite/``; see :func:`read_entry`."""
    return _read(Path(path), Suite)


def _read(path, schema):
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    use_own_resolvers()
    try:
        schema = OmegaConf.structured(schema)
        return OmegaConf.to_object(OmegaConf.merge(schema, OmegaConf.load(path)))
    except (OmegaConfBaseException, YAMLError, UnicodeError) as error:
        raise DatasetError(f"{path}: {error}") from error
