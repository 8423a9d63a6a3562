"""Functions and classes by their dotted names, as YAML files give them.

A configuration may come from somebody else: it names estimators and figures, and cannot
name anything else. `os.system` is neither.
"""

from functools import cache
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

from adakern._utils.dotted import resolve

__all__ = ["OWN_METHODS", "estimator_class", "instantiate", "targets"]

#: The folder of the project for estimators of its own.
OWN_METHODS = "methods"


def estimator_class(dotted):
    """The class that ``_target_`` names, looked at before it is called.

    Parameters
    ----------
    dotted : str
        Path of a class or function.

    Raises
    ------
    ValueError
        If it is no class with scikit-learn's parameters, or of neither an installed
        package nor the project's folder ``methods``. Of the standard library nothing is
        imported.
    ImportError, AttributeError
        If there is none of that name.
    """
    top = dotted.partition(".")[0]
    if not _may_be_imported(top):
        raise ValueError(
            f"{top!r} is neither an installed package nor the project's folder "
            f"{OWN_METHODS}/ (a class of one's own: {OWN_METHODS}/mine.py, _target_: "
            f"{OWN_METHODS}.mine.Mine)"
        )
    found = resolve(dotted)
    if not isinstance(found, type) or not hasattr(found, "get_params"):
        raise ValueError("it is no estimator class (a class with get_params)")
    return found


@cache
def _may_be_imported(top):
    if top in ("adakern", "adakern_bench", OWN_METHODS):
        return True
    spec = find_spec(top) if top else None
    if spec is None:
        raise ModuleNotFoundError(f"No module named {top!r}", name=top)
    installed = spec.origin and {"site-packages", "dist-packages"} & {
        *Path(spec.origin).parts
    }
    return bool(installed) or top in packages_distributions()


def instantiate(node):
    """Build what a ``_target_`` mapping describes, nested ones first.

    The part of ``hydra.utils.instantiate`` that the YAML files use; importing Hydra
    would cost each job a fifth of a second.

    Parameters
    ----------
    node : object
        Part of a configuration.

    Examples
    --------
    >>> from adakern_bench.records.dotted import instantiate
    >>> instantiate({"_target_": "sklearn.svm.SVC", "C": 2.0})
    SVC(C=2.0)
    """
    if isinstance(node, list):
        return [instantiate(item) for item in node]
    if not isinstance(node, dict):
        return node
    built = {key: instantiate(value) for key, value in node.items()}
    target = built.pop("_target_", None)
    return built if target is None else estimator_class(target)(**built)


def targets(node):
    """Every ``_target_`` of a mapping, those of nested ones too, in their order.

    Parameters
    ----------
    node : object
        Part of a configuration.

    Examples
    --------
    >>> from adakern_bench.records.dotted import targets
    >>> targets({"_target_": "a.Outer", "steps": [["x", {"_target_": "b.Inner"}]]})
    ['a.Outer', 'b.Inner']
    """
    if isinstance(node, dict):
        here = [node["_target_"]] if "_target_" in node else []
        return here + [target for value in node.values() for target in targets(value)]
    if isinstance(node, list):
        return [target for item in node for target in targets(item)]
    return []
