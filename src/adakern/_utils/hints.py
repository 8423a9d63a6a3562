"""What somebody may have meant."""

import difflib

__all__ = ["did_you_mean"]


def did_you_mean(name, known):
    """A question that names the closest of the known names, with a blank before it.

    Parameters
    ----------
    name : str
        What was given.
    known : iterable of str
        What is known.

    Examples
    --------
    >>> from adakern._utils.hints import did_you_mean
    >>> did_you_mean("gama", ["gamma", "degree"]), did_you_mean("x", ["gamma"])
    (" Did you mean 'gamma'?", '')
    """
    close = difflib.get_close_matches(str(name), map(str, known), n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""
