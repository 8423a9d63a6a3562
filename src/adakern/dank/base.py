"""What the DANK classifier and regressor share: constraints, strategies, attributes.

The problem and its concave function h are in :mod:`objective <adakern.dank.objective>`;
without a nuclear norm h is the :mod:`quartic <adakern.dank.quartic>`. The strategy
"exact" is in :mod:`exact <adakern.dank.exact>`; "decomposed" and "whole" are in
:mod:`decomposed <adakern.dank.decomposed>` and work by :mod:`working_set
<adakern.dank.working_set>`. The other modules are algorithms, each named after itself.
"""

from numbers import Integral, Real
from typing import Any

from sklearn.base import is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR
from sklearn.utils._param_validation import Interval, StrOptions

from adakern._utils.arrays import as_numpy, asarray_like
from adakern._utils.constraints import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE
from adakern._utils.warn import warn_user
from adakern.dank.decomposed import fit_decomposed, fit_whole
from adakern.dank.exact import METHODS, fit_exact
from adakern.dank.partition import clusters_for
from adakern.dank.warm_start import SVM_TOL
from adakern.kernels import KernelMixin
from adakern.svm.dual import classification_dual, regression_dual

#: Fitted attributes that are taken from the models, one for each pair of classes.
PUBLISHED = (
    *("eta", "adaptive_factor", "objective", "duality_gap"),
    *("n_iter", "converged", "history"),
)


class DANKMixin(KernelMixin):
    """Strategies and fitted attributes of the two DANK estimators."""

    _parameter_constraints = {
        **KernelMixin._kernel_constraints,
        "C": POSITIVE,
        "degree": AT_LEAST_ONE,
        "coef0": NOT_NEGATIVE,
        "eta": [StrOptions({"svm"}), Interval(Real, 0, None, closed="neither")],
        "tau": NOT_NEGATIVE,
        "extension": [StrOptions({"hyperkernel", "reciprocal", "knn", "nystrom", "none"})],
        "n_neighbors": AT_LEAST_ONE,
        "strategy": [StrOptions({"exact", "decomposed", "whole"})],
        "method": [StrOptions(set(METHODS))],
        "n_clusters": [*AT_LEAST_ONE, None],
        "fit_intercept": ["boolean"],
        "tol": POSITIVE,
        "max_iter": AT_LEAST_ONE,
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def _own_arrays(self, X):
        """X as it is where the strategy computes in any array library, else NumPy's."""
        return as_numpy(X) if self.strategy == "exact" else X

    def _fit_binary(self, X, y):
        """One model by the chosen strategy, for labels -1.0 and 1.0 or targets y."""
        kernel, eta = self._kernel_params, self.eta
        ends = {"tol": self.tol, "max_iter": self.max_iter}
        if self.strategy == "exact":
            extension = {
                "name": self.extension,
                "n_neighbors": self.n_neighbors,
                "random_state": self.random_state,
            }
            options = {"tau": self.tau, "method": self.method, "extension": extension}
            model = fit_exact(X, self._dual(y), kernel, eta=eta, **options, **ends)
        else:
            fit = fit_decomposed if self.strategy == "decomposed" else fit_whole
            model = fit(X, **self._of_clusters(X, y), kernel=kernel, eta=eta, **ends)
        if not model.converged:
            warn_user(
                f"DANK with strategy={self.strategy!r} stopped after {model.n_iter} "
                f"iterations with the duality gap {model.duality_gap:.3g} at the "
                f"objective {model.objective:.6g}, above the relative duality gap "
                f"tol={self.tol:g}; increase max_iter or tol",
                ConvergenceWarning,
            )
        return model

    def _dual(self, y):
        if is_regressor(self):
            return regression_dual(y, self.C, self.epsilon, self.fit_intercept)
        return classification_dual(y, self.C, self.fit_intercept)

    def _of_clusters(self, X, y):
        """What the strategies without a Gram matrix need beside kernel and eta."""
        if self.kernel == "precomputed":
            raise ValueError(
                f'kernel="precomputed" does not go with strategy={self.strategy!r}, '
                'which works on features; use strategy="exact", or another kernel'
            )
        # Over before shrinking has paid: two or three steps for each row.
        options = {"C": self.C, "tol": SVM_TOL, "shrinking": False}
        svm = SVC(**options)
        if is_regressor(self):
            svm = SVR(epsilon=self.epsilon, **options)
        return {
            "dual": self._dual(asarray_like(y, X)),
            "svm": svm,
            "n_clusters": min(self.n_clusters or clusters_for(X.shape[0]), X.shape[0]),
            "random_state": self.random_state,
            "n_jobs": self.n_jobs,
        }

    def _publish(self, models):
        """Fitted attributes of the models; a list when there are several."""
        for name in PUBLISHED:
            setattr(self, f"{name}_", _one_or_list(models, name))

    @property
    def rank_(self) -> Any:
        """Rank of F, for three classes or more a list with one for each pair."""
        return _one_or_list(self._models(), "rank")


def _one_or_list(models, name):
    values = [getattr(model, name) for model in models]
    return values[0] if len(values) == 1 else values
