"""Numbers and texts as a report and a terminal show them."""

import re


def count(n, noun):
    """A number with its noun.

    >>> from adakern_bench.report.wording import count
    >>> count(1, "run"), count(1200, "data set")
    ('1 run', '1,200 data sets')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def caption(path):
    """What stands above a table or figure, from the name of its file."""
    return path.stem.replace("_", " ").replace("-", " ").capitalize()


def natural(name):
    """Key that sorts the numbers in a name as numbers.

    >>> from adakern_bench.report.wording import natural
    >>> sorted(["dank@eta=10", "dank@eta=0.5", "dank@eta=1e-05", "dank"], key=natural)
    ['dank', 'dank@eta=1e-05', 'dank@eta=0.5', 'dank@eta=10']
    """
    parts = re.split(r"(\d+(?:\.\d+)?(?:e[-+]?\d+)?)", str(name))
    return tuple(float(part) if i % 2 else part for i, part in enumerate(parts))


def in_natural_order(names):
    """Places of names, or values, in their natural order: a key for pandas' sorting."""
    return names.map(
        {name: k for k, name in enumerate(sorted(set(names), key=natural))}
    )


def duration(seconds):
    """Seconds as people say them.

    >>> from adakern_bench.report.wording import duration
    >>> duration(3.14159), duration(3), duration(75), duration(7300)
    ('3.1 s', '3 s', '1 min 15 s', '2 h 2 min')
    """
    if seconds < 60:
        return f"{seconds} s" if isinstance(seconds, int) else f"{seconds:.1f} s"
    if seconds < 3600:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min"
