"""Formats of dates and times in the cells of a column.

A form is a string that is stored with a model: "ISO8601" or a ``strptime`` format.
"""

import re
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache

import numpy as np

ISO = "ISO8601"
#: Form of dates as integers, such as 20240131, in columns whose names suggest dates.
WHOLE = "%Y%m%d"
WHOLE_TIME = "%Y%m%d%H%M%S"
_SAYS_DATE = re.compile(
    r"(?i)date|datum|fecha|timestamp|(?<![a-z])(day|tag|dat|dt|dob)(?![a-z])"
)
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
    "januari februari mars april maj juni juli augusti september oktober november "
    "december",
    "januar februar marts april maj juni juli august september oktober november "
    "december",
    "tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta "
    "elokuuta syyskuuta lokakuuta marraskuuta joulukuuta",
    "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października "
    "listopada grudnia",
    "sty lut mar kwi maj cze lip sie wrz paź lis gru",
    "ledna února března dubna května června července srpna září října listopadu "
    "prosince",
    "január február március április május június július augusztus szeptember október "
    "november december",
    "ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık",
    "oca şub mar nis may haz tem ağu eyl eki kas ara",
    "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    "янв фев мар апр май июн июл авг сен окт ноя дек",
)
MONTHS = {name: i for row in _MONTHS for i, name in enumerate(row.split(), start=1)}
_WEEKDAYS = (
    "mon tue tues wed thu thur thurs fri sat sun monday tuesday wednesday thursday "
    "friday saturday sunday mo di mi do fr sa so montag dienstag mittwoch donnerstag "
    "freitag samstag sonnabend sonntag lun mar mer jeu ven sam dim lundi mardi "
    "mercredi jeudi vendredi samedi dimanche mié jue vie sáb dom lunes martes "
    "miércoles jueves viernes sábado domingo poniedziałek wtorek środa czwartek piątek "
    "sobota niedziela pazartesi salı çarşamba perşembe cuma cumartesi pazar"
)
_DAYS = [
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y"),
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y年%m月%d日"),
    *("%d %b %Y", "%b %d %Y", "%Y %b %d", "%d %b %y", "%y-%m-%d", "%y/%m/%d"),
]
_CLOCKS = ["", "%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p"]
_OTHERS = [
    *("%m/%Y", "%Y-%m", "%Y/%m", "%m.%Y", "%b %Y", "%b %y", "%Y %b", "%Y年%m月"),
    *("%YQ%q", "Q%q %Y", "Q%q %y", "%qQ%Y", "%qQ%y", "%YM%m", "%GW%V", "W%V %G"),
    *("%YH%h", "H%h %Y", "H%h %y", "%hH%Y", "%hH%y", "FY %Y", "FY %y"),
    *("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p"),
    *("%Y%m%dT%H%M%S", "%Y%m%d %H%M%S", "%Y%m%d %H:%M:%S"),
    *("%d %b %y %I:%M:%S.%f %p", "%d.%m.%y %H:%M:%S,%f"),  # Oracle
    *("%b %d %H:%M:%S %Y", "%b %d %H:%M:%S %z %Y"),
]
FORMS = [
    *(f"{day} {clock}".strip() for clock in _CLOCKS for day in _DAYS),
    *_OTHERS,
]
_PARTS = {
    "%Y": r"(?:FY\s?)?(?P<Y>\d{4})(?:\s?[rг]\.)?",
    "%y": r"(?:FY\s?|['’])?(?P<y>\d{2})",
    "%G": r"(?P<G>\d{4})",
    "%V": r"(?P<V>\d{1,2})",
    "%m": r"(?P<m>\d{1,2})",
    "%d": r" ?(?P<d>\d{1,2})(?:(?<=[123])(?:st|er|nd|rd)|th|\.)?",
    "%b": r"(?P<b>[^\W\d_]{3,}?)\.?",
    "%q": r"(?P<q>[1-4])",
    "%h": r"(?P<h>[12])",
    "%H": r" ?(?P<H>\d{1,2})",
    "%I": r" ?(?P<I>\d{1,2})",
    "%M": r"(?P<M>\d{2})",
    "%S": r"(?P<S>\d{2})",
    "%f": r"(?P<f>\d{1,6})\d{0,3}",
    "%p": r"(?P<p>[aApP])\.?\s?[mM]\.?",
}
_DATE = {"%d", "%b", "%Y", "%y"}
#: Variants of the characters between the parts.
_BETWEEN = {c: rf"\s?\{c}\s?" for c in "./-"} | {
    " ": r"[-\s/]?",
    "年": r"[年년]\s?",
    "月": r"[月월]\s?",
    "日": r"[日일]",
    "Q": r"[-\s/]?(?:QTR\.?\s?|[QT])",
    "H": r"[-\s/]?[HS]",
    "W": r"[-\s/]?(?:[KC]?W|WK)\s?",
}
#: Optional weekday before a date, and time zone after a time.
_WEEKDAY = rf"(?:(?i:{'|'.join(_WEEKDAYS.split())})\.?,?\s+)?"
#: Unambiguous names of time zones, by the hours that they are ahead of UTC.
_NAMES = {
    -8: "pst",
    -7: "mst pdt",
    -6: "cst mdt",
    -5: "est cdt",
    -4: "edt",
    0: "utc gmt z wet",
    1: "west cet mez",
    2: "cest mesz eet",
    3: "eest msk",
    9: "jst kst",
}
_ZONES = {name: hours for hours, names in _NAMES.items() for name in names.split()}
_NAMED_ZONE = rf"(?P<n>{'|'.join(sorted(_ZONES, reverse=True))})"
_PARTS["%z"] = rf"(?:(?:UTC|GMT)?(?P<z>[-+]\d{{1,2}}(?::?\d{{2}})?)|{_NAMED_ZONE})"
_ZONE = rf"(?:\s?{_PARTS['%z']}|\sUhr)?"
#: Two-digit years below this value are in this century, as in POSIX.
_CENTURY = 69
#: Maximum number of characters of a form.
_LONGEST = 100
_ISO_DATE = re.compile(r"\d{4}(-\d{2}-\d{2}|-?W\d{2})")
#: Number of cells from which the form is inferred.
_SAMPLE = 200
#: Names of the numbers that represent a date.
PARTS = ("elapsed days", "year", "sine of season", "cosine of season", "weekday")
HOUR = "hour"
#: Microseconds per day.
_DAY = 86_400e6


@lru_cache(maxsize=1 << 17)  # cells are parsed to find a form, then to be read in it
def parse_date(text, form):
    """Parse a cell in the given form; return a time in UTC, or None."""
    if len(form) > _LONGEST:  # it would take long to compile
        return None
    try:
        if form == ISO:
            return _in_utc(datetime.fromisoformat(text.removesuffix(" UTC")))
        match = _pattern(form).fullmatch(text)
        return _build_time(match.groupdict()) if match else None
    except (ValueError, KeyError, OverflowError, re.error):  # a form given by a user
        return None


def _in_utc(moment):
    """Convert a datetime to UTC if it has a time zone, and remove this."""
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


@cache
def _pattern(form):
    pieces = re.split(r"(%[A-Za-z])", form.replace("%B", "%b"))
    # Without a day, 45:10 could be minutes and seconds, and 8.30 a number.
    colon = r"(?:[:.]|\s?h\s?)" if "%d" in form else ":"
    text = ""
    for left, piece, right in zip(
        ["", *pieces], pieces, [*pieces[1:], ""], strict=False
    ):
        part = _PARTS.get(piece) or _between(left, piece, right, colon)
        seconds_may_lack = "%d" in form and "%f" not in form and text.endswith(colon)
        if piece == "%S" and seconds_may_lack:
            text = text.removesuffix(colon)
            part = f"(?:{colon}{part})?"
        text += part
    before = _WEEKDAY if "%d" in form else ""
    behind = _ZONE if "%M" in form and "%z" not in form else ""
    return re.compile(rf"\[?{before}{text}{behind}\]?", re.IGNORECASE)


def _between(left, text, right, colon):
    """Return the pattern of the characters between two parts of a date."""
    if right in ("%H", "%I") and text in (" ", ":", "T"):
        return r"(?:,|\sat)?[\sT:]"
    if {left, right} <= _DATE and ("%b" in (left, right) or text == " "):
        least = "*" if "%b" in (left, right) else "+"
        return rf"[-\s/.,'’]{least}(?:(?:del?|of)\s)?"
    variants = _BETWEEN | {":": colon}
    return "".join(variants.get(c, re.escape(c)) for c in text)


def _build_time(parts):
    """Construct a time from the named groups of a match."""
    parts = {name: text for name, text in parts.items() if text}
    known = {name: int(text) for name, text in parts.items() if text.isdecimal()}
    if "V" in known:
        return datetime.fromisocalendar(known["G"], known["V"], 1)
    year = known.get("Y", 1970)
    if "y" in known:
        year = known["y"] + (2000 if known["y"] < _CENTURY else 1900)
    month = known.get("m", 1)
    if "b" in parts:
        month = MONTHS[parts["b"].casefold()]
    if "q" in known:
        month = 3 * known["q"] - 2
    if "h" in known:
        month = 6 * known["h"] - 5
    hour = known.get("H", 0)
    if "p" in parts:
        if not 1 <= known["I"] <= 12:
            raise ValueError("no hour of a clock of twelve")
        hour = known["I"] % 12 + 12 * (parts["p"] in "pP")
    micro = int(parts.get("f", "0").ljust(6, "0"))
    minute = known.get("M", 0)
    second = known.get("S", 0)
    day = known.get("d", 1)
    moment = datetime(year, month, day, hour, minute, second, micro)
    return moment - _offset(parts.get("z"), parts.get("n"))


def _offset(zone, name):
    """Offset from UTC of a time zone such as "+02:00" or "CET"."""
    if not zone:
        return timedelta(hours=_ZONES[name.casefold()] if name else 0)
    hours, minutes = re.fullmatch(r"(\d{1,2}):?(\d{2})?", zone[1:]).groups("0")
    size = timedelta(hours=int(hours), minutes=int(minutes))
    return -size if zone[0] == "-" else size


def suggests_date(name):
    """Whether a column's name suggests that it contains dates."""
    return bool(_SAYS_DATE.search(name))


def parse_whole(value):
    """Parse a date from an integer such as 20240131 or its digits, or return None.

    Six more digits are the time of day.
    """
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    text = f"{number:.0f}"
    form = {8: WHOLE, 14: WHOLE_TIME}.get(len(text))
    date = parse_date(text, form) if form and number.is_integer() else None
    first, last = _WHOLE_YEARS
    return date if date and first <= date.year <= last else None


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
    candidates = []
    for form in [ISO, *FORMS]:
        if form == ISO and not any(map(_ISO_DATE.match, sample)):
            continue
        read = [parse_date(text, form) for text in sample]
        is_known = any(n_bad == 0 and read == same for n_bad, _, same in candidates)
        if is_known or 2 * read.count(None) > len(sample):
            continue
        n_bad = sum(
            count for text, count in counts.items() if parse_date(text, form) is None
        )
        if n_bad <= most_bad:
            candidates.append((n_bad, form, read))
    if not candidates:
        return None, None
    best, form, read = min(candidates, key=lambda one: one[0])
    others = (one for n_bad, one, same in candidates if n_bad == best and same != read)
    return form, next(others, None)


def as_time(value):
    """Convert a date of Python, NumPy or pandas to datetime64[us], in UTC."""
    is_moment = isinstance(value, datetime)
    return np.datetime64(_in_utc(value) if is_moment else value, "us")


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
    day_of_year = (days - years.astype("M8[D]")).astype(np.int64) + 1
    angle = 2 * np.pi * day_of_year / 365.25
    weekday = (days.astype(np.int64) + 3) % 7
    parts = [
        days_of(times),
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
    form = form.replace("%h", str((value.month + 5) // 6))
    return value.strftime(form.replace("%q", str((value.month + 2) // 3)))
