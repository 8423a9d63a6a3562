"""What the DANK classifier and regressor share: constraints, strategies, attributes.

The problem and its concave function h are in :mod:`objective <adakern.dank.objective>`;
without a nuclear norm h is the :mod:`quartic <adakern.dank.quartic>`. The strategy
"exact" is in :mod:`exact <adakern.dank.exact>`; :mod:`decomposed
<adakern.dank.decomposed>` and :mod:`whole <adakern.dank.whole>` work by
:mod:`working_set <adakern.dank.working_set>`. The other modules are algorithms, each
named after itself.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import StrOptions

from adakern._utils.arrays import as_numpy, asarray_like
from adakern._utils.constraints import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, constraints
from adakern._utils.warn import warn_unconverged
from adakern.dank.exact import METHODS, fit_exact
from adakern.kernels import KernelMixin
from adakern.svm.one_vs_one import one_or_list

#: Fitted attributes that are those of the model, or a list with those of the models.
FITTED = (
    "eta",
    "adaptive_factor",
    "objective",
    "duality_gap",
    "n_iter",
    "converged",
    "history",
)


class DANKEstimator(KernelMixin, BaseEstimator):
    """Constraints of the parameters of the two DANK estimators, and their rank."""

    _parameter_constraints = constraints(
        *("C", "tol", "max_iter", "random_state"),
        **KernelMixin._kernel_constraints,
        eta=[StrOptions({"svm"}), *POSITIVE],
        tau=NOT_NEGATIVE,
        extension=[StrOptions({"hyperkernel", "reciprocal", "knn", "nystrom", "none"})],
        n_neighbors=AT_LEAST_ONE,
        strategy=[StrOptions({"exact", "decomposed", "whole"})],
        method=[StrOptions(set(METHODS))],
        n_clusters=[*AT_LEAST_ONE, None],
        fit_intercept=["boolean"],
        n_jobs=[Integral, None],
    )

    @property
    def rank_(self) -> Any:
        """Rank of F, for three classes or more a list with one for each pair."""
        return one_or_list(self.models_, "rank")


def training_rows(estimator, X):
    """X as it is where the strategy computes in any array library, else NumPy's."""
    if estimator.strategy == "exact":
        return as_numpy(X)
    if estimator.kernel == "precomputed":
        raise ValueError(
            f'kernel="precomputed" does not go with strategy={estimator.strategy!r}, '
            'which works on features; use strategy="exact", or another kernel'
        )
    return X


def fit_model(estimator, X, y, weights, make_dual):
    """One model by the strategy of the estimator, of the dual of labels or targets."""
    kernel = estimator._kernel_params
    options = {"max_iter": estimator.max_iter, "random_state": estimator.random_state}
    if estimator.strategy == "exact":
        names = ("eta", "tau", "method", "extension", "n_neighbors", "tol")
        options |= {name: getattr(estimator, name) for name in names}
        model = fit_exact(X, make_dual(y, weights=weights), kernel, **options)
    else:
        from adakern.dank.model import fit_on_features  # k-means takes long to import

        names = ("eta", "tol", "n_clusters", "n_jobs")
        options |= {name: getattr(estimator, name) for name in names}
        weights = None if weights is None else asarray_like(weights, X)
        dual = make_dual(asarray_like(y, X), weights=weights)
        model = fit_on_features(X, dual, kernel, estimator.strategy, **options)
    if not model.converged:
        gap = model.duality_gap
        objective = model.objective
        warn_unconverged(
            estimator, f"a duality gap of {gap:.3g} at the objective {objective:.6g}"
        )
    return model


def fitted_attributes(models, rows):
    """What models of these rows are known by; lists where there are several."""
    coefficients = np.zeros((len(models), 1 + max(part.max() for part in rows)))
    for row, part, model in zip(coefficients, rows, models, strict=True):
        row[part] = model.dual_coef
    support = np.flatnonzero(coefficients.any(axis=0))
    return {
        "models_": models,
        "support_": support,
        "dual_coef_": coefficients[:, support],
        "intercept_": np.array([model.intercept for model in models]),
        **{f"{name}_": one_or_list(models, name) for name in FITTED},
    }
