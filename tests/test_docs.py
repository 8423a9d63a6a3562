"""The documentation builds without warnings, and links to its pages are valid."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import adakern
from adakern import baselines

#: The build takes a minute on a quiet machine.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
DOCS = Path(__file__).parents[1] / "docs"
ESTIMATORS = [
    f"{package.__name__}.{name}"
    for package in (adakern, baselines)
    for name in dir(package)
    if hasattr(getattr(package, name), "fit")
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The folder of HTML pages, built from a copy of ``docs`` as `make docs` does."""
    pytest.importorskip("sphinx")
    source = tmp_path_factory.mktemp("documentation") / "docs"
    built = ("_build", "gallery", "api", "published", "__pycache__")
    shutil.copytree(DOCS, source, ignore=shutil.ignore_patterns(*built))
    pages = source / "_build" / "html"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q"]
    build = subprocess.run(
        [*command, "-b", "html", str(source), str(pages)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert build.returncode == 0, build.stdout + build.stderr
    return pages


def test_every_example_ran(pages):
    examples = sorted(path.stem for path in (DOCS / "examples").glob("plot_*.py"))
    assert len(examples) >= 8
    for name in examples:
        page = (pages / "gallery" / f"{name}.html").read_text()
        assert "Total running time of the script" in page
        # The output contains no warnings and no representations of Matplotlib objects.
        assert not re.search(r"Warning: | object at 0x|Axes: |Text\(", page), name


def test_every_published_run_has_a_page(pages):
    published = [path.parent.name for path in DOCS.glob("results/*/provenance.json")]
    assert published
    listed = (pages / "published" / "index.html").read_text()
    for name in published:
        assert f"{name}.html" in listed
        assert (pages / "published" / f"{name}.html").exists()
    developed, seen = "chosen on this suite, test parts", "This suite was seen before"
    for name, expected in (
        ("uci121_small", [developed]),
        ("uci_regression_tuned", [developed]),
        ("srbench_rivals", []),
        ("srbench", [seen]),
        ("dank_uci", []),
    ):
        page = (pages / "published" / f"{name}.html").read_text()
        assert [remark for remark in (developed, seen) if remark in page] == expected
    assert (
        "../published/dank_uci.html" in (pages / "results" / "README.html").read_text()
    )


def test_pages_load_no_external_resources(pages):
    loads = re.compile(
        r"""<(?:script|img|source|iframe)[^>]*\ssrc="([^"]+)"|<link[^>]*\brel="""
        r"""["'](?:stylesheet|preload|icon)["'][^>]*\shref="([^"]+)\""""
    )
    n_mathjax = 0
    for page in set(pages.rglob("*.html")) - set(pages.glob("_static/**/*.html")):
        for loaded in loads.findall(page.read_text()):
            address = "".join(loaded).partition("?")[0]
            if not address.startswith("data:"):
                assert (page.parent / address).exists(), (page, address)
            n_mathjax += "mathjax" in address
    assert n_mathjax  # MathJax is included
    for style in pages.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", style.read_text())


def test_names_of_estimators_and_formulas_are_links(pages):
    for name, least in (("start", 6), ("guide", 9), ("papers", 30)):
        page = (pages / f"{name}.html").read_text()
        roles = re.findall(r"\{\w+\}`~?([\w.]+)`", (DOCS / f"{name}.md").read_text())
        assert len(set(roles)) >= least
        for role in set(roles):
            assert f'#{role}"' in page or f"#module-{role}" in page, (name, role)


def test_every_estimator_has_a_page(pages):
    for path in ESTIMATORS:
        assert (pages / "api" / f"{path}.html").exists(), path
