"""A short hash of the code that a result depends on."""

import ast
import hashlib
from functools import cache
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from pathlib import Path

__all__ = ["code_version"]


@cache
def code_version(*names):
    """Hash of the sources that the named modules, classes or functions run.

    Modules of adakern count with all of adakern that they import, packages from outside
    with their version; nothing is imported. A result is made again when this changes,
    and not when another estimator family was edited.

    Parameters
    ----------
    *names : str
        Dotted names: ``"adakern.dank.DANKClassifier"``, ``"sklearn.svm.SVC"``.

    Returns
    -------
    str
        12 hexadecimal digits.
    """
    sources, packages = set(), {"numpy", "scipy", "sklearn"}
    for name in names:
        if name.split(".")[0] == "adakern":
            _collect(_defining_module(name), sources)
        else:
            packages.add(name.split(".")[0])
    digest = hashlib.sha256()
    for path in sorted(sources):
        digest.update(path.read_bytes())
    for package in sorted(packages):
        digest.update(f"{package} {_installed_version(package)}".encode())
    return digest.hexdigest()[:12]


@cache
def _installed_version(package):
    distributions = _distributions().get(package)
    return version(distributions[0]) if distributions else "absent"


@cache
def _distributions():
    return packages_distributions()


def _defining_module(name):
    """The module of ``name``; a class re-exported by ``adakern`` is followed."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        module = ".".join(parts[:end])
        if _source(module) is None:
            continue
        if end == len(parts) or not _is_package(module):
            return module
        return _follow(module, parts[end])
    return "adakern"


def _follow(package, attribute):
    """Where the ``__init__`` of a package imports ``attribute`` from."""
    for node in ast.walk(ast.parse(_source(package).read_text())):
        if isinstance(node, ast.ImportFrom) and any(
            (alias.asname or alias.name) == attribute for alias in node.names
        ):
            return _defining_module(f"{_absolute(node, package, True)}.{attribute}")
    return package


def _collect(module, sources):
    """Add the source of ``module`` and of the adakern modules that it imports."""
    path = _source(module)
    if path is None or path in sources:
        return
    sources.add(path)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, module, _is_package(module))
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "adakern":
                _collect(_defining_module(name), sources)


def _absolute(node, module, is_package):
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    parts = parts[: len(parts) - node.level + is_package]
    return ".".join([*parts, node.module] if node.module else parts)


@cache
def _source(module):
    """Source file of an adakern module, or None."""
    root = Path(find_spec("adakern").origin).parent
    path = root.joinpath(*module.split(".")[1:])
    if (path / "__init__.py").is_file():
        return path / "__init__.py"
    return path.with_suffix(".py") if path.with_suffix(".py").is_file() else None


def _is_package(module):
    source = _source(module)
    return source is not None and source.name == "__init__.py"
