"""Formats of numbers in the cells of a column: marks, currencies and units.

A form is a string that is stored with a model: the decimal mark, followed by the unit
of the cells.
"""

import re
from collections import Counter
from functools import lru_cache

import numpy as np

MARKS = (".", ",")
_CODES = (
    "CHF|EUR|USD|GBP|JPY|INR|BRL|AUD|CAD|NZD|CNY|PLN|CZK|SEK|NOK|DKK|TRY|ZAR|MXN|HUF|RON"
    "|RUB|UAH|ISK|SGD|HKD|TWD|KRW|THB|IDR|MYR|PHP|VND|PKR|ILS|AED|SAR|QAR|EGP|NGN|KES"
    "|ARS|CLP|COP|PEN|RMB|RM|Rp"
)
_CURRENCY = (
    rf"(?:(?:US|R|AU?|CA?|NZ|HK|NT|S|MX)?\$|[€£¥₹₽₺₩₪₴₫₱₦฿]|S?Fr\.|Rs\.?(?=[\s\d])"
    rf"|kr\.|(?:{_CODES}|kr)(?![A-Za-z]))"
)
#: Separators of groups of digits: apostrophes, no-break spaces and blanks.
_GAPS = "'’ʼ´\u00a0\u2007\u202f\u2009 "
#: Hyphen, minus, dashes and full-width forms, and the triangles of Japanese accounts.
_MINUS = "-−–‒－△▲"
_POWERS = {
    3: "k K thousand Tsd Tsd. tys. тыс. 千",
    4: "万 萬",
    5: "lakh lakhs",
    6: "M mn mln mio Mio Mio. million millions млн",
    7: "crore crores",
    8: "亿 億",
    9: "B bn Mrd Mrd. billion billions млрд",
    12: "trillion trillions 兆",
}
MAGNITUDES = {
    name: 10.0**power for power, names in _POWERS.items() for name in names.split()
}
#: Magnitudes behind a fraction that are not words, as in 1.5M.
_SHORT = re.compile(
    r"\d[.,]\d+\s*(?:[kKMB]|m(?:n|ln|io)|bn|(?:Mio|Mrd)\.?|[千万萬亿億兆])(?![^\W\d_])"
)
#: Unit of a column whose cells end in one of these.
AMOUNTS = "amounts"
#: "m" is millions only next to a currency, and otherwise metres.
_MILLIONS = {"m": 1e6}
#: Maximum number of characters of a number.
_LONGEST = 64
_DIGITS = ["0123456789", "０１２３４５６７８９", "٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹"]
_NINES = dict.fromkeys(map(ord, "".join(_DIGITS)), "9")
#: Arabic and full-width marks, and those with which programs write numbers.
_NINES |= str.maketrans("٫٬٪％￥", ".,%%¥")
_ARABIC = str.maketrans("٫", ".", "٬")
#: Number of digits up to which all integers are distinct in float64.
_MOST_DIGITS = 15
_NUMBER = r"(\d+(?:[.,]\d+)?)"
_PLAIN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
#: Numbers whose point may be a thousands separator.
_EITHER = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})?")
#: Zero in Excel's accounting format.
_NOTHING = re.compile(rf"{_CURRENCY}\s*[-–—]+|[-–—]+\s*{_CURRENCY}")
_INFINITE = re.compile(r"[-+]?inf(inity)?", re.IGNORECASE)
#: Form of durations, which are read in seconds, and of angles, in degrees.
BASE_60 = "base 60"
#: With the factors of their numbers; a sign comes first, a hemisphere last.
_BASES_60 = {
    # A sign of the days of pandas and Python is not one of the time.
    re.compile(
        r"()P?(-?\d+)(?:DT| days?, | days? \+)(\d+)[:H](\d+)[:M](\d+(?:\.\d+)?)S?()",
        re.IGNORECASE,
    ): (86400, 3600, 60, 1),
    re.compile(
        rf"(-)?P?(?:{_NUMBER}\s?d(?:ays?)?,?\s?)?T?(?:{_NUMBER}\s?h(?:(?:ou)?rs?)?\.?\s?)?"
        rf"(?:{_NUMBER}(?:\s?m(?:in(?:ute)?s?)?\.?\s?|(?(3)$|(?!))))?"
        rf"(?:{_NUMBER}\s?s(?:ec(?:ond)?s?)?\.?)?()",
        re.IGNORECASE,
    ): (86400, 3600, 60, 1),
    re.compile(
        r"(-)?(?:(\d+)\s?d(?:ays?)?,?\s?)?(?:(\d+):)?(\d+):(\d\d(?:[.,]\d+)?)()",
        re.IGNORECASE,
    ): (86400, 3600, 60, 1),
    re.compile(
        rf"(-)?{_NUMBER}\s?°\s?(?:{_NUMBER}\s?['’′]\s?)?"
        rf"(?:{_NUMBER}\s?(?:[\"”″]|'')\s?)?([NSEW])?"
    ): (1, 1 / 60, 1 / 3600),
}
#: Flags of Eurostat behind some numbers, such as p for provisional, those of
#: laboratories, and marks of footnotes and significance.
_FLAGS = re.compile(r"[bcdefinprsuz]{1,3}|U|U?J|[*†‡§]{1,4}")
#: Unit of a column some of whose cells have flags.
FLAGS = "flags"
#: Unit of a column of debits and credits, which are negative.
DEBITS = "Dr, Cr"
_SIDES = {"dr": 1.0, "cr": -1.0}
_UNIT = re.compile(r"[-+\d.,)]\s*([^\W\d_][^\d()]*|[°µ‰″\"*†‡§][^\d()]*)$")
_SIGN = re.compile(rf"{_CURRENCY}|%")
#: Telephone numbers with the code of a country.
_PHONE = re.compile(r"\+[1-9](?:[\s/()-]{0,2}\d){7,14}")
#: The last class of ages, such as 85+; 1+ and 5+ may be grades and codes.
_OPEN_ENDED = re.compile(r"[^A-Za-z]*\d\d\+")


def parse_number(text, form="."):
    """Parse a number in the given form; return None if the cell is not a number.

    >>> parse_number("1.234,5 kg", ",kg"), parse_number("($1,200)"), parse_number("x")
    (1234.5, -1200.0, None)
    """
    reading = _reading(shape_of(text), form)
    if reading is None:
        return None
    size, start, stop, unread = reading
    digits = text[start:stop].translate(unread)
    return size * float(digits or 0)


def parse_base_60(text):
    """Convert a duration to seconds or an angle to degrees; None if it is neither.

    >>> parse_base_60("2h 30m"), parse_base_60("26:00:01"), parse_base_60("52°30'S")
    (9000.0, 93601.0, -52.5)
    """
    for pattern, factors in _BASES_60.items():
        match = pattern.fullmatch(text[: _LONGEST + 1])
        if match and has_digit(text):
            minus, *parts, side = match.groups()
            known = [float((part or "0").replace(",", ".")) for part in parts]
            size = float(np.dot(known, factors))
            return -size if minus or side in ("S", "W") else size
    return None


def shape_of(text):
    """Replace each digit by a nine, except for a leading zero.

    Texts with the same shape are parsed in the same way.

    >>> shape_of("-1,204.50 kg"), shape_of("0.50")
    ('-9,999.99 kg', '0.99')
    """
    if len(text) > _LONGEST:
        return ""
    shape = text.translate(_NINES)
    first = shape.find("9")
    if first >= 0 and text[first] in "0０٠۰":
        return f"{shape[:first]}0{shape[first + 1 :]}"
    return shape


@lru_cache(maxsize=1 << 14)
def _reading(shape, form):
    """Return how texts of a shape are parsed, or None if they are not numbers.

    The result consists of a factor, the start and stop of the number, and the
    translation of its marks.
    """
    mark = form[:1]
    unit = form[1:]
    if (mark == "." and _PLAIN.fullmatch(shape)) or _INFINITE.fullmatch(shape):
        return 1.0, 0, len(shape), _ARABIC
    if _NOTHING.fullmatch(shape):
        return 0.0, 0, 0, {}
    match = _pattern(mark).fullmatch(shape)
    if not match or not has_digit(match["number"]):
        return None
    if match["gap"] and "e" in match["number"].lower():
        return None  # the comma of 1,234E+05 is a decimal comma
    tail = match["tail"].strip()
    size = 1.0
    is_money = bool(match["before"] or match["after"])
    sizes = MAGNITUDES | _MILLIONS if is_money else MAGNITUDES
    if tail in sizes and (unit == AMOUNTS or is_money):
        size = sizes[tail]
    elif unit == FLAGS and _FLAGS.fullmatch(tail):
        tail = ""
    elif unit == DEBITS and tail.casefold() in _SIDES:
        size = _SIDES[tail.casefold()]
    elif tail and tail != unit:
        return None
    written = shape.removesuffix(match["beside"] or "")
    n_open = written.count("(")
    if n_open > 1 or written.count(")") != n_open:
        return None
    signs = match["sign"], match["second"], match["last"]
    sign = -1 if n_open or set(signs) & {*_MINUS} else 1
    unread = _ARABIC | str.maketrans(mark, ".", other_form(mark) + _GAPS)
    return sign * size, *match.span("number"), unread


def limit_side(value):
    """Return -1 for an upper limit such as ``<0.5``, 1 for a lower one, otherwise 0.

    >>> limit_side("<0.5"), limit_side("85+"), limit_side("85")
    (-1.0, 1.0, 0.0)
    """
    text = value if isinstance(value, str) else ""
    first = ">" if _OPEN_ENDED.fullmatch(text) else text[:1]
    return {"<": -1.0, "≤": -1.0, ">": 1.0, "≥": 1.0}.get(first, 0.0)


def other_form(form):
    """Return a form with the other decimal mark, which separates thousands."""
    return ("," if form[0] == "." else ".") + form[1:]


@lru_cache
def _pattern(mark):
    other = re.escape(other_form(mark))
    gap = rf"(?P<gap>{other}|[{_GAPS}])"
    thousands = rf"(?!0)\d{{1,3}}{gap}\d{{3}}(?:(?P=gap)\d{{3}})*"
    indian = rf"(?!0)\d{{1,2}}(?:{other}\d{{2}})+{other}\d{{3}}"
    blank = r"\s{0,2}"  # unlimited repetition would cause catastrophic backtracking
    return re.compile(
        rf"\(?{blank}[<>≤≥~≈±]?=?{blank}(?P<sign>[{_MINUS}+])?{blank}%?{blank}"
        rf"(?P<before>{_CURRENCY})?{blank}\(?(?P<second>[{_MINUS}+])?{blank}"
        rf"(?P<number>(?:{thousands}|{indian}|\d+)?(?:\{mark}\d*)?(?:[eE][-+]?\d+)?)"
        # In a price without cents, such as "12.-", the dash is not a sign.
        rf"(?:(?<=\d\{mark})[-–—]{{1,2}}|(?P<last>-|(?<=\d\d)\+))?\)?{blank}%?{blank}"
        rf"(?P<tail>(?:(?!{_CURRENCY})[^\d()%<>])*?)"
        rf"{blank}(?P<after>{_CURRENCY})?{blank}\)?"
        # The interval or deviation of an estimate, or a footnote.
        rf"(?P<beside>{blank}(?:\[[^\[\]]{{1,40}}\]|±[\d.,\s]{{1,20}}"
        rf"|(?<=\d\s)\([-–\d.,%\s]{{1,40}}\)))?"
    )


def _find_unit(counts):
    """Return the unit behind the numbers of most cells, or "" if there is none.

    Parameters
    ----------
    counts : dict of str to int
        Number of occurrences of each shape, see :func:`shape_of`.
    """
    units = Counter()
    n = 0
    for text, count in counts.items():
        match = _UNIT.search(re.sub(rf"\s*{_CURRENCY}$", "", text))
        n += count * has_digit(text)
        if match and (match[1] in MAGNITUDES or not match[1][0].isnumeric()):  # not "½"
            units[match[1].strip()] += count
        elif "%" in (text[:1], text[-1:]):
            units["%"] += count
    if not units:
        return ""
    if {unit.casefold() for unit in units} == {*_SIDES}:
        return DEBITS
    has_fraction = any(map(_SHORT.search, counts))
    is_mixed = len(units) > 1 or n / 2 <= units.total() < n
    if set(units) <= set(MAGNITUDES) and (has_fraction or is_mixed):
        return AMOUNTS
    n_letters = sum(count for unit, count in units.items() if unit.isalpha())
    if all(map(_FLAGS.fullmatch, units)) and 2 * n_letters < n:
        return FLAGS
    unit, n_units = units.most_common(1)[0]
    return unit if 2 * n_units >= n and len(unit) <= 12 else ""


def signs_of(text):
    """Return the currencies and percent signs of a cell.

    >>> signs_of("12 €"), signs_of("3")
    (('€',), ())
    """
    return tuple(_SIGN.findall(shape_of(text)))


def find_mark(counts, unit=None):
    """Find the unit, and the decimal mark with which more cells can be parsed.

    Parameters
    ----------
    counts : dict of str to int
        Number of occurrences of each cell.
    unit : str, default=None
        Unit of the cells; inferred if None.

    Returns
    -------
    mark : {".", ",", None}
        None if both marks parse the same number of cells.
    unit : str
    sure : int
        Difference between the numbers of cells parsed with each mark.
    is_open : bool
        Whether some cells can be parsed with both marks, as different numbers.
    """
    shapes: Counter = Counter()
    for text, count in counts.items():
        shapes[shape_of(text)] += count
    unit = _find_unit(shapes) if unit is None else unit
    n_read = dict.fromkeys(MARKS, 0)
    is_open = False
    for text, count in shapes.items():
        read = [parse_number(text, mark + unit) for mark in MARKS]
        for mark, value in zip(MARKS, read, strict=True):
            n_read[mark] += count * (value is not None)
        is_open |= None not in read and read[0] != read[1]
    sure = n_read["."] - n_read[","]
    mark = "." if sure > 0 else "," if sure < 0 else None
    return mark, unit, abs(sure), is_open


def are_codes(texts):
    """Whether all cells are codes of digits rather than amounts.

    Codes have leading zeros, like ZIP codes, or most of them have more digits than
    float64, or are telephone numbers. Cells without digits do not matter.
    """
    if any(text[:1] == "+" for text in texts) and _are_phones(texts):
        return True
    if not all(text.isdecimal() or not has_digit(text) for text in texts):
        return False
    codes = [text for text in texts if text.isdecimal()]
    if 2 * sum(len(text.lstrip("0")) > _MOST_DIGITS for text in codes) > len(codes):
        return True
    n_padded = sum(text[0] == "0" != text for text in codes)
    same_length = len({len(text) for text in codes}) == 1
    return n_padded > 0 and (same_length or 2 * n_padded > len(codes))


def _are_phones(texts):
    """Whether at least half of the numbers are those of telephones, and none < 0."""
    numbers = [text for text in texts if has_digit(text)]
    n_phones = sum(bool(_PHONE.fullmatch(text)) for text in numbers)
    return 2 * n_phones >= len(numbers) and not any(t[0] == "-" for t in numbers)


def exceed_float(values):
    """Whether some numbers of an array or a column are integers that may be codes."""
    is_long = re.match(r"(?i)u?int64", str(values.dtype))
    return bool(is_long and (values >= 10**_MOST_DIGITS).any())


def has_digit(value):
    """Whether a value is written with a digit."""
    return bool(re.search(r"\d", str(value)))


def plain_numbers(texts):
    """Parse numbers in the format of programs; return None if there are other cells.

    Empty cells are missing. The result is also None if all points may be thousands
    separators. Most columns can be parsed here, in a thousandth of the time.
    """
    joined = "".join(texts)
    if not set(joined) <= set("0123456789+-.eE"):
        return None
    if "." in joined and all(_EITHER.fullmatch(text or "1") for text in texts):
        return None
    try:
        return np.array([text or "nan" for text in texts], dtype=object).astype(float)
    except ValueError:
        return None
