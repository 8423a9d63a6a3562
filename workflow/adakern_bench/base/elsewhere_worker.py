"""Script for another Python: fits one estimator and predicts, one request a line.

It needs NumPy, pandas if there are categorical columns, and nothing of this project.
"""

import importlib
import inspect
import json
import os
import platform
import sys
import traceback
from importlib import metadata

import numpy as np


def build(node, usual):
    """Build what a mapping with ``_target_`` describes, nested mappings first.

    Each gets the `usual` parameters that it accepts and that the mapping omits.
    """
    if isinstance(node, list):
        return [build(item, usual) for item in node]
    if not isinstance(node, dict):
        return node
    built = {key: build(value, usual) for key, value in node.items()}
    if "_target_" not in built:
        return built
    module, _, name = built.pop("_target_").rpartition(".")
    kind = getattr(importlib.import_module(module), name)
    known = inspect.signature(kind).parameters
    return kind(**{key: value for key, value in usual.items() if key in known} | built)


def targets(node):
    """All values of ``_target_`` within a recipe."""
    if isinstance(node, list):
        return [found for item in node for found in targets(item)]
    if not isinstance(node, dict):
        return []
    own = [node["_target_"]] if "_target_" in node else []
    return own + targets(list(node.values()))


def fit(asked, given):
    """Return (fitted estimator, answer, its classes)."""
    usual = {"random_state": asked["seed"], "n_jobs": asked["threads"]}
    estimator = build(asked["recipe"], usual)
    estimator.fit(rows(given), given["y"])
    wanted = ("predict_proba", "decision_function")
    methods = [name for name in wanted if hasattr(estimator, name)]
    answer = {"methods": methods, "versions": versions(targets(asked["recipe"]))}
    return estimator, answer, getattr(estimator, "classes_", None)


def rows(given):
    """Return the rows that were sent: an array, or columns with their categories."""
    if "categories" not in given:
        return given["X"]
    import pandas as pd

    frame = pd.DataFrame(given["X"]).add_prefix("x")
    for name, n in zip(frame, given["categories"], strict=True):
        if n:
            codes = frame[name].fillna(-1).astype(int)
            frame[name] = pd.Categorical.from_codes(codes, range(n))
    return frame


def versions(classes):
    """Versions of Python, of what computes, and of the packages of the classes."""
    found = {"python": platform.python_version()}
    packages = [name.partition(".")[0] for name in classes]
    for name in ("numpy", "scipy", "scikit-learn", "pandas", "torch", *packages):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def main(folder, root):
    """Answer one request after another until the other end is closed."""
    sys.path.append(root)  # for classes of methods/
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of packages must not mix with answers
    estimator = None
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            with np.load(os.path.join(folder, "given.npz")) as file:
                given = dict(file)
            if asked["what"] == "fit":
                estimator, answer, found = fit(asked, given)
            else:
                answer = {}
                found = getattr(estimator, asked["what"])(rows(given))
            if found is not None:
                found = np.asarray(found)
                if found.dtype == object:
                    found = found.astype(str)
                np.save(os.path.join(folder, "found.npy"), found)
                answer["array"] = True
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
