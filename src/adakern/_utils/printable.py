"""Formatting of numbers, and sanitising of text from outside."""

import re

#: Characters that control a terminal, change the direction of text, or are halves of
#: characters, which no file takes.
COMMANDS = {*range(9), *range(11, 32), *range(0x7F, 0xA0)}
COMMANDS |= {*range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xD800, 0xE000)}
_REPLACED = dict.fromkeys(COMMANDS, "\N{REPLACEMENT CHARACTER}")

#: Maximum number of characters that are kept of a message.
LONGEST = 1000

#: Beginnings of cells that a spreadsheet interprets as formulas. "+" and "-" alone are
#: class labels, and before a number they are signs.
FORMULA = re.compile(r"[=@\t\r]|[+-]\s*[^\d\s.,+-]")


def without_formula(text):
    """Prefix a CSV cell with an apostrophe if a spreadsheet would evaluate it.

    >>> from adakern._utils.printable import without_formula
    >>> without_formula("=cmd|' /C calc'!A0"), without_formula("+"), without_formula(1)
    ("'=cmd|' /C calc'!A0", '+', 1)
    """
    is_formula = isinstance(text, str) and FORMULA.match(text)
    return f"'{text}" if is_formula else text


def printable(text):
    r"""Replace control characters in text from outside, such as an error message.

    >>> from adakern._utils.printable import printable
    >>> printable("red: \x1b[31m") == "red: \N{REPLACEMENT CHARACTER}[31m"
    True
    """
    if not isinstance(text, str):
        return text
    return text.translate(_REPLACED)


def one_line(text):
    r"""Return a printable line of a message from outside, cut if it is long.

    >>> from adakern._utils.printable import one_line
    >>> one_line("no file\n  a.csv"), len(one_line("long" * 1000))
    ('no file a.csv', 1003)
    """
    line = printable(" ".join(text.split()))
    return line[:LONGEST] + "..." * (len(line) > LONGEST)


def shortened(value):
    """Return ``repr(value)``, of which at most 60 characters are kept.

    >>> from adakern._utils.printable import shortened
    >>> shortened("abc"), len(shortened("1" * 5000))
    ("'abc'", 63)
    """
    text = repr(value)
    return text[:60] + "..." * (len(text) > 60)


def as_written(value, digits, zeros=False):
    """Format a number with ``digits`` significant digits, without exponent up to 10^12.

    Trailing zeros of the decimals are kept if ``zeros``, as in a column of a table.

    >>> from adakern._utils.printable import as_written
    >>> as_written(48_012.3, 3), as_written(0.012345, 3), as_written(2e-6, 3)
    ('48,000', '0.0123', '2e-06')
    >>> [as_written(value, 3, zeros=True) for value in (48.04, 5.1, 312)]
    ['48.0', '5.10', '312']
    """
    rounded = float(f"{value:.{digits}g}")
    if 1000 <= abs(rounded) < 1e12:
        return f"{rounded:,.0f}"
    if zeros:
        return f"{value:#.{digits}g}".rstrip(".")
    return f"{value:.{digits}g}"
