"""How the cells of a column write numbers: decimal mark, thousands, currency, units.

A form is a string, kept with a model: the decimal mark, and behind it the unit that the
cells carry.
"""

import re
from collections import Counter
from functools import lru_cache

import numpy as np

MARKS = (".", ",")
_CURRENCY = r"(?:[$€£¥₹₽]|Fr\.|(?:CHF|EUR|USD|GBP|JPY|INR|kr)(?![A-Za-z]))"
#: Between groups of digits: apostrophes and blanks that do not break.
_GAPS = "'’\u00a0\u202f\u2009 "
MAGNITUDES = {
    "k": 1e3,
    "K": 1e3,
    "M": 1e6,
    "mn": 1e6,
    "mln": 1e6,
    "Mio": 1e6,
    "Mio.": 1e6,
    "B": 1e9,
    "bn": 1e9,
    "Mrd": 1e9,
    "Mrd.": 1e9,
}
#: The unit of a column whose cells end in one of these.
AMOUNTS = "amounts"
#: Whole numbers of so many digits are told from their neighbours in float64.
_MOST_DIGITS = 15
_PLAIN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_INFINITE = re.compile(r"[-+]?inf(inity)?", re.IGNORECASE)
_UNIT = re.compile(r"[-+\d.,)]\s*([^\W\d_][^\d()]*|[°µ][^\d()]*)$")


def parse_number(text, form="."):
    """The number that a cell writes in this form, or None.

    >>> parse_number("1.234,5 kg", ",kg"), parse_number("($1,200)"), parse_number("x")
    (1234.5, -1200.0, None)
    """
    mark, unit = form[:1], form[1:]
    if (mark == "." and _PLAIN.fullmatch(text)) or _INFINITE.fullmatch(text):
        return float(text)
    found = _pattern(mark).fullmatch(text)
    if not found or not re.search(r"\d", found["number"]):
        return None
    tail, size = found["tail"].strip(), 1.0
    if tail in MAGNITUDES and (unit == AMOUNTS or found["before"] or found["after"]):
        size = MAGNITUDES[tail]
    elif tail and tail != unit:
        return None
    digits = re.sub(f"[{other_mark(mark)}{_GAPS}]", "", found["number"])
    signs = found["open"], found["sign"], found["second"], found["last"]
    sign = -1 if set(signs) & {"-", "−", "("} else 1
    return sign * size * float(digits.replace(mark, "."))


def is_limit(text):
    """Whether a cell is a limit of what can be measured, such as ``<0.5``."""
    return text[:1] in "<>≤≥" and text != ""


def other_mark(mark):
    """The decimal mark that a mark is not: it parts thousands."""
    return "," if mark == "." else "."


@lru_cache
def _pattern(mark):
    other = re.escape(other_mark(mark))
    gap = rf"(?P<gap>{other}|[{_GAPS}])"
    thousands = rf"(?!0)\d{{1,3}}{gap}\d{{3}}(?:(?P=gap)\d{{3}})*"
    indian = rf"(?!0)\d{{1,2}}(?:{other}\d{{2}})+{other}\d{{3}}"
    return re.compile(
        rf"(?P<open>\()?\s*[<>≤≥]?=?\s*(?P<sign>[-+−])?\s*(?P<before>{_CURRENCY})?\s*"
        rf"(?P<second>[-+−])?\s*"
        rf"(?P<number>(?:{thousands}|{indian}|\d+)?(?:\{mark}\d*)?(?:[eE][-+]?\d+)?)"
        rf"(?P<last>-)?\s*%?\s*(?P<tail>(?:(?!{_CURRENCY})[^\d()%<>\s]+\s?)*?)"
        rf"\s*(?P<after>{_CURRENCY})?\s*\)?"
    )


def find_unit(counts):
    """The unit that cells carry behind their numbers, "" for none or several.

    Parameters
    ----------
    counts : dict of str to int
        How often each cell occurs.
    """
    units, n = Counter(), 0
    for text, count in counts.items():
        found = _UNIT.search(re.sub(rf"\s*{_CURRENCY}$", "", text))
        n += count * bool(re.search(r"\d", text))
        if found:
            units[found[1].strip()] += count
    if not units:
        return ""
    has_fraction = any(re.search(r"\d[.,]\d+\s*[A-Za-z]", text) for text in counts)
    if set(units) <= set(MAGNITUDES) and has_fraction:
        return AMOUNTS
    unit, n_units = units.most_common(1)[0]
    return unit if 2 * n_units >= n and len(unit) <= 12 else ""


def find_mark(counts, unit=""):
    """The decimal mark that more cells allow, how sure that is, and whether the other
    would give other numbers.

    Returns
    -------
    mark : {".", ",", None}
        None where both read as many cells.
    sure : int
        By how many cells the mark is ahead.
    is_open : bool
        Whether there are cells that both marks read, as other numbers.
    """
    n_read, is_open = dict.fromkeys(MARKS, 0), False
    for text, count in counts.items():
        read = [parse_number(text, mark + unit) for mark in MARKS]
        for mark, value in zip(MARKS, read, strict=True):
            n_read[mark] += count * (value is not None)
        is_open |= None not in read and read[0] != read[1]
    sure = n_read["."] - n_read[","]
    mark = "." if sure > 0 else "," if sure < 0 else None
    return mark, abs(sure), is_open


def are_codes(texts):
    """Whether all cells are digits that are no amounts: as many in each and one with a
    zero before others, as a ZIP code, or more digits than a number can hold.
    """
    if not all(re.fullmatch(r"\d+", text) for text in texts):
        return False
    if any(len(text.lstrip("0")) > _MOST_DIGITS for text in texts):
        return True
    same_length = len({len(text) for text in texts}) == 1
    return same_length and any(text[0] == "0" != text for text in texts)


def plain_numbers(texts):
    """The numbers of texts as programs write them, or None if one is none of those.

    Most columns are of this kind, and read in a thousandth of the time.
    """
    if not set("".join(texts)) <= set("0123456789+-.eE"):
        return None
    try:
        return np.array(texts, dtype=object).astype(float)
    except ValueError:
        return None
