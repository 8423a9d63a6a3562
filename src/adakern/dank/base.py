"""What the DANK classifier and regressor share: parameters and strategies.

Where to find what: h, which all exact methods maximise, is in :mod:`saddle
<adakern.dank.saddle>`; h without a nuclear norm, with its gradient and certificate, in
:mod:`quartic <adakern.dank.quartic>`. The strategy "exact" is in :mod:`exact
<adakern.dank.exact>`, the papers' own methods in :mod:`papers <adakern.dank.papers>`,
"decomposed" in :mod:`decomposed <adakern.dank.decomposed>` and "whole" in :mod:`whole
<adakern.dank.whole>`; both work by :mod:`working_set <adakern.dank.working_set>`.
"""

import inspect
from numbers import Integral, Real

import numpy as np
from sklearn.base import is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR
from sklearn.utils._param_validation import Interval, StrOptions

from adakern._utils.arrays import as_numpy, asarray_like
from adakern._utils.threads import one_blas_thread
from adakern._utils.warn import warn_user
from adakern.dank import warm_start
from adakern.dank.checks import check_kernel, reserve
from adakern.dank.decomposed import decompose
from adakern.dank.exact import maximise
from adakern.dank.extension import make_extension
from adakern.dank.machines import DecomposedMachine, ExactMachine, WholeMachine
from adakern.dank.partition import clusters_for
from adakern.dank.saddle import make_saddle
from adakern.dank.whole import solve_whole
from adakern.kernels import KernelMixin
from adakern.svm.dual import classification_dual, regression_dual

__all__ = ["DANKMixin", "shares_parameters"]


class DANKMixin(KernelMixin):
    """Parameters and strategies of the two DANK estimators.

    Parameters
    ----------
    C : float, default=1.0
        Bound of the dual variables, positive.
    kernel : {"rbf", "laplacian", "l2-laplacian", "tl1", "poly", "linear", \
            "precomputed"}, default="rbf"
        See :func:`adakern.kernels.gram_matrix`. It must be positive semidefinite, which
        "tl1" is on some data only: fit checks it and says how negative the matrix is.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient, as in scikit-learn's SVC.
    degree : int, default=3
        Of the kernel "poly".
    coef0 : float, default=1.0
        Of the kernel "poly"; not negative.
    eta : "svm" or float, default="svm"
        Weight that holds F near the matrix of ones, positive. "svm" is the papers'
        rule, the squared norm of the coefficients of the support vector machine; small
        values (below C^2) let F adapt more.
    tau : float, default=0.01
        Weight of the nuclear norm of F, not negative: the larger, the lower the rank.
        With 0, F is known in closed form.
    extension : {"hyperkernel", "reciprocal", "knn", "nystrom", "none"}, \
            default="hyperkernel"
        F for new rows: non-negative regression on hyper-kernels; that of the best
        reciprocal nearest neighbour, which is the papers' rule; the mean over the
        nearest neighbours; the Nyström extension of its eigenvectors; or F = 1. The
        papers' rule looks at all rows that are predicted together, so its answer for a
        row depends on the rows beside it; that of the other rules does not.
    n_neighbors : int, default=1
        Of the extension "knn".
    strategy : {"exact", "decomposed", "whole"}, default="exact"
        "exact" stores the n x n Gram matrix. The others do not, for large data; they
        have tau = 0 whatever ``tau`` says, and F' = 1 for new rows whatever
        ``extension`` says. "decomposed" solves k-means clusters on their own, without
        an intercept, and answers a row by its own cluster (section 4 of [1]_); "whole"
        solves all rows together, started from the clusters. With these two, tensors
        of PyTorch are computed where they are, under scikit-learn's
        ``array_api_dispatch``.
    method : {"newton", "accelerated", "nesterov", "projected-gradient"}, \
            default="newton"
        Of the strategy "exact". Rounds of a model of the problem, solved to optimality;
        accelerated ascent with backtracking and restart from the support vector
        machine's solution; the papers' two methods with fixed step lengths.
    n_clusters : int, default=None
        Of the strategies "decomposed" and "whole". When None, the number that
        :func:`adakern.dank.partition.clusters_for` gives for 1 GiB and ten minutes.
    fit_intercept : bool, default=True
        Whether the decision function has an intercept; "decomposed" has none.
    tol : float, default=1e-4
        Duality gap to reach, as a share of the machine's dual objective.
    max_iter : int, default=2000
        Iterations of the method.
    random_state : int, RandomState instance or None, default=None
        Of the clusters and of the hyper-kernel's anchors, whose seed is fixed when
        None.
    n_jobs : int, default=None
        Clusters solved at a time, by joblib, threads unless
        ``joblib.parallel_config`` says otherwise; it does not change the result.

    Attributes
    ----------
    gamma_ : float
        The kernel coefficient that was used.
    eta_ : float
        The weight that was used; for three classes or more this and all below are
        lists with one entry for each pair.
    adaptive_factor_ : ndarray of shape (n, r)
        Z with F = Z Z', None for "decomposed" and "whole".
    rank_ : int
        Of F; computed when it is first asked for.
    objective_ : float
        Value of the saddle function at the solution.
    duality_gap_ : float
        What the objective can still be below the optimum, at most.
    n_iter_ : int
    converged_ : bool
        Whether the gap is below the tolerance.
    history_ : dict of lists
        Columns "objective", "gap", "step" and "seconds", one entry for each iteration;
        "objective" and "gap" for "decomposed", as a list with a dict for each cluster,
        and "whole".
    """

    _parameter_constraints = {
        **KernelMixin._kernel_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "coef0": [Interval(Real, 0, None, closed="left")],
        "eta": [StrOptions({"svm"}), Interval(Real, 0, None, closed="neither")],
        "tau": [Interval(Real, 0, None, closed="left")],
        "extension": [
            StrOptions({"hyperkernel", "reciprocal", "knn", "nystrom", "none"})
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
        extension="hyperkernel",
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

    def _fit_machine(self, X, y):
        """One machine by the chosen strategy, for labels -1.0 and 1.0 or targets y."""
        machine = {
            "exact": self._fit_exact,
            "decomposed": self._fit_decomposed,
            "whole": self._fit_whole,
        }[self.strategy](X, y)
        if not machine.converged:
            warn_user(
                f"DANK with strategy={self.strategy!r} stopped after {machine.n_iter} "
                f"iterations with the duality gap {machine.duality_gap:.3g} at the "
                f"objective {machine.objective:.6g}, above the share tol={self.tol:g} "
                "of the objective of its machine; increase max_iter or tol",
                ConvergenceWarning,
            )
        return machine

    def _dual(self, y):
        if is_regressor(self):
            return regression_dual(y, self.C, self.epsilon, self.fit_intercept)
        return classification_dual(y, self.C, self.fit_intercept)

    def _fit_exact(self, X, y):
        reserve(len(y))
        with one_blas_thread(len(y)):
            return self._fit_on_gram_matrix(X, y)

    def _fit_on_gram_matrix(self, X, y):
        X = np.asarray(X, dtype=np.float64)  # kernels of float32 lose the certificate
        K, dual = self._gram(X), self._dual(y)
        check_kernel(K, self.kernel)
        svm = warm_start.support_vector_machine(K, dual)
        eta = self.eta
        if eta == "svm":
            d = dual.coefficients(svm)
            eta = warm_start.svm_eta(
                [d], self.C, lambda: [warm_start.machine_without_intercept(K, dual, d)]
            )
        start = warm_start.best_multiple(K, dual, eta, svm, self.tol)
        saddle = make_saddle(K, dual, eta, self.tau, self.tol)
        ends = {"tol": self.tol, "max_iter": self.max_iter}
        solution = maximise(saddle, start, method=self.method, **ends)
        rows = None if self.kernel == "precomputed" else X
        extension = make_extension(
            self.extension,
            saddle.factor(solution.point),
            solution.point.d,
            K,
            rows,
            self._kernel_params,
            eta=eta,
            tau=self.tau,
            n_neighbors=self.n_neighbors,
            random_state=self.random_state,
        )
        return ExactMachine(rows, self._kernel_params, saddle, solution, extension)

    def _fit_decomposed(self, X, y):
        result = decompose(X, eta=self.eta, **self._decomposing(X, y))
        return DecomposedMachine(X, result, self._kernel_params)

    def _fit_whole(self, X, y):
        solution, eta = solve_whole(X, eta=self.eta, **self._decomposing(X, y))
        return WholeMachine(X, solution, eta, self._kernel_params)

    def _decomposing(self, X, y):
        """What the strategies without a Gram matrix are called with."""
        if self.kernel == "precomputed":
            raise ValueError(
                f'kernel="precomputed" does not go with strategy={self.strategy!r}, '
                'which works on features; use strategy="exact", or another kernel'
            )
        dual = self._dual(asarray_like(y, X))
        # Over before shrinking has paid: two or three steps for each row.
        options = {"C": self.C, "tol": warm_start.SVM_TOL, "shrinking": False}
        svm = SVC(**options)
        if dual.is_regression:
            svm = SVR(epsilon=self.epsilon, **options)
        return {
            "dual": dual,
            "svm": svm,
            "kernel": self._kernel_params,
            "n_clusters": min(self.n_clusters or clusters_for(X.shape[0]), X.shape[0]),
            "tol": self.tol,
            "max_iter": self.max_iter,
            "random_state": self.random_state,
            "n_jobs": self.n_jobs,
        }

    def _publish(self, machines):
        """Fitted attributes of the machines; a list when there are several."""
        for name in (
            "eta",
            "adaptive_factor",
            "objective",
            "duality_gap",
            "n_iter",
            "converged",
            "history",
        ):
            setattr(self, f"{name}_", _one_or_list(machines, name))

    @property
    def rank_(self):
        """Rank of F, for three classes or more a list with one for each pair."""
        return _one_or_list(self._machines(), "rank")


def _one_or_list(machines, name):
    values = [getattr(machine, name) for machine in machines]
    return values[0] if len(values) == 1 else values


def shares_parameters(estimator):
    """Gives a class the parameters of ``DANKMixin`` beside those it adds.

    Its ``__init__`` names the additional ones and takes all others as ``**shared``; the
    signature and the sections of the docstring that people and scikit-learn read then
    hold both. A line "<name> of DANKMixin" in the docstring stands for that section.
    """
    init = estimator.__init__
    added = [
        parameter
        for parameter in inspect.signature(init).parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    shared = list(inspect.signature(DANKMixin.__init__).parameters.values())
    init.__signature__ = inspect.Signature([*shared, *added])
    doc, shared_doc = estimator.__doc__, DANKMixin.__doc__
    if not doc or not shared_doc:  # python -OO leaves docstrings out
        return estimator
    for name in ("Parameters", "Attributes"):
        title = f"{name}\n    {'-' * len(name)}\n"
        section = shared_doc.partition(title)[2].split("\n\n")[0].strip()
        doc = doc.replace(f"<{name} of DANKMixin>", section)
    estimator.__doc__ = doc
    return estimator
