"""Format numbers for messages."""


def count(n, noun):
    """Format a number with its noun.

    >>> from adakern._utils.wording import count
    >>> count(1, "run"), count(1200, "data set")
    ('1 run', '1,200 data sets')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
