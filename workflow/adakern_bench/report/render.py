"""Render the templates of this package."""

from jinja2 import Environment, PackageLoader, StrictUndefined

from adakern._utils.printable import printable
from adakern._utils.wording import count
from adakern_bench.report.tables import MARK, RULE, display, heading
from adakern_bench.report.wording import duration

_LATEX_NAMES = {
    "\\": "textbackslash",
    "~": "textasciitilde",
    "^": "textasciicircum",
    "<": "textless",
    ">": "textgreater",
    "|": "textbar",
}
_LATEX = {character: rf"\{character}" for character in "&%$#_{}"}
_LATEX |= {character: rf"\{name}{{}}" for character, name in _LATEX_NAMES.items()}


def latex(text):
    r"""Escape a text for LaTeX.

    >>> from adakern_bench.report.render import latex
    >>> print(latex("50 % of svm_cv@C=2^3"))
    50 \% of svm\_cv@C=2\textasciicircum{}3
    """
    return printable(str(text)).translate(str.maketrans(_LATEX))


def rendered(template, **values):
    """Render a template; values are escaped in HTML."""
    environment = Environment(
        loader=PackageLoader("adakern_bench.report"),
        autoescape=lambda name: str(name).endswith(".html.j2"),
        finalize=printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "display": display,
        "heading": heading,
        "count": count,
        "mark": MARK,
        "rule": RULE,
    }
    environment.filters |= {
        "duration": duration,
        "latex": latex,
        "thousands": "{:,}".format,
    }
    return environment.get_template(template).render(**values)
