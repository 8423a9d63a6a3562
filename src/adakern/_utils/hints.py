"""What somebody may have meant."""

import difflib


def did_you_mean(name, known):
    """A question that names the closest of the known names, with a blank before it."""
    close = difflib.get_close_matches(str(name), map(str, known), n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""
