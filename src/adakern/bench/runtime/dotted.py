"""Functions and classes by their dotted names, as YAML files give them."""

from importlib import import_module

__all__ = ["instantiate", "resolve", "targets"]


def resolve(dotted):
    """The function or class of a dotted name such as ``package.module.name``."""
    module, _, name = dotted.rpartition(".")
    return getattr(import_module(module), name)


def instantiate(node):
    """Build what a ``_target_`` mapping describes, nested ones first.

    The part of ``hydra.utils.instantiate`` that the YAML files use; importing Hydra
    would cost each job a fifth of a second.

    Examples
    --------
    >>> from adakern.bench.runtime.dotted import instantiate
    >>> instantiate({"_target_": "sklearn.svm.SVC", "C": 2.0})
    SVC(C=2.0)
    """
    if isinstance(node, list):
        return [instantiate(item) for item in node]
    if not isinstance(node, dict):
        return node
    built = {key: instantiate(value) for key, value in node.items()}
    target = built.pop("_target_", None)
    return built if target is None else resolve(target)(**built)


def targets(node):
    """Every ``_target_`` of a mapping, those of nested ones too, in their order.

    Examples
    --------
    >>> from adakern.bench.runtime.dotted import targets
    >>> targets({"_target_": "a.Outer", "steps": [["x", {"_target_": "b.Inner"}]]})
    ['a.Outer', 'b.Inner']
    """
    if isinstance(node, dict):
        own = [node["_target_"]] if "_target_" in node else []
        return own + [target for value in node.values() for target in targets(value)]
    if isinstance(node, list):
        return [target for item in node for target in targets(item)]
    return []
