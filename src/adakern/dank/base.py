"""What the DANK classifier and regressor share: constraints, strategies, attributes.

The problem and its concave function h are in :mod:`objective <adakern.dank.objective>`;
without a nuclear norm h is the :mod:`quartic <adakern.dank.quartic>`. The strategy
"exact" is in :mod:`exact <adakern.dank.exact>`; "decomposed" and "whole" are in
:mod:`decomposed <adakern.dank.decomposed>` and work by :mod:`working_set
<adakern.dank.working_set>`. The other modules are algorithms, each named after itself.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils._param_validation import StrOptions

from adakern._utils.arrays import as_numpy, asarray_like
from adakern._utils.constraints import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, constraints
from adakern._utils.warn import warn_unconverged
from adakern.dank.decomposed import SparseModel, solve_clusters, solve_whole
from adakern.dank.exact import METHODS, fit_exact
from adakern.dank.partition import clusters_for
from adakern.kernels import KernelMixin
from adakern.svm.dual import classification_dual, regression_dual
from adakern.svm.one_vs_one import one_or_list


class DANKMixin(KernelMixin):
    """Strategies and fitted attributes of the two DANK estimators."""

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

    def _own_arrays(self, X):
        """X as it is where the strategy computes in any array library, else NumPy's."""
        if self.strategy == "exact":
            return as_numpy(X)
        if self.kernel == "precomputed":
            raise ValueError(
                f'kernel="precomputed" does not go with strategy={self.strategy!r}, '
                'which works on features; use strategy="exact", or another kernel'
            )
        return X

    def _fit_model(self, X, y):
        """One model by the chosen strategy, for labels -1.0 and 1.0 or targets y."""
        exact = self.strategy == "exact"
        y = y if exact else asarray_like(y, X)
        if is_regressor(self):
            dual = regression_dual(y, self.C, self.epsilon, self.fit_intercept)
        else:
            dual = classification_dual(y, self.C, self.fit_intercept)
        options = {"eta": self.eta, "tol": self.tol, "max_iter": self.max_iter}
        if exact:
            names = ("tau", "method", "extension", "n_neighbors", "random_state")
            options |= {name: getattr(self, name) for name in names}
            model = fit_exact(X, dual, self._kernel_params, **options)
        else:
            solve = solve_clusters if self.strategy == "decomposed" else solve_whole
            n_clusters = min(self.n_clusters or clusters_for(X.shape[0]), X.shape[0])
            options |= {"n_clusters": n_clusters, "random_state": self.random_state}
            solution = solve(
                X, dual, self._kernel_params, n_jobs=self.n_jobs, **options
            )
            model = SparseModel(X, self._kernel_params, solution)
        if not model.converged:
            gap, objective = model.duality_gap, model.objective
            warn_unconverged(
                self, f"a duality gap of {gap:.3g} at the objective {objective:.6g}"
            )
        return model

    def _publish(self, models, rows):
        """Fitted attributes of models on these rows; lists when there are several."""
        coefficients = np.zeros((len(models), 1 + max(part.max() for part in rows)))
        for row, part, model in zip(coefficients, rows, models, strict=True):
            row[part] = model.dual_coef
        self.support_ = np.flatnonzero(coefficients.any(axis=0))
        self.dual_coef_ = coefficients[:, self.support_]
        self.intercept_ = np.array([model.intercept for model in models])
        fields = ["eta", "adaptive_factor", "objective", "duality_gap"]
        for name in [*fields, "n_iter", "converged", "history"]:
            setattr(self, f"{name}_", one_or_list(models, name))

    @property
    def rank_(self) -> Any:
        """Rank of F, for three classes or more a list with one for each pair."""
        return one_or_list(self.models_, "rank")
