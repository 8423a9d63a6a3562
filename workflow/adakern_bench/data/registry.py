"""Read the files of ``conf/dataset/`` and ``conf/suite/``."""

from adakern_bench.data.entry import DatasetEntry, DatasetError
from adakern_bench.data.suite import Suite
from adakern_bench.records.dotted import use_own_resolvers

__all__ = ["read_entry", "read_suite"]


def read_entry(path):
    """The entry in one file, with the keys and types of the schema."""
    return _read(path, DatasetEntry)


def read_suite(path):
    """The suite in one file of ``conf/suite/``."""
    return _read(path, Suite)


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
