"""Batches of repeats, named by their first and last repeat: "0-9"."""

from pathlib import Path

__all__ = ["repeats_of"]


def repeats_of(path):
    """The repeats that a file named after its batch holds.

    Examples
    --------
    >>> from adakern.bench.runtime.batches import repeats_of
    >>> list(repeats_of("results/quickstart/records/heart/svm-cv/2-4.json"))
    [2, 3, 4]
    """
    first, last = Path(path).stem.split("-")
    return range(int(first), int(last) + 1)
