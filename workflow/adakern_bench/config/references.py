"""References in a configuration, such as ``${name}``, and what they expand to."""

import re

#: Functions that a configuration may call, as in ``${powers:2,-5,5}``.
FUNCTIONS = ("oc.env", "powers", "sigmas")

#: Number of values that a call counts for, and of characters that count as a value.
_CALL, _TEXT = 100, 100


def n_referenced(tree):
    """Number of values that the references in nested mappings and lists expand to.

    A ValueError is raised for references whose names contain references.
    """
    sizes = {}
    referenced = []

    def size(node, path):
        """Number of values of a node with those that its references expand to."""
        if path in sizes:
            return sizes[path]
        sizes[path] = 0  # for a cycle; OmegaConf refuses it
        if isinstance(node, dict | list):
            parts = node.items() if isinstance(node, dict) else enumerate(node)
            n = sum(size(part, (*path, key)) for key, part in parts)
        else:
            text = node if isinstance(node, str) else ""
            n_calls, names = _references(text)
            targets = (_find(tree, name, path) for name in names)
            expanded = _CALL * n_calls + sum(size(*target) for target in targets)
            referenced.append(expanded)
            n = len(text) // _TEXT + expanded
        sizes[path] = 1 + n
        return sizes[path]

    size(tree, ())
    return sum(referenced)


def _references(text):
    """Number of calls in a text, and the names of settings to which it refers."""
    # An odd number of backslashes makes ${ literal.
    left = re.sub(r"\\+\$\{", lambda said: "${" * (len(said[0]) % 2 == 0), text)
    names = []
    while innermost := re.findall(r"\$\{([^{}]*)\}", left):
        names += innermost
        left = re.sub(r"\$\{[^{}]*\}", "\0", left)
    parts = [name.partition(":") for name in names]
    functions = [name.strip() for name, is_call, _ in parts if is_call]
    is_nested = any("\0" in name for name, *_ in parts)
    if is_nested or "${" in left or {*functions} - {*FUNCTIONS}:
        raise ValueError(f"Unsupported interpolation in {text[:60]!r}")
    return len(functions), [name for name, is_call, _ in parts if not is_call]


def _find(tree, name, path):
    """Value and path of a setting that is named in the text at a path; those of the
    reference that leads to it, if there is one on the way.
    """
    name = name.strip()
    n_up = len(name) - len(name.lstrip("."))
    keys = [key.strip() for key in re.split(r"[][.]", name) if key.strip()]
    found: tuple = ()
    for key in (*(path[:-n_up] if n_up else ()), *keys):
        if isinstance(tree, str):
            break
        try:
            key = range(len(tree))[int(key)] if isinstance(tree, list) else key
            tree = tree[key]
        except (LookupError, TypeError, ValueError):
            return None, (*path, name)  # OmegaConf has an error for it
        found = (*found, key)
    return tree, found
