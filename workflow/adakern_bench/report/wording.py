"""Format names and durations for report and terminal."""

import re


def caption(path):
    """Caption of a table or figure, made from the name of its file."""
    return path.stem.replace("_", " ").replace("-", " ").capitalize()


def natural(name):
    """Sort key that compares the numbers in names as numbers.

    >>> from adakern_bench.report.wording import natural
    >>> sorted(["dank@eta=10", "dank@eta=0.5", "dank@eta=1e-05", "dank"], key=natural)
    ['dank', 'dank@eta=1e-05', 'dank@eta=0.5', 'dank@eta=10']
    """
    parts = re.split(r"(\d+(?:\.\d+)?(?:e[-+]?\d+)?)", str(name))
    return tuple(float(part) if i % 2 else part for i, part in enumerate(parts))


def in_natural_order(names):
    """Sort key of pandas for names or values in natural order."""
    return names.map(
        {name: k for k, name in enumerate(sorted(set(names), key=natural))}
    )


def span(counts):
    """Format counts as a number, or a range if they differ.

    >>> from adakern_bench.report.wording import span
    >>> span([5, 5]), span([20, 5])
    ('5', '5 to 20')
    """
    least, most = int(min(counts)), int(max(counts))
    return f"{most}" if least == most else f"{least} to {most}"


def duration(seconds):
    """Format a duration in seconds.

    >>> from adakern_bench.report.wording import duration
    >>> duration(0.012), duration(3.14159), duration(3), duration(75), duration(7300)
    ('12 ms', '3.1 s', '3 s', '1 min 15 s', '2 h 2 min')
    """
    if seconds < 0.0995 and not isinstance(seconds, int):
        return f"{1000 * seconds:.2g} ms"
    if seconds < 60:
        return f"{seconds} s" if isinstance(seconds, int) else f"{seconds:.1f} s"
    if seconds < 3600:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min"
