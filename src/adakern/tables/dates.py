"""Formats of dates and times in the cells of a column.

A form is a string that is stored with a model: "ISO8601" or a ``strptime`` format.
"""

import re
from datetime import UTC, date, datetime, time, timedelta
from functools import cache

import numpy as np

ISO = "ISO8601"
#: Form of dates as integers, such as 20240131, in columns whose names suggest dates.
WHOLE = "%Y%m%d"
_SAYS_DATE = re.compile(r"(?i)date|datum|fecha|(?<![a-z])(day|tag|dat|dt|dob)(?![a-z])")
_WHOLE_YEARS = 1900, 2100
_MONTHS = (
    "jan feb mar apr may jun jul aug sep oct nov dec",
    "jän feb mär apr mai jun jul aug sep okt nov dez",
    "janv févr mars avr mai juin juil août sept oct nov déc",
    "ene feb mar abr may jun jul ago sep oct nov dic",
    "gen feb mrz apr mag giu lug ago set ott nov dic",
    "jan fev mrt abr mei jun jul ago set out nov dez",
    "january february march april may june july august september october november "
    "december",
    "januar februar märz april mai juni juli august september oktober november "
    "dezember",
    "janvier février mars avril mai juin juillet août septembre octobre novembre "
    "décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre "
    "diciembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre "
    "novembre dicembre",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro "
    "dezembro",
    "januari februari maart april mei juni juli augustus september oktober november "
    "december",
)
MONTHS = {name: i for row in _MONTHS for i, name in enumerate(row.split(), start=1)}
_WEEKDAYS = (
    "mon tue tues wed thu thur thurs fri sat sun monday tuesday wednesday thursday "
    "friday saturday sunday mo di mi do fr sa so montag dienstag mittwoch donnerstag "
    "freitag samstag sonnabend sonntag lun mar mer jeu ven sam dim lundi mardi "
    "mercredi jeudi vendredi samedi dimanche mié jue vie sáb dom lunes martes "
    "miércoles jueves viernes sábado domingo"
)
_DAYS = [
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y"),
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d"),
    *("%d-%b-%Y", "%d-%b-%y", "%d/%b/%Y", "%d/%b/%y", "%Y-%b-%d", "%d%b%Y", "%d%b%y"),
    *("%d %b %Y", "%d. %b %Y", "%b %d, %Y", "%b %d %Y", "%d %b %y"),
    *("%d de %b de %Y", "%Y年%m月%d日", "%Y. %m. %d."),
]
_CLOCKS = ["", "%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p"]
_OTHERS = [
    *("%b-%y", "%b-%Y", "%m/%Y", "%Y-%m", "%Y/%m", "%m.%Y", "%b %Y", "%b %y", "%b%Y"),
    *("%YQ%q", "%Y Q%q", "%Y-Q%q", "Q%q %Y", "Q%q/%Y", "%qQ%Y", "%qQ%y", "%YM%m"),
    *("%H:%M", "%H:%M:%S", "%I:%M %p", "%d/%b/%Y:%H:%M:%S", "%Y%m%dT%H%M%S"),
    *("%d%b%Y:%H:%M:%S", "%d%b%y:%H:%M:%S"),
    *("%d-%b-%y %I.%M.%S.%f %p", "%d.%m.%y %H:%M:%S,%f"),  # Oracle
    *("%b %d %H:%M:%S %Y", "%b %d %H:%M:%S %z %Y"),
]
FORMS = [
    *(f"{day} {clock}".strip() for clock in _CLOCKS for day in _DAYS),
    *_OTHERS,
]
_PARTS = {
    "%Y": r"(?P<Y>\d{4})",
    "%y": r"(?P<y>\d{2})",
    "%m": r"(?P<m>\d{1,2})",
    "%d": r" ?(?P<d>\d{1,2})(?:(?<=[123])(?:st|er|nd|rd)|th)?",
    "%b": r"(?P<b>[^\W\d_]{3,}?)\.?",
    "%q": r"(?P<q>[1-4])",
    "%H": r" ?(?P<H>\d{1,2})",
    "%I": r" ?(?P<I>\d{1,2})",
    "%M": r"(?P<M>\d{2})",
    "%S": r"(?P<S>\d{2})",
    "%f": r"(?P<f>\d{1,6})\d{0,3}",
    "%p": r"(?P<p>[aApP])\.?\s?[mM]\.?",
}
#: Optional weekday before a date, and time zone after a time.
_WEEKDAY = rf"(?:(?i:{'|'.join(_WEEKDAYS.split())})\.?,?\s+)?"
#: Hours ahead of UTC for unambiguous names of time zones.
_ZONES = {"utc": 0, "gmt": 0, "z": 0, "wet": 0, "west": 1, "cet": 1, "cest": 2}
_ZONES |= {"mez": 1, "mesz": 2, "eet": 2, "eest": 3, "est": -5, "edt": -4}
_ZONES |= {"cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7}
_NAMED_ZONE = rf"(?P<n>{'|'.join(sorted(_ZONES, reverse=True))})"
_PARTS["%z"] = rf"(?:(?:UTC|GMT)?(?P<z>[-+]\d{{1,2}}(?::?\d{{2}})?)|{_NAMED_ZONE})"
_ZONE = rf"(?:\s?{_PARTS['%z']}|\sUhr)?"
#: Two-digit years below this value are in this century, as in POSIX.
_CENTURY = 69
#: Maximum number of characters of a form.
_LONGEST = 100
#: Number of cells from which the form is inferred.
_SAMPLE = 200
#: Names of the numbers that represent a date.
PARTS = ("elapsed days", "year", "sine of season", "cosine of season", "weekday")
HOUR = "hour"
#: Microseconds per day.
_DAY = 86_400e6


def parse_date(text, form):
    """Parse a cell in the given form; return a time in UTC, or None."""
    if len(form) > _LONGEST:  # it would take long to compile
        return None
    try:
        if form == ISO:
            found = datetime.fromisoformat(text.removesuffix(" UTC"))
            return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found
        found = _pattern(form).fullmatch(text)
        return _built(found.groupdict()) if found else None
    except (ValueError, KeyError, OverflowError, re.error):  # a form given by a user
        return None


@cache
def _pattern(form):
    pieces = re.split(r"(%[A-Za-z])", form.replace("%B", "%b"))
    text = "".join(_PARTS.get(piece, re.escape(piece)) for piece in pieces)
    for hour in (_PARTS["%H"], _PARTS["%I"]):
        text = text.replace(rf"\ {hour}", rf"(?:,|\ at)?\ {hour}")
    if "%d" in form:  # otherwise 45:10 could be minutes and seconds
        text = text.replace(rf":{_PARTS['%S']}", rf"(?::{_PARTS['%S']})?")
    text = text.replace(r"\ ", r"\s")
    before = _WEEKDAY if "%d" in form else ""
    behind = _ZONE if "%M" in form and "%z" not in form else ""
    return re.compile(before + text + behind, re.IGNORECASE)


def _built(parts):
    """Construct a time from the named groups of a match."""
    year = int(parts.get("Y") or 1970)
    if parts.get("y"):
        year = int(parts["y"])
        year += 2000 if year < _CENTURY else 1900
    month = int(parts.get("m") or 1)
    if parts.get("b"):
        month = MONTHS[parts["b"].casefold()]
    if parts.get("q"):
        month = 3 * int(parts["q"]) - 2
    hour = int(parts.get("H") or 0)
    if parts.get("p"):
        if not 1 <= int(parts["I"]) <= 12:
            raise ValueError("no hour of a clock of twelve")
        hour = int(parts["I"]) % 12 + 12 * (parts["p"] in "pP")
    micro = int((parts.get("f") or "0").ljust(6, "0"))
    minute = int(parts.get("M") or 0)
    second = int(parts.get("S") or 0)
    day = int(parts.get("d") or 1)
    found = datetime(year, month, day, hour, minute, second, micro)
    return found - _offset(parts.get("z"), parts.get("n"))


def _offset(zone, name):
    """Offset from UTC of a time zone such as "+02:00" or "CET"."""
    if not zone:
        return timedelta(hours=_ZONES[name.casefold()] if name else 0)
    hours, minutes = re.fullmatch(r"(\d{1,2}):?(\d{2})?", zone[1:]).groups()
    size = timedelta(hours=int(hours), minutes=int(minutes or 0))
    return -size if zone[0] == "-" else size


def says_date(name):
    """Whether a column's name suggests that it contains dates."""
    return bool(_SAYS_DATE.search(name))


def parse_whole(value):
    """Parse a date from an integer such as 20240131 or its digits, or return None."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if not 1e7 < number < 1e8 or not number.is_integer():
        return None
    found = parse_date(f"{number:.0f}", WHOLE)
    first, last = _WHOLE_YEARS
    return found if found and first <= found.year <= last else None


def find_form(counts, most_bad):
    """Infer the form of dates, and another form that fits as well, or None.

    Parameters
    ----------
    counts : dict of str to int
        Number of occurrences of each cell.
    most_bad : int
        Maximum number of cells that are not dates.

    Returns
    -------
    form, other : str or None
    """
    texts = [text for text in counts if re.search(r"\d", text)]
    if sum(counts.values()) - sum(counts[text] for text in texts) > most_bad:
        return None, None
    sample = texts[:: max(1, len(texts) // _SAMPLE)]
    found = []
    for form in [ISO, *FORMS]:
        if form == ISO and not any(
            re.match(r"\d{4}(-\d{2}-\d{2}|-?W\d{2})", t) for t in sample
        ):
            continue
        bad = sum(parse_date(text, form) is None for text in sample)
        if 2 * bad > len(sample):
            continue
        n_bad = sum(
            count for text, count in counts.items() if parse_date(text, form) is None
        )
        if n_bad <= most_bad:
            found.append((n_bad, form))
    if not found:
        return None, None
    best = min(n_bad for n_bad, _ in found)
    forms = [form for n_bad, form in found if n_bad == best]
    others = [form for form in forms[1:] if _differ(forms[0], form, sample)]
    return forms[0], next(iter(others), None)


def _differ(first, second, texts):
    return any(parse_date(text, first) != parse_date(text, second) for text in texts)


def as_time(value):
    """Convert a date of Python, NumPy or pandas to datetime64[us], in UTC."""
    if isinstance(value, np.datetime64):
        return value.astype("M8[us]")
    if not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(value, "us")


def is_date(value):
    """Whether a value is a date or a datetime."""
    return isinstance(value, date | np.datetime64)


def date_parts(times, with_hour):
    """Convert times to numeric columns: :data:`PARTS`, and optionally the hour.

    Parameters
    ----------
    times : ndarray of datetime64, shape (n,)
    with_hour : bool

    Returns
    -------
    ndarray of shape (n, 5) or (n, 6)
        NaN for missing times.
    """
    times = times.astype("M8[us]")
    missing = np.isnat(times)
    known = np.where(missing, np.datetime64(0, "us"), times)
    days = known.astype("M8[D]")
    years = known.astype("M8[Y]")
    elapsed = known.astype(np.int64) / _DAY
    day_of_year = (days - years.astype("M8[D]")).astype(np.int64) + 1
    angle = 2 * np.pi * day_of_year / 365.25
    weekday = (days.astype(np.int64) + 3) % 7
    parts = [
        elapsed,
        years.astype(np.int64) + 1970.0,
        np.sin(angle),
        np.cos(angle),
        weekday.astype(float),
    ]
    if with_hour:
        parts.append((known - days).astype(np.int64) / 3600e6)
    table = np.column_stack(parts)
    table[missing] = np.nan
    return table


def has_hours(times):
    """Whether any of the times is not at the start of a day."""
    known = times[~np.isnat(times)]
    return bool((known != known.astype("M8[D]")).any())


def days_of(times):
    """Convert times (n,) to days since 1970, with NaN for missing times."""
    days = times.astype("M8[us]").astype(np.int64) / _DAY
    return np.where(np.isnat(times), np.nan, days)


def times_of(days):
    """Convert days since 1970 to times, the inverse of :func:`days_of`."""
    missing = np.isnan(days)
    micro = np.rint(np.where(missing, 0, days) * _DAY).astype(np.int64)
    return np.where(missing, np.datetime64("NaT"), micro.astype("M8[us]"))


def written_date(time, form):
    """Format a time such that :func:`parse_date` reads it; None if it is missing."""
    time = np.datetime64(time, "us")
    if np.isnat(time):
        return None
    if form == ISO:
        return str(time.item())
    value = time.item().replace(tzinfo=UTC)
    return value.strftime(form.replace("%q", str((value.month + 2) // 3)))
