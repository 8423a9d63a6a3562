"""Numbers and dates in common formats are parsed correctly, or the
ambiguity is noted.
"""

import datetime
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adakern.tables import dates, kinds, numbers, read_rows, read_table
from adakern.tables.cells import Cells, read_cells
from adakern.tables.columns import TableReader
from adakern.tables.read_table import read_as

MARKS = st.sampled_from([".", ","])
#: Thousands separators of programs in several languages.
SEPARATORS = st.sampled_from(["", "other", "'", "\u00a0", "\u202f", "\u2009"])
WRAPS = st.sampled_from(
    ["{}", "{} kg", "{}%", "{} %", "€{}", "{} €", "CHF {}", "{} USD", "$ {}", "{}°C"]
)


def read_column(texts, usual="."):
    cells = Cells.of(np.array(texts, dtype=object), "column 'a'")
    column = kinds.describe(cells, usual=usual)
    values, strays = read_cells(cells, column.kind, column.form)
    return column, values, strays


def format_number(value, digits, mark, separator, sign):
    """Format a number as programs of several languages do."""
    separator = ("," if mark == "." else ".") if separator == "other" else separator
    text = f"{abs(value):,.{digits}f}"
    text = text.replace(",", "\0").replace(".", mark).replace("\0", separator)
    if value >= 0:
        return text
    return {"-": f"-{text}", "−": f"−{text}", "(": f"({text})", "behind": f"{text}-"}[
        sign
    ]


@settings(deadline=None, max_examples=25)
@given(
    st.lists(
        st.integers(-(10**11), 10**11).map(lambda i: i / 10_000),
        min_size=12,
        max_size=40,
        unique_by=lambda v: int(v),
    ),
    st.integers(0, 4),
    MARKS,
    SEPARATORS,
    WRAPS,
    st.sampled_from(["-", "−", "(", "behind"]),
)
def test_formatted_numbers_are_parsed_or_noted_as_ambiguous(
    values, digits, mark, separator, wrap, sign
):
    values = [round(v, digits) for v in values]
    if digits == 0:
        values = [float(int(v)) for v in values]
    if sign == "behind":
        wrap = "{}"
    texts = [
        wrap.format(format_number(v, digits, mark, separator, sign)) for v in values
    ]
    column, parsed, strays = read_column(texts)
    assert column.kind == "numeric", texts
    assert not strays
    if not np.allclose(parsed, values, rtol=1e-12, atol=0):
        assert any("it would be" in note for note in column.notes), column.notes
        other = ("," if column.form[0] == "." else ".") + column.form[1:]
        again = [numbers.parse_number(text, other) for text in texts]
        assert np.allclose(again, values, rtol=1e-12, atol=0)


@settings(deadline=None, max_examples=25)
@given(
    st.lists(
        st.datetimes(datetime.datetime(1971, 1, 1), datetime.datetime(2068, 12, 31)),
        min_size=8,
        max_size=40,
        unique=True,
    ),
    st.sampled_from([f for f in dates.FORMS if "%q" not in f and "%h" not in f]),
)
def test_formatted_dates_are_parsed_or_noted_as_ambiguous(times, form):
    texts = [time.replace(tzinfo=datetime.UTC).strftime(form) for time in times]
    expected = [dates.parse_date(text, form) for text in texts]
    column, parsed, _ = read_column(texts)
    if len(set(texts)) < 8 or column.kind == "numeric":
        return  # 01.2020 is also a number
    assert column.kind == "date", texts
    if not (parsed == np.array(expected, dtype="M8[us]")).all():
        assert "would also fit" in column.notes[0], column.notes


@pytest.mark.parametrize(
    "text",
    [
        "1/28/2024, 9:05:10 AM",  # browsers
        "28.1.2024, 09:05:10",
        "Jan 28, 2024, 9:05:10 AM",  # Strava
        "January 28, 2024 at 9:05:10 AM",
        "28-JAN-24 09.05.10.000000000 AM",  # Oracle
        "28.01.24 09:05:10,000000",
    ],
)
def test_times_written_by_programs(text):
    days = [text.replace("28", f"{day}", 1) for day in range(13, 29)]
    column, values, _ = read_column(days)
    assert column.kind == "date"
    assert values[-1] == np.datetime64("2024-01-28T09:05:10")
    assert (np.diff(values) == np.timedelta64(1, "D")).all()


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("%d.%m.%Y %H:%M Uhr", "2024-02-28T21:05:00"),
        ("%m/%d/%Y, %I:%M:%S\u202f%p", "2024-02-28T21:05:10"),
        ("%d/%m/%Y %I:%M:%S p. m.", "2024-02-28T21:05:10"),
        ("%YW08", "2024-02-19"),
    ],
)
def test_times_and_weeks_of_several_countries(form, expected):
    times = [datetime.datetime(2024, 2, day, 21, 5, 10) for day in range(13, 29)]
    column, values, _ = read_column([time.strftime(form) for time in times])
    assert column.kind == "date"
    assert values[-1] == np.datetime64(expected)


@pytest.mark.parametrize(
    "form",
    [
        *("Q{}/2021", "Q{}-2021", "Q{}-21", "Q{}'21", "Q{} FY21", "{}Q2021", "{}Q21"),
        *("2021/Q{}", "2021-T{}", "2021 Qtr {}", "{}T21", "T{} 2021"),
    ],
)
def test_quarters(form):
    column, values, _ = read_column([form.format(q) for q in (1, 2, 3, 4)] * 5)
    assert column.kind == "date"
    assert values[2] == np.datetime64("2021-07-01")


@pytest.mark.parametrize(
    "form", ["H{}/2021", "H{} 2021", "H{} FY21", "2021-H{}", "2021S{}", "{}H21"]
)
def test_half_years(form):
    column, values, _ = read_column([form.format(h) for h in (1, 2)] * 9)
    assert column.kind == "date"
    assert values[1] == np.datetime64("2021-07-01")
    assert values[2] == np.datetime64(dates.parse_date(form.format(1), column.form))


@pytest.mark.parametrize("form", ["FY{}", "fy {}", "FY 20{}"])
def test_fiscal_years(form):
    column, values, _ = read_column([form.format(year) for year in range(19, 30)])
    assert column.kind == "date"
    assert values[2] == np.datetime64("2021-01-01")


def test_dates_with_optional_seconds():
    """Without a date, 5:10 means minutes and seconds if 1:05:10 occurs as well."""
    times = [f"{day}.02.2024 21:05" + ":10" * (day % 2) for day in range(13, 29)]
    column, values, strays = read_column(times)
    assert column.form == "%d.%m.%Y %H:%M:%S" and not strays
    assert values[-1] == np.datetime64("2024-02-28T21:05:00")
    clocks = [f"1:{k}:10" if k % 2 else f"{k}:10" for k in range(10, 24)]
    column, values, _ = read_column(clocks)
    assert column.form == numbers.BASE_60
    assert values[:2].tolist() == [610, 3600 + 11 * 60 + 10]


@pytest.mark.parametrize(
    "zero_date", ["00.00.0000", "0000-00-00", "0000-00-00 00:00:00"]
)
def test_zero_dates_are_missing(zero_date):
    form = "%d.%m.%Y" if zero_date.endswith(".0000") else "%Y-%m-%d"
    days = [datetime.date(2024, 2, day).strftime(form) for day in range(1, 29)]
    column, values, strays = read_column(
        [zero_date, *days, zero_date, zero_date, zero_date]
    )
    assert column.kind == "date" and np.isnat(values).sum() == 4 and not strays


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{} stycznia 2021 r.", "2021-01-{}"),  # Polish
        ("{} Ocak 2021", "2021-01-{}"),
        ("{} января 2021 г.", "2021-01-{}"),
        ("{}. marts 2021", "2021-03-{}"),
        ("{} augusti 2021", "2021-08-{}"),
        ("{}. tammikuuta 2021", "2021-01-{}"),
        ("{}. června 2021", "2021-06-{}"),
        ("2021. január {}.", "2021-01-{}"),
        ("piątek, {}.01.2021", "2021-01-{}"),
        ("2021년 1월 {}일", "2021-01-{}"),
        ("{}.Jan.2021", "2021-01-{}"),
        ("Jan-{}-2021", "2021-01-{}"),
        ("{} / 01 / 2021", "2021-01-{}"),
        ("{}. 01. 2021", "2021-01-{}"),
        ("{}JAN2021:08:03:07.000", "2021-01-{}T08:03:07"),  # SAS
        ("{}/01/2021 08h03", "2021-01-{}T08:03"),
        ("{}.1.2021 8.03", "2021-01-{}T08:03"),
        ("01/{}/2021 8:03PM", "2021-01-{}T20:03"),
        ("{}-JAN-21 08.03.07 PM", "2021-01-{}T20:03:07"),
        ("202101{} 080307", "2021-01-{}T08:03:07"),
        ("202101{}  08:03:07", "2021-01-{}T08:03:07"),
        ("2021/01/{}T08:03:07", "2021-01-{}T08:03:07"),
        ("[{}/Jan/2021:08:03:07 +0100]", "2021-01-{}T07:03:07"),
        ("{}.01.2021 08:03 MSK", "2021-01-{}T05:03"),
    ],
)
def test_dates_in_further_languages_and_programs(text, expected):
    column, values, strays = read_column([text.format(day) for day in range(13, 29)])
    assert column.kind == "date" and not strays
    assert values[-1] == np.datetime64(expected.format(28))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("janeiro/{}", "{}-01-01"),
        ("Jan'{}", "{}-01-01"),
        ("January, {}", "{}-01-01"),
        ("{}年1月", "{}-01-01"),
        ("{}w5", "{}-W05"),
        ("{}-KW05", "{}-W05"),
        ("KW 05/{}", "{}-W05"),
        ("W05 {}", "{}-W05"),
    ],
)
def test_months_and_weeks(text, expected):
    short = text == "Jan'{}"
    texts = [text.format(year - 2000 * short) for year in range(2013, 2029)]
    column, values, strays = read_column(texts)
    assert column.kind == "date" and not strays
    last = datetime.date.fromisoformat(expected.format(2028))
    assert values[-1] == np.datetime64(last)


def test_ambiguous_two_digit_years_are_noted():
    days = [f"21-{1 + k % 12:02d}-{k:02d}" for k in range(1, 29)]
    column, *_ = read_column(days)
    assert "--form COLUMN=%y-%m-%d would also fit" in column.notes[0]
    column, values, _ = read_column([*days, "21-01-31", "32-01-30"])
    assert column.form == "%y-%m-%d" and values[-1] == np.datetime64("2032-01-30")


def test_month_names_are_unique():
    names = [name for row in dates._MONTHS for name in enumerate(row.split(), start=1)]
    assert len({name for _, name in names}) == len(set(names))


def test_parse_date_of_jira():
    assert dates.parse_date("28/Jan/24 9:05 AM", "%d/%b/%y %I:%M %p").day == 28


@pytest.mark.parametrize("form", dates.FORMS)
def test_parse_date_equals_strptime(form):
    """Except for quarters and weeks, which the standard library does not support."""
    if {"%q", "%V", "%h"} & {form[i : i + 2] for i in range(len(form))}:
        return
    rng = np.random.default_rng(0)
    for seconds in rng.integers(4e7, 3e9, 50):
        text = datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime(form)
        expected = datetime.datetime.strptime(text, form)
        if not {"%Y", "%y"} & {form[i : i + 2] for i in range(len(form))}:
            expected = expected.replace(year=1970)
        assert dates.parse_date(text, form) == expected.replace(tzinfo=None), text


_CREATED = "%b %d %H:%M:%S %z %Y"


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        ("Fri, 27 Nov 2026 15:30:00 GMT", "%d %b %Y %H:%M:%S", (2026, 11, 27, 15, 30)),
        ("27 Nov 2026 15:30:00 +0200", "%d %b %Y %H:%M:%S", (2026, 11, 27, 13, 30)),
        ("1er février 2020", "%d %b %Y", (2020, 2, 1)),
        ("March 3rd, 2021", "%b %d, %Y", (2021, 3, 3)),
        ("Montag, 12.10.2020", "%d.%m.%Y", (2020, 10, 12)),
        ("2 de enero de 2020", "%d de %b de %Y", (2020, 1, 2)),
        ("2020-03-01 12:00:00 UTC", dates.ISO, (2020, 3, 1, 12)),
        (
            "2020/03/01 9:05:00 PM GMT+5:30",
            "%Y/%m/%d %I:%M:%S %p",
            (2020, 3, 1, 15, 35),
        ),
        ("2020-03-01 12:00:00 MEZ", "%Y-%m-%d %H:%M:%S", (2020, 3, 1, 11)),
        ("Sun Mar  1 12:00:00 2020", "%b %d %H:%M:%S %Y", (2020, 3, 1, 12)),
        ("Wed Oct 10 20:19:24 -0700 2018", _CREATED, (2018, 10, 11, 3, 19, 24)),
        ("Sun Mar 01 12:00:00 PDT 2020", _CREATED, (2020, 3, 1, 19)),
        ("01MAR2020:12:30:00", "%d%b%Y:%H:%M:%S", (2020, 3, 1, 12, 30)),
        ("2020m11", "%YM%m", (2020, 11, 1)),
        ("3 mrt 2020", "%d %b %Y", (2020, 3, 3)),
        ("Mrz 20", "%b %y", (2020, 3, 1)),
        ("5 dicembre 2020", "%d %b %Y", (2020, 12, 5)),
        ("2020年3月1日", "%Y年%m月%d日", (2020, 3, 1)),
        ("Montreal 12.10.2020", "%d.%m.%Y", None),
        ("31.02.2020", "%d.%m.%Y", None),
        ("13:30 PM", "%I:%M %p", None),
    ],
)
def test_parse_date(text, form, expected):
    actual = dates.parse_date(text, form)
    assert actual == (expected and datetime.datetime(*expected))


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("{0}h {1:02}m", lambda h, m: 3600 * h + 60 * m),
        ("{0}h{1:02}", lambda h, m: 3600 * h + 60 * m),
        ("PT{0}H{1}M", lambda h, m: 3600 * h + 60 * m),
        ("-{0} hrs {1} min 5 sec", lambda h, m: -3600 * h - 60 * m - 5),
        ("{0} days {1}:00:30.5", lambda h, m: 86400 * h + 3600 * m + 30.5),
        ("-{0} days +{1}:00:30", lambda h, m: -86400 * h + 3600 * m + 30),
        ("-{0} days, {1}:00:30", lambda h, m: -86400 * h + 3600 * m + 30),
        ("P-{0}DT{1}H0M30S", lambda h, m: -86400 * h + 3600 * m + 30),
        ("-{0} days {1}:00:30", lambda h, m: -86400 * h - 3600 * m - 30),
        ("5{0}:{1:02}:15", lambda h, m: 3600 * (50 + h) + 60 * m + 15),
        ("{0}°{1}'30\" S", lambda h, m: -h - m / 60 - 1 / 120),
        ("{0}°{1}′E", lambda h, m: h + m / 60),
        ("{0}.{1:02}° N", lambda h, m: h + m / 100),
    ],
)
def test_durations_and_angles(form, expected):
    pairs = [(1 + k % 9, 7 * k % 60) for k in range(40)]
    column, values, _ = read_column([form.format(*pair) for pair in pairs])
    assert column.kind == "numeric" and "is read as" in column.notes[0]
    np.testing.assert_allclose(values, [expected(*pair) for pair in pairs], rtol=1e-12)


@pytest.mark.parametrize(
    "form",
    ["+49 {0} 1920{1}", "+4917{0}{1}", "+{0} 717 {1}", "+1-{0}-{1}", "+33 ({0}) {1}"],
)
def test_telephone_numbers_are_no_numbers(form):
    cells = [form.format(100 + 7 * k, 204 + 1013 * k) for k in range(30)]
    assert read_column(cells)[0].kind == "categorical"
    assert read_column([*cells, "01711234567"])[0].kind == "categorical"


def test_numbers_with_a_sign_are_numbers():
    for form in ("{:+d}", "{:+.7f}", "{:+,}", "{:+.1f}%"):
        cells = [form.format((-1) ** k * (12345678 + 10**6 * k)) for k in range(30)]
        assert read_column(cells)[0].kind == "numeric"
    assert read_column([f"+{k / 7:.7f}" for k in range(30)])[0].kind == "numeric"


def test_minutes_with_hours_are_durations_but_scores_are_not():
    """28:25 alone may be hours, minutes or goals, and is not a number."""
    times = [f"{50 + k}:15" for k in range(9)] + [f"1:0{k}:15" for k in range(9)]
    _, values, _ = read_column(times)
    assert values[0] == 50 * 60 + 15 and values[-1] == 3600 + 8 * 60 + 15
    results = [f"{25 + k}:{30 - k}" for k in range(15)]
    assert read_column(results)[0].kind == "categorical"
    assert read_column(["1.7 S", "2.5 N"] * 9 + [f"{k} S" for k in range(12)])[
        0
    ].kind != ("numeric")


@pytest.mark.parametrize(
    ("texts", "first"),
    [
        (["100.50 Cr", "20 Dr", "3 DR", "7 CR"], -100.5),
        (["1,23,456", "12,34,567", "99,999", "500"], 123456),
        (["$1.2bn", "$250K", "$3.5M", "€3m", "-"], 1.2e9),
        (["746K", "3M", "227K", "1M"], 746e3),
        (["1.2 Mio", "3 Mrd", "0.5 Mio"], 1.2e6),
        (["<0.5", "0.7", ">200", "1.25"], 0.5),
        ([f"{i} km/h" for i in (285, 90, 31, 18, 7)], 285),
        (["1.5E-3", "2e4"], 1.5e-3),
        (["12.-", "9.–", "7.--"], 12),
        (["-12.- CHF", "9.50 CHF"], -12),
        (["$ -", "-  $", "$4,500"], 0),
        (["2.5", "#NULL!", ".b", "######", "#NV", "k.A.", "–"], 2.5),
        (["2.5", "..", ":", "nd", "7.25"], 2.5),  # World Bank, Eurostat, INSEE
        (["1.5 p", "2.25", "3.75", "8.5 bu", "9.5"], 1.5),
        (["61.5 [60.1-62.9]", "58.2 [57.0-59.9]"], 61.5),
        (["8,336,817[2]", "1,234[a]", "77"], 8336817),
        (["R$ 1,200.50", "US$7", "A$ 12.5", "Rs. 9"], 1200.5),
        (["2.5 M$", "R$3K"], 2.5e6),
    ],
)
def test_amounts_units_and_limits(texts, first):
    texts = [text for text in texts for _ in range(3)] + [f"{i}" for i in range(20, 35)]
    column, values, _ = read_column(texts)
    assert column.kind == "numeric"
    assert values[0] == pytest.approx(first, rel=1e-12)


@pytest.mark.parametrize(
    "texts",
    [
        ["01067", "99423", "01099"],
        ["00123", "0042", "017", "1234"],
        ["1_10", "2_20", "3_30"],
        ["10.0.0.1", "10.0.0.22", "192.168.0.1"],
        ["3/4", "1/2", "5/6"],
        ["12 kg", "13 g", "14 lb"],
        ["12 s", "13 d", "14 s"],
        ["[1, 2]", "[3, 4]"],
        ["R$", "C$"],
        ["12345678901234567", "12345678901234568"],
        ["1½", "2½", "7½"],
        ["1 (low)", "2 (middling)", "3 (high)"],
        ["1+", "1", "1-", "2+", "2", "2-"],
        ["0+", "0-", "A+", "A-", "B+"],
    ],
)
def test_identifiers_and_mixed_units_are_categorical(texts):
    assert read_column(texts * 10)[0].kind == "categorical"


ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")


@pytest.mark.parametrize(
    ("texts", "last"),
    [
        ([f"{i},288E+0{i % 5}" for i in range(1, 30)], 29.288e4),
        ([f"{i}k" if i % 3 else f"{i}50" for i in range(1, 30)], 29e3),
        ([f"{i},5M" if i % 4 else f"{i}" for i in range(1, 30)], 29.5e6),
        ([f"–{i}.5" if i % 2 else f"{i}.5" for i in range(1, 30)], -29.5),
        ([f"－{i}" if i % 2 else f"{i}" for i in range(1, 30)], -29),
        ([f"{i}ʼ234.50" for i in range(1, 30)], 29234.5),
        ([f"{i}\u2007234,50" for i in range(1, 30)], 29234.5),
        ([f"SFr. {i}.50" for i in range(1, 30)], 29.5),
        ([f"{i}.234,50 kr." for i in range(1, 30)], 29234.5),
        ([f"kr. {i}.234,50" for i in range(1, 30)], 29234.5),
        ([f"{i},5 ‰" for i in range(1, 30)], 29.5),
        ([f'{i}.5"' for i in range(1, 30)], 29.5),
        ([f"{i}.5\u200b" for i in range(1, 30)], 29.5),
        ([f"\ufeff{i}.5" for i in range(1, 30)], 29.5),
        ([f'="{i}.5"' for i in range(1, 30)], 29.5),
        ([f"%{i},5" for i in range(1, 30)], 29.5),  # Turkish
        ([f"{i}.5％" for i in range(1, 30)], 29.5),
        ([f"￥{i},234" for i in range(1, 30)], 29234),
        ([f"▲{i},234" if i % 2 else f"{i},234" for i in range(1, 30)], -29234),
        ([f"{i}٫5".translate(ARABIC) for i in range(1, 30)], 29.5),
        ([f"{i}٬234٫5".translate(ARABIC) for i in range(1, 30)], 29234.5),
        ([f"{i}.5万" if i % 3 else f"{i}亿" for i in range(1, 30)], 29.5e4),
        ([f"{i}.5 crore" if i % 2 else f"{i} lakh" for i in range(1, 30)], 29.5e7),
        ([f"{i} billion" if i % 2 else f"{i} million" for i in range(1, 30)], 29e9),
        ([f"{i},5 Tsd." if i % 2 else f"{i} Mio." for i in range(1, 30)], 29.5e3),
        ([f"{i}.5 million" for i in range(1, 30)], 29.5),  # treated as a unit
        ([f"HUF {i},234.50" for i in range(1, 30)], 29234.5),
        ([f"Rp{i}.234.567" for i in range(1, 30)], 29234567),
        ([f"~{i}.5" if i % 4 else f"{i}" for i in range(1, 30)], 29.5),
        ([f"±{i},234" for i in range(1, 30)], 29234),
        ([f"{i}.5 ± 0.{i}" for i in range(1, 30)], 29.5),
        ([f"{i}.5 (0.{i})" for i in range(1, 30)], 29.5),
        ([f"-{i}.5 ({i}.1–{i}.9)" for i in range(1, 30)], -29.5),
        ([f"{i}.5{'*' * (i % 4)}" for i in range(1, 30)], 29.5),
        ([f"{i}.5{' U' * (i % 3 == 2)}" for i in range(1, 30)], 29.5),
        (["#N/A N/A", "#N/A Invalid Security", *(f"{i}.5" for i in range(30))], 29.5),
    ],
)
def test_numbers_written_by_programs(texts, last):
    column, values, strays = read_column(texts)
    assert column.kind == "numeric" and not strays
    assert values[-1] == pytest.approx(last, rel=1e-12)


@pytest.mark.parametrize(
    ("even", "odd"),
    [
        *(("${}", "{} €"), ("{}.50 USD", "{}.50 GBP")),
        *(("{}%", "0.{}"), ("{} %", "{}"), ("{}％", "{}")),
    ],
)
def test_several_units_are_noted(even, odd):
    column, *_ = read_column(
        [(odd if i % 2 else even).format(i) for i in range(10, 40)]
    )
    assert "as if in the same unit" in "\n".join(column.notes)
    column, *_ = read_column([even.format(i) for i in range(10, 40)])
    assert "as if in the same unit" not in "\n".join(column.notes)


@pytest.mark.parametrize("word", ["refused", "n.b.", "weiß nicht", "[NULL]", "†", "x"])
@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("quantity", ["numbers", "dates"])
def test_single_word_among_values_is_missing_with_note(word, typed, quantity):
    """For typed cells, as in a sheet, and for strings."""
    day = datetime.date(2020, 1, 1)
    cells = [k + 0.5 for k in range(40)]
    if quantity == "dates":
        cells = [day + datetime.timedelta(days=k) for k in range(40)]
    cells = [
        word if k % 4 == 0 else c if typed else f"{c}" for k, c in enumerate(cells)
    ]
    column, values, strays = read_column(cells)
    assert column.kind == ("numeric" if quantity == "numbers" else "date")
    assert strays == [word] and np.isnan(values).sum() == 10
    assert (
        f"no {quantity[:-1]} in 10 cells, treated as missing ({word!r}"
        in column.notes[-1]
    )


@pytest.mark.parametrize(
    "texts",
    [
        ["none at all", "3", "5", "7"] * 10,  # codes, including the word
        ["XL" if k % 4 == 0 else f"{32 + k % 24}" for k in range(300)],
        ["other" if k % 5 == 0 else f"{k % 21}" for k in range(300)],
        ["ground" if k % 3 == 0 else f"{k % 17}" for k in range(90)],
        ["beta" if k % 3 == 0 else f"{k % 4}.{k % 7}" for k in range(300)],
        ["low" if k % 4 else f"{k}.5" for k in range(60)],  # most cells are not numeric
        ["n.b." if k % 9 == 0 else "tba" if k % 5 == 0 else f"{k}" for k in range(40)],
        ["none at all" if k % 9 == 0 else f"0{k + 1000}" for k in range(40)],
    ],
)
def test_meaningful_words_make_a_column_categorical(texts):
    assert read_column(texts)[0].kind == "categorical"


def test_thousands_separator_follows_the_file():
    """If other columns have decimal commas, 12.345 is twelve
    thousand; both are noted.
    """
    texts = [f"{i}.{i:03d}" for i in range(100, 160)]
    for usual, first in ((",", 100100), (".", 100.1)):
        column, values, _ = read_column(texts, usual)
        assert values[0] == first
        assert "it would be" in column.notes[0]


@pytest.mark.parametrize(
    ("training", "new", "message"),
    [
        (["12.5%", "3%", "7.25%"], ["0.125", "0.03"], "'0.125' is read as 0.125; it h"),
        (["12.5 %", "3 %", "7.25 %"], [0.125, 0.03], "it has no percent sign"),
        (["0.125", "0.03", "0.5"], ["12.5%"], "'12.5%' is read as 12.5; it has a perc"),
        (["0,5", "12,25", "7,125"], ["1.234"], "with a decimal point it would be 1.2"),
        (
            ["0.5", "12.25", "7.5"],
            ["2,500", "1,000"],
            "a decimal comma it would be 2.5",
        ),
        (["0,5", "12,25", "7,125"], ["1,234", "5"], None),
        (["12.5%", "3%", "7.25%"], ["1%", "-"], None),
        (["0.5", "12.25", "7.5"], [0.25, "1"], None),
    ],
)
@pytest.mark.parametrize("source", ["file", "frame"])
def test_ambiguous_new_cells_warn(tmp_path, training, new, message, source):
    column, *_ = read_column(training * 5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if source == "file":
            read_as(pd.Series(new, dtype=object), "x", "numeric", column.form)
        else:
            table = np.array(training * 5, dtype=object)[:, None]
            reader = TableReader(["x"], np.zeros(1, bool)).fit(table)
            reader.transform(np.array(new, dtype=object)[:, None])
    messages = "\n".join(str(warning.message) for warning in caught)
    assert (message in messages) if message else not messages


def test_very_long_form_raises_and_is_not_compiled():
    """A model file could contain such a form."""
    for form in ("%d" * 500_000, "%d.%m.%Y " * 100_000, "x" * 1_000_000):
        before = dates._pattern.cache_info().misses
        with pytest.raises(ValueError, match="no cell of the form") as raised:
            kinds.column_of_form(Cells.of(["1.2.2020"], "column 'a'"), form)
        assert dates._pattern.cache_info().misses == before
        assert len(str(raised.value)) < 400


def test_booleans_in_several_languages(tmp_path):
    truths = np.arange(30) % 3 == 0
    typed = pd.DataFrame({"b": truths, "y": np.arange(30.0)})
    typed.to_parquet(tmp_path / "t.parquet")
    expected = read_table(tmp_path / "t.parquet", "y")
    for yes, no in (("TRUE", "FALSE"), ("WAHR", "FALSCH"), ("Vrai", "Faux")):
        path = tmp_path / "t.csv"
        typed.assign(b=np.where(truths, yes, no)).to_csv(path, index=False)
        table = read_table(path, "y")
        assert table.kinds == expected.kinds and table.forms["b"] == expected.forms["b"]
        np.testing.assert_array_equal(table.X["b"], truths)
        new = read_rows(path, expected.kinds, expected.forms)
        np.testing.assert_array_equal(new["b"], truths)


def test_parsing_time_is_linear_in_cell_length():
    """Each of these would cause exponential backtracking in a naive pattern."""
    for text in ("1" + "a" * 60 + "<", "1" + " a" * 31, "1," * 31, " " * 60 + "1("):
        assert numbers.parse_number(text) is None
    assert numbers.parse_number("1" * 65) is None
    for form in dates.FORMS:
        assert dates.parse_date("1" + " " * 10_000 + "x", form) is None


@settings(deadline=None, max_examples=25)
@given(st.text(max_size=30), st.sampled_from([".", ",", ".kg", ",amounts"]))
def test_parsers_do_not_raise_on_any_text(text, form):
    value = numbers.parse_number(text.strip(), form)
    assert value is None or isinstance(value, float)
    assert dates.parse_date(text, "%d.%m.%Y") is None or len(text) >= 8


MEASURED = ["<0.5", "0.7", ">200", "1.25", "≤ 0,5", "8", None, "9.5", "17", "31"]
LIMITS = [-1, 0, 1, 0, -1, 0, 0, 0, 0, 0]


def write_measurements(tmp_path, cells, name="rows.csv"):
    """Write a file with a column of measurements and one of numbers."""
    lines = [f'"{cell or ""}",{k},{k % 7}' for k, cell in enumerate(cells)]
    path = tmp_path / name
    path.write_text("\n".join(["crp,age,y", *lines]), encoding="utf-8")
    return path


def test_limits_add_an_indicator_column(tmp_path):
    """In files, new rows and data frames, at the same position."""
    cells = [text and text.replace(",", ".") for text in MEASURED] * 3
    table = read_table(write_measurements(tmp_path, cells), "y", task="regression")
    assert list(table.X) == ["crp", "crp: limit", "age"]
    assert table.X["crp: limit"].tolist() == LIMITS * 3
    account = {column.column: column for column in table.account}
    assert account["crp: limit"].option == "--drop 'crp: limit'"  # quoted for a shell
    assert any("another column marks" in note for note in table.notes)
    assert not any("is read as" in note for note in table.notes)  # noted once
    new = read_rows(
        write_measurements(tmp_path, ["<2", "3", ">5"], "new.csv"),
        table.kinds,
        table.forms,
    )
    assert new["crp: limit"].tolist() == [-1, 0, 1]
    frame = pd.DataFrame({"crp": cells, "age": range(30)})
    reader = TableReader(list(frame), np.zeros(2, bool)).fit(frame.to_numpy(object))
    transformed = reader.transform(frame.to_numpy(object))
    np.testing.assert_array_equal(transformed, table.X.to_numpy(float))
    assert list(reader.source_) == [0, 0, 1]
    assert "limits" in reader.columns_[0].account().use


def test_open_ended_age_class_is_a_limit(tmp_path):
    cells = [f"{age}" if age < 85 else "85+" for age in range(31, 91)]
    column, values, strays = read_column(cells)
    assert column.kind == "numeric" and not strays and values.max() == 85
    assert "limits such as '85+'" in column.notes[0]
    table = read_table(write_measurements(tmp_path, cells), "y", task="regression")
    assert table.X["crp: limit"].tolist() == [0] * 54 + [1] * 6


def test_limit_column_can_be_dropped_and_has_a_unique_name(tmp_path):
    path = write_measurements(tmp_path, ["<0.5", "1", "2", "3.5"] * 5)
    dropped = read_table(path, "y", task="regression", drop=["crp: limit"])
    assert list(dropped.X) == ["crp", "age"]
    path.write_text(path.read_text().replace("age", "crp: limit", 1))
    assert list(read_table(path, "y", task="regression").X) == [
        "crp",
        "crp: limit'",
        "crp: limit",
    ]
    plain = read_table(
        write_measurements(tmp_path, ["0.5", "1.5"] * 9), "y", task="regression"
    )
    assert list(plain.X) == ["crp", "age"]
