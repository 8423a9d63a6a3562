"""Separate environments for methods that need packages which the workflow lacks."""

import hashlib
import platform
import re
import subprocess
import sys

from packaging.utils import canonicalize_name

from adakern._utils.files import read_json
from adakern_bench.base.dotted import NOT_PUBLIC, OWN_METHODS, RENAMED, is_own
from adakern_bench.base.elsewhere_worker import targets
from adakern_bench.base.paths import ROOT

#: Key of a recipe for the Python that fits it; see :func:`python_of`.
PYTHON = "_python_"
#: Folder of the project with the lock files.
ENVS = "envs"
_LOCK = re.compile(rf"{ENVS}/[\w.-]+\.txt")
_VARIABLE = re.compile(r"\$ADAKERN_\w+")


def python_of(python, task):
    """Return what a recipe stores about its Python, which a lock file or an environment
    variable gives; {} if none.

    The name of an environment changes with its lock file and the version of Python.
    """
    if python is None:
        return {}
    name = None
    path = ROOT / python
    if not python.startswith("$") and path.is_file():
        told = path.read_bytes() + platform.python_version().encode()
        name = f"{path.stem}-{hashlib.sha256(told).hexdigest()[:12]}"
    return {PYTHON: {"python": python, "environment": name, "task": task}}


def made_file(name):
    """Path of the file with an environment's Python, or with the reason it has none."""
    return ROOT / ENVS / ".made" / f"{name}.json"


def forget_failed():
    """Let the next run retry the environments whose creation failed."""
    for path in made_file("any").parent.glob("*.json"):
        if "failed" in read_json(path):
            path.unlink()


def is_variable(python):
    """Whether `python` refers to an environment variable that may name a Python."""
    return bool(_VARIABLE.fullmatch(python or ""))


def python_problems(recipe):
    """Yield the reasons why a recipe cannot be fitted with its Python."""
    python = recipe[PYTHON]["python"]
    locked = set()
    if not (_LOCK.fullmatch(python) or is_variable(python)):
        yield (
            f"python={python!r} is neither a lock file of the project, such as "
            f"{ENVS}/mine.txt, nor an environment variable $ADAKERN_... with the path "
            "of a Python"
        )
    elif not python.startswith("$"):
        path = ROOT / python
        if not path.is_file() or not path.resolve().is_relative_to(ROOT / ENVS):
            yield f"python={python!r}: there is no such file in {ENVS}/"
            return
        named = re.findall(r"(?m)^\s*([A-Za-z0-9][\w.-]*)", path.read_text("utf-8"))
        locked = set(map(canonicalize_name, named))
    for target in map(str, targets(recipe)):
        top = target.partition(".")[0]
        packaged = canonicalize_name(RENAMED.get(top, top)) in locked
        is_listed = packaged or is_own(target.rpartition(".")[0])
        if not is_listed or NOT_PUBLIC.search(target):
            yield (
                f"_target_ {target!r} must be a public class in {OWN_METHODS}/ or in a "
                f"package that {python} lists, and not a test"
            )


def make_environment(python, name, log):
    """Create the environment of a lock file; return the content of its `made_file`."""
    folder = made_file(name).with_suffix("")
    program = folder / "bin" / "python"
    steps = (
        [sys.executable, "-m", "venv", "--clear", folder],
        [program, "-m", "pip", "install", "--no-input", "-r", ROOT / python],
    )
    for step in steps:
        done = subprocess.run(
            [str(word) for word in step],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
            check=False,
        )
        print(done.stdout, file=log)
        if done.returncode:
            lines = [line for line in done.stdout.splitlines() if line.strip()]
            told = [line for line in lines if not line.startswith("[notice]")]
            return {"failed": (told or ["pip printed no message"])[-1].strip()}
    return {"python": str(program.relative_to(ROOT))}
