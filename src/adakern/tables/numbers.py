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
    "mio": 1e6,
    "Mio": 1e6,
    "Mio.": 1e6,
    "B": 1e9,
    "bn": 1e9,
    "Mrd": 1e9,
    "Mrd.": 1e9,
}
#: The unit of a column whose cells end in one of these.
AMOUNTS = "amounts"
#: A unit that is metres, and millions beside a currency only.
_MILLIONS = {"m": 1e6}
#: No number is written in more characters.
_LONGEST = 64
_NINES = str.maketrans("012345678", "999999999")
#: Whole numbers of so many digits are told from their neighbours in float64.
_MOST_DIGITS = 15
_PLAIN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
#: Whose points may part thousands.
_EITHER = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})?")
#: How Excel's format of accounts shows zero.
_NOTHING = re.compile(rf"{_CURRENCY}\s*[-–—]+|[-–—]+\s*{_CURRENCY}")
_INFINITE = re.compile(r"[-+]?inf(inity)?", re.IGNORECASE)
_UNIT = re.compile(r"[-+\d.,)]\s*([^\W\d_][^\d()]*|[°µ][^\d()]*)$")


def parse_number(text, form="."):
    """The number that a cell writes in this form, or None.

    >>> parse_number("1.234,5 kg", ",kg"), parse_number("($1,200)"), parse_number("x")
    (1234.5, -1200.0, None)
    """
    found = _reading(shape_of(text), form)
    if found is None:
        return None
    size, start, stop, unread = found
    digits = text[start:stop].translate(unread)
    return size * float(digits or 0)


def shape_of(text):
    """The text with a nine for each digit, and a zero for a first one that is zero:
    texts of one shape are read alike.

    >>> shape_of("-1,204.50 kg"), shape_of("0.50")
    ('-9,999.99 kg', '0.99')
    """
    if len(text) > _LONGEST:
        return ""
    shape = text.translate(_NINES)
    first = shape.find("9")
    if first >= 0 and text[first] == "0":
        return f"{shape[:first]}0{shape[first + 1 :]}"
    return shape


def shapes_of(counts):
    """How often each shape occurs, from how often each text does."""
    found: Counter = Counter()
    for text, count in counts.items():
        found[shape_of(text)] += count
    return found


@lru_cache(maxsize=1 << 14)
def _reading(shape, form):
    """How texts of a shape are read: what to multiply by, where the number starts and
    stops, and how its marks are translated; None where they are no numbers.
    """
    mark = form[:1]
    unit = form[1:]
    if (mark == "." and _PLAIN.fullmatch(shape)) or _INFINITE.fullmatch(shape):
        return 1.0, 0, len(shape), {}
    if _NOTHING.fullmatch(shape):
        return 0.0, 0, 0, {}
    found = _pattern(mark).fullmatch(shape)
    if not found or not re.search(r"\d", found["number"]):
        return None
    tail = found["tail"].strip()
    size = 1.0
    is_money = bool(found["before"] or found["after"])
    sizes = MAGNITUDES | _MILLIONS if is_money else MAGNITUDES
    if tail in sizes and (unit == AMOUNTS or is_money):
        size = sizes[tail]
    elif tail and tail != unit:
        return None
    n_open = shape.count("(")
    if n_open > 1 or shape.count(")") != n_open:
        return None
    signs = found["sign"], found["second"], found["last"]
    sign = -1 if n_open or set(signs) & {"-", "−"} else 1
    unread = str.maketrans(mark, ".", other_mark(mark) + _GAPS)
    return sign * size, *found.span("number"), unread


def limit_side(value):
    """-1 for a limit that a value is below, such as ``<0.5``, 1 above, 0 for none."""
    first = value[:1] if isinstance(value, str) else ""
    return {"<": -1.0, "≤": -1.0, ">": 1.0, "≥": 1.0}.get(first, 0.0)


def other_mark(mark):
    """The decimal mark that a mark is not: it parts thousands."""
    return "," if mark == "." else "."


@lru_cache
def _pattern(mark):
    other = re.escape(other_mark(mark))
    gap = rf"(?P<gap>{other}|[{_GAPS}])"
    thousands = rf"(?!0)\d{{1,3}}{gap}\d{{3}}(?:(?P=gap)\d{{3}})*"
    indian = rf"(?!0)\d{{1,2}}(?:{other}\d{{2}})+{other}\d{{3}}"
    blank = r"\s{0,2}"  # of more, the time would grow as a power of their number
    return re.compile(
        rf"\(?{blank}[<>≤≥]?=?{blank}(?P<sign>[-+−])?{blank}"
        rf"(?P<before>{_CURRENCY})?{blank}\(?(?P<second>[-+−])?{blank}"
        rf"(?P<number>(?:{thousands}|{indian}|\d+)?(?:\{mark}\d*)?(?:[eE][-+]?\d+)?)"
        # Of a price without cents, such as "12.-", the dash is no sign.
        rf"(?:(?<=\d\{mark})[-–—]{{1,2}}|(?P<last>-))?\)?{blank}%?{blank}(?P<tail>(?:(?!{_CURRENCY})[^\d()%<>])*?)"
        rf"{blank}(?P<after>{_CURRENCY})?{blank}\)?"
    )


def find_unit(counts):
    """The unit that cells carry behind their numbers, "" for none or several.

    Parameters
    ----------
    counts : dict of str to int
        How often each cell occurs.
    """
    units = Counter()
    n = 0
    counts = shapes_of(counts)
    for text, count in counts.items():
        found = _UNIT.search(re.sub(rf"\s*{_CURRENCY}$", "", text))
        n += count * bool(re.search(r"\d", text))
        if found and not found[1][0].isnumeric():  # which "½" is
            units[found[1].strip()] += count
        elif text.endswith("%"):
            units["%"] += count
    if not units:
        return ""
    has_fraction = any(re.search(r"\d[.,]\d+\s*[A-Za-z]", text) for text in counts)
    if set(units) <= set(MAGNITUDES) and (has_fraction or len(units) > 1):
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
    n_read = dict.fromkeys(MARKS, 0)
    is_open = False
    for text, count in shapes_of(counts).items():
        read = [parse_number(text, mark + unit) for mark in MARKS]
        for mark, value in zip(MARKS, read, strict=True):
            n_read[mark] += count * (value is not None)
        is_open |= None not in read and read[0] != read[1]
    sure = n_read["."] - n_read[","]
    mark = "." if sure > 0 else "," if sure < 0 else None
    return mark, abs(sure), is_open


def are_codes(texts):
    """Whether all cells are digits that are no amounts: with zeros before others, as
    ZIP codes have, or more digits than a number can hold.
    """
    if not all(re.fullmatch(r"\d+", text) for text in texts):
        return False
    if any(len(text.lstrip("0")) > _MOST_DIGITS for text in texts):
        return True
    n_padded = sum(text[0] == "0" != text for text in texts)
    same_length = len({len(text) for text in texts}) == 1
    return n_padded > 0 and (same_length or 2 * n_padded > len(texts))


def plain_numbers(texts):
    """The numbers of texts as programs write them, or None if one is none of those, or
    if all points may part thousands.

    Most columns are of this kind, and read in a thousandth of the time.
    """
    joined = "".join(texts)
    if not set(joined) <= set("0123456789+-.eE"):
        return None
    if "." in joined and all(_EITHER.fullmatch(text) for text in texts):
        return None
    try:
        return np.array(texts, dtype=object).astype(float)
    except ValueError:
        return None
