"""Text from external sources, made safe for a configuration."""


def bullets(lines):
    """Return lines as a list, one item on each line."""
    return "\n".join(f"  - {line}" for line in lines)


def one_line(text):
    """Return a text as one printable line in which interpolations are disabled.

    >>> from adakern_bench.base.plain_text import one_line
    >>> one_line("My ${oc.env:HOME}\\n data")
    'My $ {oc.env:HOME} data'
    """
    text = "".join(c if c.isprintable() else " " for c in " ".join(str(text).split()))
    return text.replace("${", "$ {").replace("???", "? ? ?")
