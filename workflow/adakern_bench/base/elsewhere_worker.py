"""Worker script for another Python: fits an estimator and predicts, one request per
line.

It needs NumPy, pandas for categorical columns, and nothing from this project.
"""

import importlib
import inspect
import json
import os
import platform
import re
import sys
import traceback
from importlib import metadata

import numpy as np

#: Packages whose versions are recorded besides those of the estimator.
PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "torch")

#: Package whose classes pass on any keyword argument (``**kwargs``) -> the parameters
#: that may be set in addition to the named ones: numbers and options of the fit, but
#: neither files nor network addresses.
PASSED_ON = {
    "lightgbm": re.findall(
        r"\w+",
        """
        alpha bagging_fraction bagging_freq bagging_seed bin_construct_sample_cnt
        boost_from_average boosting cat_l2 cat_smooth data_random_seed
        data_sample_strategy deterministic device device_type drop_rate drop_seed
        early_stopping_min_delta early_stopping_round early_stopping_rounds
        enable_bundle extra_seed extra_trees fair_c feature_fraction
        feature_fraction_bynode feature_fraction_seed feature_pre_filter
        force_col_wise force_row_wise histogram_pool_size interaction_constraints
        is_unbalance lambda_l1 lambda_l2 linear_lambda linear_tree max_bin
        max_bin_by_feature max_cat_threshold max_cat_to_onehot max_delta_step max_drop
        metric min_data_in_bin min_data_in_leaf min_data_per_group min_gain_to_split
        min_sum_hessian_in_leaf monotone_constraints monotone_constraints_method
        monotone_penalty neg_bagging_fraction num_grad_quant_bins num_threads
        objective_seed other_rate path_smooth poisson_max_delta_step
        pos_bagging_fraction quant_train_renew_leaf reg_sqrt scale_pos_weight seed
        sigmoid skip_drop stochastic_rounding top_rate tweedie_variance_power
        uniform_drop use_missing use_quantized_grad verbose verbosity xgboost_dart_mode
        zero_as_missing
        """,
    )
}


def imported(target):
    """Import the class of an estimator."""
    module, _, name = target.rpartition(".")
    kind = getattr(importlib.import_module(module), name)
    if not (isinstance(kind, type) and hasattr(kind, "fit")):
        raise ValueError(f"{name} is not the class of an estimator")
    return kind


def build(node, usual, class_of=imported):
    """Build the object that a ``_target_`` mapping describes, nested ones first.

    Each object gets the `usual` parameters that it accepts and the mapping omits;
    `class_of` returns the class that a ``_target_`` names.
    """
    if isinstance(node, list):
        return [build(item, usual, class_of) for item in node]
    if not isinstance(node, dict):
        return node
    built = {key: build(value, usual, class_of) for key, value in node.items()}
    target = built.pop("_target_", None)
    if target is None:
        return built
    kind = class_of(target)
    check_passed_on(kind, built)
    known = inspect.signature(kind).parameters
    return kind(**{key: value for key, value in usual.items() if key in known} | built)


def check_passed_on(kind, params):
    """Raise a ValueError if a class passes on a parameter that may not be set."""
    kinds = [p.kind for p in inspect.signature(kind.__init__).parameters.values()]
    if kind.__init__ is object.__init__ or inspect.Parameter.VAR_KEYWORD not in kinds:
        return
    bases = [base for base in kind.__mro__ if base.__init__ is not object.__init__]
    named = {
        p.name
        for base in bases
        for p in inspect.signature(base.__init__).parameters.values()
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }
    packages = {base.__module__.partition(".")[0] for base in bases}
    further = {name for p in packages for name in PASSED_ON.get(p, ())}
    for name, value in params.items():
        if name not in named | further:
            raise ValueError(
                f"{kind.__name__} passes {name} on to its library, and a configuration "
                "may not set it"
            )
        # LightGBM joins all parameters into one string, "name=value name=value".
        text = json.dumps(
            value, ensure_ascii=False, separators=(",", ":"), default=lambda _: ""
        )
        if re.search(r'[\s=]|\\[^"]', text):
            raise ValueError(
                f"{name}={value!r}: {kind.__name__} may read a blank or = in the value "
                "as the start of another parameter"
            )


def targets(node):
    """Every ``_target_`` of a mapping and its nested mappings, in order.

    >>> from adakern_bench.base.elsewhere_worker import targets
    >>> targets({"_target_": "a.Outer", "steps": [["x", {"_target_": "b.Inner"}]]})
    ['a.Outer', 'b.Inner']
    """
    here = []
    if isinstance(node, dict):
        here = [node["_target_"]] if "_target_" in node else []
        node = list(node.values())
    parts = node if isinstance(node, list) else []
    return here + [target for part in parts for target in targets(part)]


def fit(asked, given):
    """Return the fitted estimator, the answer, and the classes or None."""
    usual = {"random_state": asked["seed"], "n_jobs": asked["threads"]}
    estimator = build(asked["recipe"], usual)
    estimator.fit(rows(given), given["y"])
    wanted = ("predict_proba", "decision_function")
    methods = [name for name in wanted if hasattr(estimator, name)]
    packages = [target.partition(".")[0] for target in targets(asked["recipe"])]
    answer = {"methods": methods, "versions": versions((*PACKAGES, *packages))}
    return estimator, answer, getattr(estimator, "classes_", None)


def rows(given):
    """Return the received rows: an array, or a DataFrame if there are categories."""
    if "categories" not in given:
        return given["X"]
    import pandas as pd

    frame = pd.DataFrame(given["X"]).add_prefix("x")
    for name, n in zip(frame, given["categories"], strict=True):
        if n:
            codes = frame[name].fillna(-1).astype(int)
            frame[name] = pd.Categorical.from_codes(codes, range(n))
    return frame


def versions(packages):
    """Name -> version of Python and of those packages that are installed."""
    found = {"python": platform.python_version()}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def main(folder, root):
    """Answer requests until standard input is closed."""
    sys.path.append(root)  # for classes of methods/
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # keeps the output of packages out of the answers
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
