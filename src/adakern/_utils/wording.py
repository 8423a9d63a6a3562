"""Format numbers and lists for messages."""


def count(n, noun):
    """Format a number with its noun.

    >>> from adakern._utils.wording import count
    >>> count(1, "run"), count(1200, "data set")
    ('1 run', '1,200 data sets')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def listed(items, most=4):
    """Join items by commas, with an ellipsis in place of all but the first ones.

    >>> from adakern._utils.wording import listed
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], most=2)
    ('a, b, c', 'a, b, ...')
    """
    return ", ".join(map(str, items[:most])) + ", ..." * (len(items) > most)
