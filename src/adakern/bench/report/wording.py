"""What an experiment did, in words for its report."""

import re

from markupsafe import Markup

__all__ = ["duration", "links", "ordinal", "printable", "protocol_in_words"]

#: Characters that command a terminal or turn the direction of writing.
COMMANDS = {
    *range(32),
    *range(0x7F, 0xA0),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
} - {9, 10}


def duration(seconds):
    """Seconds as people say them.

    >>> from adakern.bench.report.wording import duration
    >>> duration(3.14159), duration(3), duration(75), duration(7300)
    ('3.1 s', '3 s', '1 min 15 s', '2 h 2 min')

    Parameters
    ----------
    seconds : float
        How long it took.
    """
    if seconds < 60:
        return f"{seconds} s" if isinstance(seconds, int) else f"{seconds:.1f} s"
    if seconds < 3600:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min"


def printable(text):
    r"""Text from outside (an error's message) without what a terminal would obey.

    >>> from adakern.bench.report.wording import printable
    >>> printable("red: \x1b[31m") == "red: \N{REPLACEMENT CHARACTER}[31m"
    True

    Parameters
    ----------
    text : str
        To be shown.
    """
    if not isinstance(text, str):
        return text
    return text.translate(dict.fromkeys(COMMANDS, "\N{REPLACEMENT CHARACTER}"))


def ordinal(n):
    """
    >>> from adakern.bench.report.wording import ordinal
    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd']

    Parameters
    ----------
    n : int
        Positive.
    """
    endings = {1: "st", 2: "nd", 3: "rd"}
    ending = "th" if 11 <= n % 100 <= 13 else endings.get(n % 10, "th")
    return f"{n}{ending}"


def protocol_in_words(config):
    """What was done to the data and how often, as sentences.

    Parameters
    ----------
    config : mapping
        The configuration.
    """
    protocol, search = config["protocol"], config.get("search", {})
    share = f"{100 * protocol.get('test_size', 0):g} %"
    repeats = protocol.get("repeats")
    kind = protocol.get("kind", "holdout")
    sentences = {
        "holdout": f"Repeated holdout: {repeats} times, {share} of the rows at random "
        "are the test part"
        + (", with the class proportions kept." if protocol.get("stratify") else "."),
        "kfold": f"{protocol.get('n_splits')}-fold cross-validation, repeated "
        f"{repeats} times with another shuffling; every fold is one solve.",
        "group-holdout": f"Repeated holdout by group: {repeats} times, all rows of "
        f"{share} of the groups are the test part, so that no group is in both parts.",
    }
    words = [sentences.get(kind, kind)]
    published = protocol.get("published_split", "never")
    if published == "prefer":
        words.append("A data set with a published split uses that one, once.")
    elif published == "require":
        words.append("Every data set uses its published split.")
    words += [_scaling_in_words(protocol)]
    if protocol.get("scale_target", "none") != "none":
        words.append(
            "Regression targets are standardised on the training part for the fit; "
            "scores are in the units of the target."
        )
    clipped = [
        f"{name} ({entry['clip'][0]:g} and {entry['clip'][1]:g})"
        for name, entry in config.get("dataset", {}).items()
        if entry.get("clip")
    ]
    if protocol.get("clip") and clipped:
        words.append(
            "Features are first clipped at percentiles for " + ", ".join(clipped) + "."
        )
    if search.get("folds"):
        thinned = (
            f", every {ordinal(search['step'])} point of each axis of numbers kept"
            if search.get("step", 1) > 1
            else ""
        )
        part = (
            f"{search['max_rows']:,} rows (where there are more) of the training part"
            if search.get("max_rows")
            else "the training part"
        )
        words.append(
            f"Hyper-parameters: grid search by {_search_in_words(search)} "
            f"on {part} alone{thinned}; where a method takes over another's "
            "parameters, the configuration says so."
        )
    words.append(
        "All methods see the same splits. Tests are two-sided, at the 5 % level, over "
        "the repeats that both methods finished."
    )
    return words


def _search_in_words(search):
    one_part = "one 20 % validation part"
    if search["folds"] == 1:
        return one_part
    words = f"{search['folds']}-fold cross-validation"
    if search.get("holdout_rows"):
        words += f" ({one_part} above {search['holdout_rows']} rows)"
    return words


def _scaling_in_words(protocol):
    target = {
        "unit": "to [0, 1]",
        "symmetric": "to [-1, 1]",
        "standard": "to mean 0 and variance 1",
    }.get(protocol.get("scale", "none"))
    if target is None:
        return "Features are used as they are, without scaling."
    if protocol.get("scale_fit", "train") == "train":
        return f"Features are scaled {target}, fitted on the training part."
    return (
        f"Features are scaled {target}, fitted on all rows, the test part included "
        "(as in Liu et al., AAAI 2018; the test features leak into the scaling)."
    )


def links(text):
    """Text with its http and https addresses, and no others, made links.

    >>> from adakern.bench.report.wording import links
    >>> str(links("see https://jmlr.org/x.html, <b>"))
    'see <a href="https://jmlr.org/x.html">https://jmlr.org/x.html</a>, &lt;b&gt;'

    Parameters
    ----------
    text : str
        To be shown.
    """
    parts = re.split(r"(https?://[^\s<>\"]*[^\s<>\".,;:)])", str(text))
    return Markup("").join(
        Markup('<a href="{0}">{0}</a>').format(part) if i % 2 else part
        for i, part in enumerate(parts)
    )
