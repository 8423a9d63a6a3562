"""DANK in epsilon support vector regression."""

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from adakern._utils.arrays import answer_like, as_numpy, float_types
from adakern._utils.validation import finite_answer, validate_data
from adakern.dank.base import DANKMixin
from adakern.svm.dual import regression_dual

__all__ = ["DANKRegressor"]


class DANKRegressor(DANKMixin, RegressorMixin, BaseEstimator):
    """Epsilon support vector regression with a data-adaptive nonparametric kernel.

    The Gram matrix K of a support vector regression is replaced by F∘K, where the
    positive semidefinite matrix F is learned with the machine: the saddle point of
    ``y'd - epsilon |d|_1 - 1/2 d'(F∘K)d + eta ||F - 11'||_F^2 + tau eta ||F||_*``
    [1]_, solved to a certified duality gap. The dual of a regression with an intercept
    has the constraint 1'd = 0; y'd = 0, as printed in the papers (problem 22), is a
    slip.

    Parameters
    ----------
    C : float, default=1.0
        Bound of the dual variables, positive.
    epsilon : float, default=0.1
        Half width of the tube without loss, not negative, in units of y.
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
    extension : {"reciprocal", "knn", "nystrom", "hyperkernel", "none"}, \
            default="reciprocal"
        F for new rows: that of the best reciprocal nearest neighbour (the papers' rule;
        it looks at all rows that are predicted together), the mean over the nearest
        neighbours, the Nyström extension of its eigenvectors, non-negative regression
        on hyper-kernels, or F = 1.
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
    tol : float, default=1e-4
        Duality gap to reach, as a share of the machine's dual objective.
    max_iter : int, default=2000
        Iterations of the method.
    random_state : int, RandomState instance or None, default=None
        Of the clusters and of the hyper-kernel's anchors.
    n_jobs : int, default=None
        Clusters solved at a time, by joblib, threads unless
        ``joblib.parallel_config`` says otherwise; it does not change the result.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors.
    dual_coef_ : ndarray of shape (n_machines, n_support)
        Coefficients d of the decision function.
    intercept_ : ndarray of shape (n_machines,)
    adaptive_factor_ : ndarray of shape (n, r)
        Z with F = Z Z'; None for "decomposed" and "whole".
    rank_ : int
        Of F.
    objective_ : float
        Value of the saddle function at the solution.
    duality_gap_ : float
    n_iter_ : int
    converged_ : bool
        Whether the gap is below the tolerance.
    history_ : dict of lists
        Columns "objective", "gap", "step" and "seconds", one entry for each iteration.

    Raises
    ------
    ValueError
        If a parameter is out of range, the data are not finite or the
        kernel is not positive semidefinite.
    MemoryError
        If the Gram matrix of the strategy "exact" does not fit.

    References
    ----------
    .. [1] Liu, F., Huang, X., Gong, C., Yang, J. and Li, L. Learning data-adaptive
       non-parametric kernels. Journal of Machine Learning Research 21, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.dank import DANKRegressor
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = DANKRegressor(C=10.0, epsilon=0.01).fit(X, np.sin(X[:, 0]))
    >>> model.score(X, np.sin(X[:, 0])) > 0.99
    True
    """

    _parameter_constraints = {
        **DANKMixin._parameter_constraints,
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        C=1.0,
        *,
        epsilon=0.1,
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
        super().__init__(
            C=C,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            eta=eta,
            tau=tau,
            extension=extension,
            n_neighbors=n_neighbors,
            strategy=strategy,
            method=method,
            n_clusters=n_clusters,
            fit_intercept=fit_intercept,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.epsilon = epsilon

    def fit(self, X, y):
        """Fit the regression; see the class for the parameters.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Training rows; the (n, n) Gram matrix when ``kernel="precomputed"``.
        y : array-like of shape (n,)
            Targets.

        Returns
        -------
        self
        """
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=float_types(X), y_numeric=True)
        X, y = self._own_arrays(X), as_numpy(y)
        self._check_square(X)
        self._resolve_kernel(X)
        y = y.astype(np.float64)
        dual = regression_dual(y, self.C, self.epsilon, self.fit_intercept)
        self.machine_ = self._fit_machine(X, dual)
        self.support_ = np.flatnonzero(self.machine_.dual_coef)
        self.dual_coef_ = self.machine_.dual_coef[None, self.support_]
        self.intercept_ = np.array([self.machine_.intercept])
        self._publish([self.machine_])
        return self

    def predict(self, X):
        """Predicted targets of the rows of X, shape (n,)."""
        check_is_fitted(self, "machine_")
        X = validate_data(self, X, reset=False, dtype=float_types(X))
        answer = self.machine_.decision_function(self._own_arrays(X))
        return answer_like(finite_answer(self, as_numpy(answer)), X)
