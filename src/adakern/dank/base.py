"""Parameter constraints, strategies and attributes shared by both DANK estimators.

The problem and its concave function h are in :mod:`objective <adakern.dank.objective>`;
without a nuclear norm, h is a :mod:`quartic <adakern.dank.quartic>`. The strategy
"exact" is in :mod:`exact <adakern.dank.exact>`; :mod:`decomposed
<adakern.dank.decomposed>` and :mod:`whole <adakern.dank.whole>` use
:mod:`working_set <adakern.dank.working_set>`. Each of the other modules contains the
algorithm after which it is named.
"""

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import StrOptions

from adakern._utils.arrays import as_numpy, asarray_like
from adakern._utils.base import parameters
from adakern._utils.constraints import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, constraints
from adakern._utils.warn import warn_unconverged
from adakern.dank.exact import METHODS, fit_exact
from adakern.dank.extension import EXTENSIONS
from adakern.kernels import KernelMixin
from adakern.svm.one_vs_one import one_or_list

#: Attributes of a model that become fitted attributes, as a list for several models.
FITTED = (
    "eta",
    "adaptive_factor",
    "objective",
    "duality_gap",
    "n_iter",
    "converged",
    "history",
)


@parameters
class DANKEstimator(KernelMixin, BaseEstimator):
    """Parameters and ``rank_`` of the two DANK estimators."""

    C: float = 1.0
    _: KW_ONLY
    kernel: str = "rbf"
    gamma: float | str = "scale"
    eta: float | str = "svm"
    tau: float = 0.01
    extension: str = "hyperkernel"
    n_neighbors: int = 1
    strategy: str = "exact"
    method: str = "newton"
    n_clusters: int | None = None
    fit_intercept: bool = True
    tol: float = 1e-4
    max_iter: int = 2000
    random_state: Any = None
    n_jobs: int | None = None

    _parameter_constraints = constraints(
        "C",
        "tol",
        "max_iter",
        "n_jobs",
        "random_state",
        **KernelMixin._kernel_constraints,
        eta=[StrOptions({"svm"}), *POSITIVE],
        tau=NOT_NEGATIVE,
        extension=[StrOptions(set(EXTENSIONS))],
        n_neighbors=AT_LEAST_ONE,
        strategy=[StrOptions({"exact", "decomposed", "whole"})],
        method=[StrOptions(set(METHODS))],
        n_clusters=[*AT_LEAST_ONE, None],
        fit_intercept=["boolean"],
    )

    @property
    def rank_(self) -> Any:
        """Rank of F; for three or more classes, a list with one rank per pair."""
        return one_or_list(self.models_, "rank")


def training_rows(estimator, X):
    """Return X unchanged if the strategy supports its array library, else as NumPy."""
    if estimator.strategy == "exact":
        return as_numpy(X)
    if estimator.kernel == "precomputed":
        raise ValueError(
            'kernel="precomputed" requires strategy="exact": '
            f"strategy={estimator.strategy!r} needs features; change either of them"
        )
    return X


def fit_model(estimator, X, y, weights, make_dual):
    """Fit one model to the dual of the labels or targets, by the chosen strategy."""
    if estimator.strategy == "exact":
        model = fit_exact(estimator, X, make_dual(y, weights=weights))
    else:
        from adakern.dank.model import fit_on_features  # k-means takes long to import

        weights = None if weights is None else asarray_like(weights, X)
        dual = make_dual(asarray_like(y, X), weights=weights)
        model = fit_on_features(estimator, X, dual)
    if not model.converged:
        warn_unconverged(
            estimator,
            f"a duality gap of {model.duality_gap:.3g} at the objective "
            f"{model.objective:.6g}",
        )
    return model


def fitted_attributes(models, rows):
    """Return the fitted attributes of models trained on these rows."""
    coefficients = np.zeros((len(models), 1 + max(part.max() for part in rows)))
    for row, part, model in zip(coefficients, rows, models, strict=True):
        row[part] = model.dual_coef
    support = np.flatnonzero(coefficients.any(axis=0))
    return {
        "models_": models,
        "support_": support,
        "dual_coef_": coefficients[:, support],
        "intercept_": np.array([model.intercept for model in models]),
        "factor_rows_": rows[0] if len(rows) == 1 else rows,
        **{f"{name}_": one_or_list(models, name) for name in FITTED},
    }
