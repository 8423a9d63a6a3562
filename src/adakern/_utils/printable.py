"""Numbers as people write them, and other people's text before it is shown."""

import re

#: Characters that command a terminal or turn the direction of writing.
COMMANDS = {*range(9), *range(11, 32), *range(0x7F, 0xA0)}
COMMANDS |= {*range(0x202A, 0x202F), *range(0x2066, 0x206A)}


#: What a spreadsheet takes for a formula; "+" and "-" alone, or before a number, are
#: classes and numbers.
FORMULA = re.compile(r"[=@\t\r]|[+-]\s*[^\d\s.,+-]")


def without_formula(text):
    """A cell for a CSV file that no spreadsheet computes: an apostrophe goes before it.

    >>> from adakern._utils.printable import without_formula
    >>> without_formula("=cmd|' /C calc'!A0"), without_formula("+"), without_formula(1)
    ("'=cmd|' /C calc'!A0", '+', 1)
    """
    is_formula = isinstance(text, str) and FORMULA.match(text)
    return f"'{text}" if is_formula else text


def printable(text):
    r"""Text from outside (an error's message) without what a terminal would obey.

    >>> from adakern._utils.printable import printable
    >>> printable("red: \x1b[31m") == "red: \N{REPLACEMENT CHARACTER}[31m"
    True
    """
    if not isinstance(text, str):
        return text
    return text.translate(dict.fromkeys(COMMANDS, "\N{REPLACEMENT CHARACTER}"))


def as_written(value, digits):
    """A number with so many significant digits, without an exponent up to 10^12.

    >>> from adakern._utils.printable import as_written
    >>> as_written(48_012.3, 3), as_written(0.012345, 3), as_written(2e-6, 3)
    ('48,000', '0.0123', '2e-06')
    """
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if 1000 <= abs(rounded) < 1e12 else f"{value:.{digits}g}"
