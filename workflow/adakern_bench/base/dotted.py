"""Names that a YAML file may use, even one from an untrusted source; see
`docs/security.md`.
"""

import os
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from adakern._utils.dotted import resolve
from adakern._utils.hints import did_you_mean
from adakern_bench.base.elsewhere_worker import check_passed_on
from adakern_bench.base.paths import ROOT

#: Command-line flag that allows results and data outside the project.
ALLOW_OUTSIDE = "--allow-outside"

#: Folder of the project for the user's own estimators.
OWN_METHODS = "methods"

#: Folders of the project with code or settings, where no results are written.
CODE_FOLDERS = (
    *("benchmarks", "conf", "config", "docs", "envs", OWN_METHODS, "profiles"),
    *("requirements", "src", "tests", "workflow", "site-packages", "dist-packages"),
)

#: Data sets bundled with scikit-learn; their loaders take no path, nor do its
#: generators (``make_...``).
EMBEDDED = ("breast_cancer", "diabetes", "digits", "iris", "wine")

#: Package -> distribution where the names differ; searching all distributions is slow.
RENAMED = {"sklearn": "scikit-learn", "yaml": "PyYAML"}

#: Prefixes of the environment variables that a configuration may read, except for names
#: that suggest a secret (with SLURM_JWT anybody can submit jobs).
READABLE = ("ADAKERN_", "SLURM_")
_SECRET = re.compile(r"JWT|TOKEN|KEY|SECRET|PASS", re.IGNORECASE)

#: Why a setting that :func:`outside_paths` yields is refused.
IS_OUTSIDE = (
    "is a path outside the project or among its code, makes the estimator read files "
    "that the data name, or unpickles files (memory)"
)
_PATH_NAME = re.compile(
    r"(^|[_.])(memory|cache|dir|directory|folder|home|path|file|filename)$"
)
#: Dotted names that are never imported: private modules and tests.
NOT_PUBLIC = re.compile(r"(^|\.)(_|(conftest|tests|testing|setup)(\.|$))")


def estimator_class(dotted):
    """Return the class that ``_target_`` names, or raise a ValueError if not allowed.

    Only estimators from packages that the project declares and from its folder
    ``methods`` are allowed; nothing else is imported.
    """
    from sklearn.base import BaseEstimator

    dotted = str(dotted)
    module = dotted.rpartition(".")[0]
    top = module.partition(".")[0]
    if NOT_PUBLIC.search(dotted):
        why = "it is private, or a test: name a public class"
    elif not module:
        why = "a class needs its module, such as sklearn.svm.SVC"
    elif top == OWN_METHODS and not is_own(module):
        why = f"the project has no file {module.replace('.', '/')}.py"
    elif (
        not is_own(module)
        and canonicalize_name(distribution_of(top) or top) not in _declared()
    ):
        why = (
            f"{top!r} is neither a package that pyproject.toml or "
            "workflow/pyproject.toml declares nor a module in the project's folder "
            f"{OWN_METHODS}/ (for your own class: "
            f"{OWN_METHODS}/mine.py, _target_: {OWN_METHODS}.mine.Mine)"
        )
    else:
        try:
            found = resolve(dotted)
        except (ImportError, AttributeError) as error:
            hint = did_you_mean(dotted.rpartition(".")[2], dir(sys.modules.get(module)))
            told = f"_target_ {dotted!r} cannot be used: {error}.{hint}"
            raise ValueError(told) from None
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
    """Distributions that the pyproject.toml files declare, except for tests."""
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
        raise ValueError("it is not a function that a loader may use")
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
    """Whether a path, with symbolic links resolved, is in the project but not among its
    code.

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
    """Yield the symbolic links below a folder that point outside it."""
    if not os.path.isdir(folder):  # nor a name that no folder can have
        return
    whole = Path(folder).resolve()
    for path in Path(folder).rglob("*"):  # follows no links
        if path.is_symlink() and not path.resolve().is_relative_to(whole):
            yield path


def outside_paths(node, where=""):
    """Yield (setting, value) for each value that is, or leads to, a path outside."""
    if isinstance(node, dict | list):
        named = node.items() if isinstance(node, dict) else [("", v) for v in node]
        for name, value in named:
            # Below "value" or "values" the name of the parameter is one level up.
            # Whatever the key, the search goes on: keys come from the file, too.
            name = "" if name in ("value", "values") else name
            yield from outside_paths(value, f"{where}.{name}".strip("."))
    elif isinstance(node, str | Path):
        node = str(node)
        # A network address is not a path, but it also leaves the project (LightGBM's
        # `machines`).
        is_path = (
            _PATH_NAME.search(f".{where}")
            or re.search(r"[/\\\0]|^\.\.$", node)
            or os.path.isfile(node)
        )
        # scikit-learn's vectorizers open files that the table names, and joblib
        # unpickles any file in its cache, wherever that is.
        opens = re.search(r"[_.](input\.?=file(name)?$|memory\.?=)", f".{where}={node}")
        if opens or re.search(r":\d+", node) or (is_path and not is_inside(node)):
            yield where, node


def use_own_resolvers(**own):
    """Restrict interpolations to these functions and a few environment variables."""
    from omegaconf import OmegaConf

    OmegaConf.clear_resolvers()  # also Hydra's; OmegaConf registers its own again
    for name, function in {"oc.env": _variable, **own}.items():
        OmegaConf.register_new_resolver(name, function, replace=True)


def _variable(name, default=None):
    if not str(name).startswith(READABLE) or _SECRET.search(name):
        raise ValueError(
            "a configuration may read the environment variables "
            f"{'* and '.join(READABLE)}*, unless the name suggests a secret; "
            f"{name} is not one of them: write its value instead"
        )
    if default is None and name not in os.environ:
        raise ValueError(f"the environment variable {name} is not set")
    return os.environ.get(name, default)


def check_all_passed_on(estimator):
    """Apply :func:`check_passed_on` to an estimator and to its nested estimators."""
    from sklearn.base import BaseEstimator

    for part in (estimator, *estimator.get_params().values()):
        if isinstance(part, BaseEstimator):
            check_passed_on(type(part), part.get_params(deep=False))
