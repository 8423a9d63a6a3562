"""Suggestions for misspelt names."""

import difflib


def did_you_mean(name, known):
    """Return " Did you mean ...?" with the closest known name, or an empty string.

    The dashes before options, in which all are alike, do not count.
    """
    bare = {str(word).lstrip("-"): str(word) for word in known}
    close = difflib.get_close_matches(str(name).lstrip("-"), bare, n=1, cutoff=0.5)
    return f" Did you mean {bare[close[0]]!r}?" if close else ""
