"""Sphinx: `make docs` builds everything from here, without a network."""

import sys
from pathlib import Path

import matplotlib

from adakern import __version__

matplotlib.use("agg")
sys.path.append(str(Path(__file__).parent / "_ext"))

project = "adakern"
author = "the adakern developers"
copyright = author
release = version = __version__

of_sphinx = ["autodoc", "autosummary", "mathjax", "viewcode"]
extensions = [f"sphinx.ext.{name}" for name in of_sphinx]
extensions += ["sphinx-mathjax-offline", "numpydoc", "myst_parser"]
extensions += ["sphinx_gallery.gen_gallery", "published"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
# Tables of results link to folders, which are not pages; docstrings that come from
# scikit-learn refer to its own guide.
suppress_warnings = ["myst.xref_missing", "config.cache", "ref.ref", "ref.term"]
exclude_patterns = [
    "_build",
    "_ext",
    "_templates",
    "examples",
    "results/*/*",
    "gallery/*.ipynb",
    "gallery/*.py",
]
autosummary_generate = True
templates_path = ["_templates"]
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    # Examples print their results; the last expression is an object of Matplotlib.
    "capture_repr": (),
    # Its page would load programs from a content network.
    "write_computation_times": False,
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = f"adakern {version}"
html_static_path = ["_static"]
html_css_files = ["adakern.css"]
html_theme_options = {
    "logo": {"text": html_title},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "secondary_sidebar_items": ["page-toc"],
    "footer_end": [],
    "show_prev_next": False,
}
html_sidebars = {"start": [], "api": []}  # they have no pages below them
html_show_sourcelink = False


def setup(app):
    """Cells of results stay on one line; elsewhere tables wrap and fit the page."""

    def add_style(app, page, *_):
        if page.startswith("published/"):
            app.add_css_file("results.css")

    app.connect("html-page-context", add_style)
