"""Suggestions for misspelt names."""

import difflib


def did_you_mean(name, known):
    """Return " Did you mean ...?" with the closest known name, or an empty string."""
    close = difflib.get_close_matches(str(name), map(str, known), n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""
