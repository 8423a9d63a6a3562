"""Figures made fit to stand inside a page."""

import html
import re

__all__ = ["inline_svg"]


def inline_svg(svg, prefix, label):
    """An SVG file's text made fit to stand inside a page.

    Its black follows the page's text colour, its ids cannot clash with those of another
    figure, it scales down to the page's width and has a text alternative.
    """
    svg = svg[svg.index("<svg") :]
    for ink in ("#000000", "#262626", "#b0b0b0", "#cccccc"):
        svg = svg.replace(ink, "currentColor")
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r"url\(#", f"url(#{prefix}-", svg)
    svg = re.sub(r'href="#', f'href="#{prefix}-', svg)
    label = html.escape(label, quote=True)
    # Matplotlib leaves the colour of text to the default, which is black.
    opening = f'<svg role="img" aria-label="{label}" fill="currentColor" '
    return svg.replace("<svg ", opening, 1)
