"""A short hash of the code that a result depends on.

A result depends on the function of its stage, the class of its estimator, and every
definition that these refer to, directly or indirectly. The hash covers the source of
exactly these definitions and the versions of the packages that they import. Comments,
docstrings, formatting and unrelated code do not alter it. Nothing is imported to
compute it.
"""

import ast
import hashlib
import sys
from collections import defaultdict
from functools import cache
from importlib.metadata import requires, version
from importlib.util import find_spec, resolve_name
from pathlib import Path

from packaging.requirements import Requirement

from adakern_bench.base.dotted import distribution_of
from adakern_bench.base.notes import digest

#: Functions whose first argument is the name of a module to import.
IMPORTERS = {"import_module", "require"}


@cache
def code_version(*names, files=()):
    """Hash of the named functions, classes and scripts, and of all that they use."""
    walk = _Walk()
    for name in names:
        if isinstance(name, Path):
            script = _Module(name.stem, name)
            walk.enter(script, script.names)
            continue
        walk.follow(name)
        if name.split(".")[0] in walk.packages:
            walk.packages |= _requirements(name.split(".")[0])
    lines = sorted(walk.sources)
    lines += [f"{package} {_version(package)}" for package in sorted(walk.packages)]
    lines += [hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in files]
    return digest("\n".join(lines), 12)


def functions_of(module):
    """Names of the functions that a module of the project defines, not imports."""
    found = _module(module)
    defined = found.statements.items() if found else ()
    return [name for name, (first, *_) in defined if isinstance(first, ast.FunctionDef)]


class _Walk:
    """Collects the sources and packages that names refer to, recursively."""

    def __init__(self):
        self.sources = set()
        self.packages = set()
        self.seen = set()

    def follow(self, dotted):
        """Add the definition that a dotted name refers to."""
        parts = dotted.split(".")
        if parts[0] in sys.stdlib_module_names:
            return
        if _source(parts[0]) is None:
            self.packages.add(parts[0])
            return
        for end in range(len(parts), 0, -1):
            module = _module(".".join(parts[:end]))
            # `from package import name` may mean a module or what __init__ defines.
            if module and (end == len(parts) or parts[end] in module.names):
                self.enter(module, parts[end : end + 1] or module.names)
                return

    def enter(self, module, names):
        """Add definitions of a module, and its statements that bind no name."""
        new = {(module.name, name) for name in {None, *names}} - self.seen
        self.seen |= new
        for _, name in new:
            for statement in module.statements.get(name, ()):
                source, used, imported = _facts(module, statement)
                self.sources.add(source)
                self.enter(module, used & module.names)
                for dotted in imported:
                    self.follow(dotted)


class _Module:
    """Top level of a source file: for each name, the statements that define it, or the
    dotted names from which it is imported.
    """

    def __init__(self, name, path):
        self.name = name
        self.package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        self.statements = defaultdict(list)
        for statement in _top_level(ast.parse(path.read_bytes())):
            if isinstance(statement, ast.Import | ast.ImportFrom):
                for bound, dotted in self.imported(statement):
                    self.statements[bound].append(dotted)
                continue
            for bound in _bound_names(statement) or {None}:
                self.statements[bound].append(statement)
        self.names = self.statements.keys() - {None, "__all__"}

    def imported(self, node):
        """Return (name, dotted name that it refers to) for each name of an import."""
        if isinstance(node, ast.Import):
            return [
                (alias.asname or alias.name.split(".")[0], alias.name)
                for alias in node.names
            ]
        base = resolve_name("." * node.level + (node.module or ""), self.package)
        if node.names[0].name == "*":
            return [
                (name, f"{base}.{name}") for name in getattr(_module(base), "names", ())
            ]
        return [
            (alias.asname or alias.name, f"{base}.{alias.name}") for alias in node.names
        ]


@cache
def _facts(module, statement):
    """Return (source, names used, dotted names imported) of a statement or import."""
    used = set()
    imported = set()
    if isinstance(statement, str):
        return "", used, {statement}
    if _BareStringRemover().visit(statement) is None:  # a bare string
        return "", used, imported
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            used.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imported |= {dotted for _, dotted in module.imported(node)}
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in IMPORTERS and isinstance(node.args[0], ast.Constant):
                imported.add(str(node.args[0].value))
    return ast.unparse(statement), used, imported


class _BareStringRemover(ast.NodeTransformer):
    """Removes bare strings, such as docstrings, from a syntax tree."""

    def visit_Expr(self, node):
        text = isinstance(node.value, ast.Constant) and isinstance(
            node.value.value, str
        )
        return None if text else node


def _top_level(tree):
    """Yield the statements of a module, without its ``if __name__ == "__main__"``."""
    for statement in tree.body:
        asked = ast.unparse(statement.test) if isinstance(statement, ast.If) else ""
        if "TYPE_CHECKING" in asked:
            yield from statement.body
        elif "__name__" not in asked:
            yield statement


def _bound_names(statement):
    """Names that a top-level statement binds."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    nodes = ast.walk(statement)
    return {
        n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


@cache
def _module(name):
    """Parsed module of a dotted name, or None if it is not in the project."""
    top, *rest = name.split(".")
    path = _source(top)
    if path and rest:
        path = path.parent.joinpath(*rest)
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return _Module(name, path) if path and path.is_file() else None


@cache
def _source(top):
    """Path of a top-level module if it belongs to adakern or the project, else None."""
    try:
        spec = find_spec(top)
    except ValueError:  # a module that runs as a script, such as __main__
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    path = Path(spec.origin)
    installed = {"site-packages", "dist-packages"} & set(path.parts)
    return None if installed and top not in ("adakern", "adakern_bench") else path


@cache
def _version(package):
    distribution = distribution_of(package)
    return version(distribution) if distribution else "absent"


@cache
def _requirements(package):
    """Distributions that a package requires."""
    listed = map(Requirement, requires(distribution_of(package) or "pip") or [])
    return {
        requirement.name
        for requirement in listed
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    }
