"""A short hash of the code that a result depends on.

A result is made from definitions: the function of its stage, what that calls, the
class of its estimator and all that those name in their turn. The hash is over the
syntax trees of exactly these, so that a comment, a docstring, an annotation, a
reformatting or a change next door leaves it alone, and over the versions of the
packages that they import. Nothing is imported to find this out.
"""

import ast
import hashlib
import sys
from functools import cache
from importlib.metadata import (
    PackageNotFoundError,
    distributions,
    packages_distributions,
    requires,
    version,
)
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement

__all__ = ["code_version"]

#: Functions whose first argument is the name of a module to import.
IMPORTERS = {"import_module", "require"}

#: Parts of a syntax tree that change nothing about what runs.
SILENT = {"annotation", "returns", "type_comment", "type_params", "kind", "simple"}


@cache
def code_version(*names, files=()):
    """Hash of the definitions that the named functions, classes and scripts run.

    Modules of adakern and of the project's own count definition by definition, packages
    from outside with their version and that of what they require.
    """
    walk = _Walk()
    for name in names:
        if isinstance(name, Path):
            walk.follow_script(name)
            continue
        walk.follow(name)
        if name.split(".")[0] in walk.packages:
            walk.packages |= _requirements(name.split(".")[0])
    lines = sorted(walk.digests)
    lines += [f"{package} {_version(package)}" for package in sorted(walk.packages)]
    lines += [hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in files]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


class _Walk:
    """Collects definitions and packages, from one name to all that it leads to."""

    def __init__(self):
        self.digests, self.packages, self.seen = set(), set(), set()

    def follow(self, dotted):
        """Add what a dotted name stands for."""
        top = dotted.partition(".")[0]
        if top in sys.stdlib_module_names:
            return
        if _source(top) is None:
            self.packages.add(top)
            return
        parts = dotted.split(".")
        for end in range(len(parts), 0, -1):
            module = _module(".".join(parts[:end]))
            # `from package import name` may mean a module or what __init__ defines.
            if module and (end == len(parts) or parts[end] in module.definitions):
                self._enter(module)
                self._add(module, parts[end : end + 1] or module.definitions)
                return

    def follow_script(self, path):
        """Add all that a script does."""
        script = _Module(path.stem, path)
        self._enter(script)
        self._add(script, script.definitions)

    def _enter(self, module):
        """What a module does when it is imported, beside defining names."""
        if module.name not in self.seen:
            self.seen.add(module.name)
            for statement in module.effects:
                self._add_statement(module, statement)

    def _add(self, module, names):
        for name in names:
            if (module.name, name) not in self.seen:
                self.seen.add((module.name, name))
                for statement in module.definitions[name]:
                    self._add_statement(module, statement)

    def _add_statement(self, module, statement):
        digest, used, imported = module.facts(statement)
        self.digests.add(digest)
        self._add(module, [name for name in used if name in module.definitions])
        for dotted in imported:
            self.follow(dotted)


class _Module:
    """The top level of one source file: what defines each name, and its effects."""

    def __init__(self, name, path):
        self.name, self.is_package = name, path.name == "__init__.py"
        self.definitions: dict[str, list[ast.stmt]] = {}
        self.effects: list[ast.stmt] = []
        self._facts: dict[ast.stmt, tuple] = {}
        for statement in _one_import_each(ast.parse(path.read_bytes()).body):
            if _is_silent(statement) or _tests(statement, "__name__"):
                continue
            for bound_name, origin in self._starred(statement):
                self.definitions.setdefault(bound_name, []).append(origin)
            bound = _bound_names(statement)
            for bound_name in bound:
                if bound_name != "__all__":
                    self.definitions.setdefault(bound_name, []).append(statement)
            if not bound:
                self.effects.append(statement)

    def _starred(self, statement):
        """Names that ``from package import *`` binds, each with its own import."""
        if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
            base = self._absolute(statement)
            for name in getattr(_module(base), "definitions", ()):
                yield name, ast.ImportFrom(base, [ast.alias(name)], 0)

    def facts(self, statement):
        """(digest, names used, dotted names imported) of one statement."""
        if statement not in self._facts:
            # An import at the top says where a name is from; that is followed, and
            # the order or the grouping of imports changes nothing.
            imports = isinstance(statement, ast.Import | ast.ImportFrom)
            shape = "" if imports else repr(_shape(statement))
            used, imported = set(), set()
            for node in _walk(statement):
                if isinstance(node, ast.Name):
                    used.add(node.id)
                elif isinstance(node, ast.Import):
                    imported |= {alias.name for alias in node.names}
                elif isinstance(node, ast.ImportFrom):
                    base = self._absolute(node)
                    imported |= {f"{base}.{alias.name}" for alias in node.names}
                elif isinstance(node, ast.Call):
                    imported |= _imported_by_call(node)
            digest = hashlib.sha256(shape.encode()).hexdigest()
            self._facts[statement] = digest, sorted(used), sorted(imported)
        return self._facts[statement]

    def _absolute(self, node):
        if not node.level:
            return node.module
        parts = self.name.split(".")
        parts = parts[: len(parts) - node.level + self.is_package]
        return ".".join([*parts, node.module] if node.module else parts)


def _one_import_each(statements):
    """Statements with ``import a, b`` as two, so that using a does not mean b.

    Under ``if TYPE_CHECKING`` a package says where the names are from that it imports
    when they are first used.
    """
    for statement in statements:
        if _tests(statement, "TYPE_CHECKING"):
            yield from _one_import_each(statement.body)
        elif isinstance(statement, ast.Import):
            yield from (ast.Import([alias]) for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            module, level = statement.module, statement.level
            for alias in statement.names:
                yield ast.ImportFrom(module, [alias], level)
        else:
            yield statement


def _bound_names(statement):
    """Names that a top-level statement binds."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    names = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.alias):
            names.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
    return names


def _imported_by_call(call):
    """The package of ``import_module("torch")`` or ``require("torch", ...)``."""
    function = getattr(call.func, "attr", getattr(call.func, "id", ""))
    first = call.args[0] if call.args else None
    if function in IMPORTERS and isinstance(first, ast.Constant):
        return {str(first.value)}
    return set()


def _walk(node):
    """A node and all below it that runs: no annotation."""
    yield node
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and name not in SILENT:
                yield from _walk(child)


def _shape(node):
    """A syntax tree as nested tuples, without what changes nothing.

    Empty fields are left out, so that a Python with new ones says the same.
    """
    if isinstance(node, list):
        return tuple(_shape(item) for item in node if not _is_silent(item))
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        node.body = [_without_annotation(statement) for statement in node.body]
    fields = [
        (name, _shape(value))
        for name, value in ast.iter_fields(node)
        if name not in SILENT and value not in (None, [])
    ]
    return (type(node).__name__, *fields)


def _without_annotation(statement):
    """``x: int = 1`` as ``x = 1``; in a class the annotation may declare a field."""
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return ast.Assign([statement.target], statement.value)
    return statement


def _is_silent(node):
    """Whether a statement is a docstring, or a bare string in its place."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _tests(statement, name):
    """Whether an ``if`` asks for a name, such as that of the module that is run."""
    return isinstance(statement, ast.If) and any(
        isinstance(node, ast.Name) and node.id == name for node in ast.walk(statement.test)
    )


@cache
def _module(name):
    """The parsed module of a dotted name, or None if there is none of our own."""
    top, *rest = name.split(".")
    path = _source(top)
    if path is None:
        return None
    if rest:
        path = path.parent.joinpath(*rest)
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return _Module(name, path) if path.is_file() else None


@cache
def _source(top):
    """Source of a top-level module that is adakern's or the project's own, or None."""
    try:
        spec = find_spec(top)
    except ValueError:  # a module that is being run, such as __main__
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    path = Path(spec.origin)
    installed = {"site-packages", "dist-packages"} & set(path.parts)
    ours = ("adakern", "adakern_bench")
    return None if installed and top not in ours else path


@cache
def _version(package):
    distribution = _distribution(package)
    return version(distribution) if distribution else "absent"


@cache
def _distribution(package):
    """Name of the distribution that brings a package: scikit-learn for sklearn."""
    try:
        version(package)
    except PackageNotFoundError:
        for found in distributions():  # packages_distributions() parses each of them
            files = f"\n{found.read_text('RECORD')}"
            if f"\n{package}/" in files or f"\n{package}.py," in files:
                return found.name
        return next(iter(packages_distributions().get(package, [])), None)
    return package


@cache
def _requirements(package):
    """Packages that a package cannot do without."""
    listed = map(Requirement, requires(_distribution(package) or "pip") or [])
    return {
        requirement.name
        for requirement in listed
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    }
