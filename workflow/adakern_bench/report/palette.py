"""One colour and one marker for each method, the same in every figure of a report.

The colour tells the family, the marker the method within it.
"""

import re
from typing import NamedTuple

import numpy as np
from matplotlib.colors import to_hex, to_rgb

from adakern._utils.dotted import resolve
from adakern_bench.config.sweeps import base_name

__all__ = ["FAMILIES", "Style", "families_of", "method_styles"]

#: Family -> colour: Okabe and Ito's, told apart by colour-blind readers too; all are
#: readable on white and on near-black.
FAMILIES = {
    "adaptive": "#d55e00",
    "DANK": "#0072b2",
    "KNPL": "#56b4e9",
    "LAB RBF": "#009e73",
    "Nyström": "#cc79a7",
    "multiple kernels": "#e69f00",
    "other baselines": "#8c6d31",
    "scikit-learn": "#7f7f7f",
}
_ROOMS = {
    "adaptive": "adaptive",
    "dank": "DANK",
    "knpl": "KNPL",
    "lab": "LAB RBF",
    "nystrom": "Nyström",
}
_TARGET = re.compile(r"'_target_': '([\w.]+)'")
#: Matplotlib's markers, and the same in text.
_MARKERS = dict(zip("osD^vP*X<>", "●■◆▲▼✚★✖◀▶", strict=True))
#: Where a family has more methods than there are markers, its colour gets darker.
_SHADES = (1.0, 0.8, 0.62, 0.48, 0.36)


class Style(NamedTuple):
    """How a method is drawn."""

    colour: str
    marker: str
    family: str

    @property
    def glyph(self):
        """The marker as a character."""
        return _MARKERS[self.marker]


def families_of(methods):
    """Method -> family, from the classes that the configuration names."""
    return {name: _family(_TARGET.findall(str(entry))) for name, entry in methods.items()}


def _family(targets):
    # A pipeline belongs to the family of the adakern estimator inside it.
    ours = [target for target in targets if target.startswith("adakern.")]
    if ours:
        room, *rest = resolve(ours[0]).__module__.split(".")[1:]
        if room in _ROOMS:
            return _ROOMS[room]
        return "multiple kernels" if "mkl" in "".join(rest) else "other baselines"
    is_sklearn = any(target.startswith("sklearn.") for target in targets)
    return "scikit-learn" if is_sklearn else "other baselines"


def method_styles(names, families=None):
    """A style for each method; no two methods share both colour and marker.

    >>> from adakern_bench.report.palette import method_styles
    >>> styles = method_styles(["dank", "dank@tau=0"], {"dank": "DANK"})
    >>> styles["dank"]
    Style(colour='#0072b2', marker='o', family='DANK')
    >>> styles["dank@tau=0"].marker
    's'
    """
    styles, taken = {}, dict.fromkeys(FAMILIES, 0)
    for name in sorted(set(names)):
        family = (families or {}).get(base_name(name), "other baselines")
        shade, marker = divmod(taken[family], len(_MARKERS))
        taken[family] += 1
        shown = np.multiply(to_rgb(FAMILIES[family]), _SHADES[shade % len(_SHADES)])
        styles[name] = Style(to_hex(shown), list(_MARKERS)[marker], family)
    return styles
