"""What can go wrong between a data set's name and its table."""

__all__ = ["DatasetError", "FileUnavailableError", "ParseError", "TableMismatchError"]


class DatasetError(Exception):
    """Base of every error of this package: catch it to catch them all."""


class FileUnavailableError(DatasetError):
    """A file is neither in the cache nor in the mirror, and no url gave it."""


class ParseError(DatasetError):
    """A file is there but cannot be read in the format that its entry states."""


class TableMismatchError(DatasetError):
    """A table was read, but it is not the one that the entry describes."""
