"""Text of other people, before it reaches a terminal."""

#: Characters that command a terminal or turn the direction of writing.
COMMANDS = {*range(9), *range(11, 32), *range(0x7F, 0xA0)}
COMMANDS |= {*range(0x202A, 0x202F), *range(0x2066, 0x206A)}


def printable(text):
    r"""Text from outside (an error's message) without what a terminal would obey.

    >>> from adakern._utils.printable import printable
    >>> printable("red: \x1b[31m") == "red: \N{REPLACEMENT CHARACTER}[31m"
    True
    """
    if not isinstance(text, str):
        return text
    return text.translate(dict.fromkeys(COMMANDS, "\N{REPLACEMENT CHARACTER}"))
