"""Texts of others, made fit for a configuration."""


def one_line(text):
    """One printable line that nothing resolves.

    >>> from adakern_bench.base.plain_text import one_line
    >>> one_line("My ${oc.env:HOME}\\n data")
    'My $ {oc.env:HOME} data'
    """
    text = "".join(c if c.isprintable() else " " for c in " ".join(str(text).split()))
    return text.replace("${", "$ {").replace("???", "? ? ?")
