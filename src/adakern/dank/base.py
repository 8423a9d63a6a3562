"""What the DANK classifier and regressor share: parameters, strategies, machines."""

from numbers import Integral, Real

from sklearn.utils._param_validation import Interval, StrOptions

from adakern._utils.arrays import as_numpy
from adakern.dank.exact import fit_exact
from adakern.dank.scalable import fit_decomposed, fit_whole
from adakern.kernels import KernelMixin

__all__ = ["STRATEGIES", "DANKMixin"]

#: How one machine is fitted: ``strategy(estimator, X, dual) -> machine``. X holds the
#: rows of the machine (its square Gram matrix when the kernel is precomputed) and dual
#: is an ``adakern.svm.dual.Dual``. A machine offers ``decision_function(X)``, where X
#: are features or precomputed kernel values against the machine's rows, and the
#: attributes ``dual_coef`` (n,), ``intercept``, ``adaptive_factor`` (n, r), ``rank``,
#: ``objective``, ``duality_gap``, ``n_iter``, ``converged`` and ``history``.
STRATEGIES = {
    "exact": fit_exact,
    "decomposed": fit_decomposed,
    "whole": fit_whole,
}

_PUBLISHED = (
    "adaptive_factor",
    "rank",
    "objective",
    "duality_gap",
    "n_iter",
    "converged",
    "history",
)


class DANKMixin(KernelMixin):
    """Constructor, constraints and dispatch of the two DANK estimators."""

    _parameter_constraints = {
        **KernelMixin._kernel_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "coef0": [Interval(Real, 0, None, closed="left")],
        "eta": [StrOptions({"svm"}), Interval(Real, 0, None, closed="neither")],
        "tau": [Interval(Real, 0, None, closed="left")],
        "extension": [
            StrOptions({"reciprocal", "knn", "nystrom", "hyperkernel", "none"})
        ],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "strategy": [StrOptions({"exact", "decomposed", "whole"})],
        "method": [
            StrOptions({"newton", "accelerated", "nesterov", "projected-gradient"})
        ],
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        C=1.0,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1.0,
        eta="svm",
        tau=0.01,
        extension="reciprocal",
        n_neighbors=1,
        strategy="exact",
        method="newton",
        n_clusters=None,
        fit_intercept=True,
        tol=1e-4,
        max_iter=2000,
        random_state=None,
        n_jobs=None,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.eta = eta
        self.tau = tau
        self.extension = extension
        self.n_neighbors = n_neighbors
        self.strategy = strategy
        self.method = method
        self.n_clusters = n_clusters
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _own_arrays(self, X):
        """X as it is where the strategy computes in any array library, else NumPy's."""
        return as_numpy(X) if self.strategy == "exact" else X

    def _fit_machine(self, X, dual):
        return STRATEGIES[self.strategy](self, X, dual)

    def _check_square(self, X):
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                "a precomputed kernel must be a square matrix for fit, got shape "
                f"{X.shape}"
            )

    def _publish(self, machines):
        """Fitted attributes of the machines; a list when there are several."""
        for name in _PUBLISHED:
            values = [getattr(machine, name) for machine in machines]
            setattr(self, f"{name}_", values[0] if len(values) == 1 else values)
