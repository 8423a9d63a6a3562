"""Names that a YAML file, possibly somebody else's, is allowed to use; see
`docs/security.md`.
"""

import os
import re
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from adakern._utils.dotted import resolve
from adakern_bench.base.elsewhere_worker import check_handed_on
from adakern_bench.base.paths import ROOT

#: Typed beside the overrides, it lets results and data lie outside the project.
ALLOW_OUTSIDE = "--allow-outside"

#: The folder of the project for estimators of its own.
OWN_METHODS = "methods"

#: Folders of the project that hold code or settings: no result is written there.
CODE_FOLDERS = (
    *("benchmarks", "conf", "config", "docs", "envs", OWN_METHODS, "profiles"),
    *("requirements", "src", "tests", "workflow", "site-packages", "dist-packages"),
)

#: Sets that come with scikit-learn; its generators (``make_...``) take no path either.
EMBEDDED = ("breast_cancer", "diabetes", "digits", "iris", "wine")

#: Names of packages whose distribution has another: looking through all is slow.
RENAMED = {"sklearn": "scikit-learn", "yaml": "PyYAML"}

#: Variables of the environment that a configuration may read, by their beginnings, but
#: for those that look like a password (SLURM_JWT lets its bearer submit jobs).
READABLE = ("ADAKERN_", "SLURM_")
_SECRET = re.compile(r"JWT|TOKEN|KEY|SECRET|PASS", re.IGNORECASE)

#: What is wrong with a setting of :func:`outside_paths`.
IS_OUTSIDE = (
    "is a path that leaves the project or leads among its code, has files read that "
    "the data name, or pickles (memory)"
)
_PATH_NAME = re.compile(
    r"(^|[_.])(memory|cache|dir|directory|folder|home|path|file|filename)$"
)
#: Names of which none is imported: private, or tests.
NOT_PUBLIC = re.compile(r"(^|\.)(_|(conftest|tests|testing|setup)(\.|$))")


def estimator_class(dotted):
    """Return the class that ``_target_`` names; ValueError if it is not allowed.

    Allowed are estimators of packages that the project declares and of its folder
    ``methods``; nothing else is imported.
    """
    from sklearn.base import BaseEstimator

    dotted = str(dotted)
    module = dotted.rpartition(".")[0]
    top = module.partition(".")[0]
    if NOT_PUBLIC.search(dotted):
        why = "it is private, or a test: name a public class"
    elif (
        not is_own(module)
        and canonicalize_name(distribution_of(top) or top) not in _declared()
    ):
        why = (
            f"{top!r} is neither a package that pyproject.toml or "
            "workflow/pyproject.toml declares nor a module of the project's folder "
            f"{OWN_METHODS}/ (a class of one's own: "
            f"{OWN_METHODS}/mine.py, _target_: {OWN_METHODS}.mine.Mine)"
        )
    else:
        try:
            found = resolve(dotted)
        except (ImportError, AttributeError) as error:
            raise ValueError(f"_target_ {dotted!r} cannot be used: {error}") from None
        if isinstance(found, type) and issubclass(found, BaseEstimator):
            return found
        why = "it is not a class derived from sklearn.base.BaseEstimator"
    raise ValueError(f"_target_ {dotted!r} cannot be used: {why}")


@cache
def distribution_of(package):
    """Name of the distribution that provides a package, None if none is installed."""
    name = RENAMED.get(package, package)
    try:
        return version(name) and name
    except (PackageNotFoundError, ValueError):
        return next(iter(packages_distributions().get(package, [])), None)


@cache
def _declared():
    """Distributions that the project's own files declare, without its test tools."""
    found = ["adakern"]
    for file in (ROOT / "pyproject.toml", ROOT / "workflow" / "pyproject.toml"):
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        extras = project.get("optional-dependencies", {})
        found += project["dependencies"]
        found += [one for name in extras if name != "test" for one in extras[name]]
    return {canonicalize_name(Requirement(line).name) for line in found}


def loader_function(dotted):
    """Return the function that a loader names, or raise a ValueError if not allowed."""
    module, _, name = dotted.rpartition(".")
    kind, _, rest = name.partition("_")
    generators = module in ("sklearn.datasets", "adakern.datasets")
    if not (
        (kind == "make" and generators)
        or (kind == "load" and module == "sklearn.datasets" and rest in EMBEDDED)
        or (kind in ("load", "make", "fetch") and is_own(module))
    ):
        raise ValueError("a loader may not use this function")
    return resolve(dotted)


def is_own(module):
    """Whether a module is a Python source file in the project's ``methods/``."""
    folder = ROOT / OWN_METHODS
    base = ROOT.joinpath(*module.split("."))
    sources = (base.with_name(f"{base.name}.py"), base / "__init__.py")
    return module.startswith(f"{OWN_METHODS}.") and any(
        path.is_file() and path.resolve().is_relative_to(folder) for path in sources
    )


def is_inside(path, *, database=False):
    """Whether a path, with links followed, is in the project but not among its code.

    A path that ends in ``.db`` is only allowed for a database.
    """
    try:
        parts = Path(path).expanduser().resolve().relative_to(Path.cwd()).parts
    except (ValueError, RuntimeError):
        return False
    hidden = any(p.startswith(".") or p in CODE_FOLDERS[-2:] for p in parts)
    if not parts or hidden or parts[0] in CODE_FOLDERS:
        return False
    if any(part.endswith(".db") for part in parts):
        return database
    return not Path(parts[0]).is_file()


def links_out(folder):
    """Symbolic links below a folder that point out of it."""
    if not os.path.isdir(folder):
        return
    whole = Path(folder).resolve()
    for above, folders, files in os.walk(folder):
        for path in (Path(above, name) for name in (*folders, *files)):
            if path.is_symlink() and not path.resolve().is_relative_to(whole):
                yield path


def outside_paths(node, where=""):
    """Yield (where, value) of each setting that is a path outside the project."""
    if isinstance(node, dict | list):
        named = node.items() if isinstance(node, dict) else [("", v) for v in node]
        for name, value in named:
            # A value in units of another parameter belongs to the parameter above it.
            # No name ends the search, since names come from the file.
            name = "" if name in ("value", "values") else name
            yield from outside_paths(value, f"{where}.{name}".strip("."))
    elif isinstance(node, str | Path):
        node = str(node)
        # A network address is not a path, but it also leads out of the project
        # (`machines` of LightGBM).
        is_path = (
            _PATH_NAME.search(f".{where}")
            or re.search(r"[/\\\0]|^\.\.$", node)
            or os.path.isfile(node)
        )
        # scikit-learn's vectorizers open the files that a table names, and joblib
        # unpickles what lies in its folder, wherever that is.
        opens = re.search(r"[_.](input\.?=file(name)?$|memory\.?=)", f".{where}={node}")
        if opens or re.search(r":\d+", node) or (is_path and not is_inside(node)):
            yield where, node


def use_own_resolvers(**own):
    """Let interpolations call these functions and read a few variables, no more."""
    from omegaconf import OmegaConf

    OmegaConf.clear_resolvers()  # Hydra's too; OmegaConf registers its own again
    for name, function in {"oc.env": _variable, **own}.items():
        OmegaConf.register_new_resolver(name, function, replace=True)


def _variable(name, default=None):
    if not str(name).startswith(READABLE) or _SECRET.search(name):
        raise ValueError(
            f"a configuration may read {'* and '.join(READABLE)}* of the environment, "
            f"but no passwords, and not {name}; write the value itself"
        )
    if default is None and name not in os.environ:
        raise ValueError(f"the variable {name} is not set")
    return os.environ.get(name, default)


def instantiate(node):
    """Build what a ``_target_`` mapping describes, nested mappings first.

    Hydra's own function would make every job start slowly.

    >>> from adakern_bench.base.dotted import instantiate
    >>> instantiate({"_target_": "sklearn.svm.SVC", "C": 2.0})
    SVC(C=2.0)
    """
    if isinstance(node, list):
        return [instantiate(item) for item in node]
    if not isinstance(node, dict):
        return node
    built = {key: instantiate(value) for key, value in node.items()}
    target = built.pop("_target_", None)
    if target is None:
        return built
    found = estimator_class(target)
    check_handed_on(found, built)
    return found(**built)


def check_all_handed_on(estimator):
    """Apply :func:`check_handed_on` to an estimator and to those nested in it."""
    from sklearn.base import BaseEstimator

    for part in (estimator, *estimator.get_params().values()):
        if isinstance(part, BaseEstimator):
            check_handed_on(type(part), part.get_params(deep=False))
