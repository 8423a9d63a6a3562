"""DANK in the support vector classifier."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import StrOptions

from adakern.dank.base import DANKMixin
from adakern.svm.dual import classification_dual
from adakern.svm.one_vs_one import OneVsOneMixin

__all__ = ["DANKClassifier"]


class DANKClassifier(DANKMixin, OneVsOneMixin, BaseEstimator):
    """Support vector classifier with a data-adaptive nonparametric kernel.

    The Gram matrix K of a support vector classifier is replaced by F∘K, where the
    positive semidefinite matrix F is learned with the machine: the saddle point of
    ``1'a - 1/2 d'(F∘K)d + eta ||F - 11'||_F^2 + tau eta ||F||_*`` [1]_, solved to a
    certified duality gap.
    Several classes are told apart one against one, as in SVC.

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
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Columns of ``decision_function`` for three classes or more: one for each class,
        or one for each pair.
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
    classes_ : ndarray of shape (n_classes,)
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors.
    dual_coef_ : ndarray of shape (n_machines, n_support)
        Coefficients d of the decision function, one row for each pair of
        classes.
    intercept_ : ndarray of shape (n_machines,)
    adaptive_factor_ : ndarray of shape (n, r)
        Z with F = Z Z', None for "decomposed" and "whole"; for three classes or more
        this and all below are lists with one entry for each pair.
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
        If a parameter is out of range, the data are not finite, y has one class or the
        kernel is not positive semidefinite.
    MemoryError
        If the Gram matrix of the strategy "exact" does not fit.

    Notes
    -----
    Gamma = diag(d) K diag(d) / (4 eta) enters F, so a new row that takes over F from a
    training row takes over that row's coefficient as well: beside the kernel expansion
    it gets a vote of its neighbour that grows with C. At large C the neighbour rules
    can predict worse than the support vector machine (diabetic, C = 32: 63 % of the
    test rows against 72 %); "hyperkernel" and "none" cast no such vote.

    References
    ----------
    .. [1] Liu, F., Huang, X., Gong, C., Yang, J. and Li, L. Learning data-adaptive
       non-parametric kernels. Journal of Machine Learning Research 21, 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from adakern.dank import DANKClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DANKClassifier(C=1.0).fit(X[:100], y[:100])
    >>> model.score(X[:100], y[:100])
    1.0
    >>> bool(model.duality_gap_ <= 1e-4 * model.objective_)
    True
    """

    _parameter_constraints = {
        **DANKMixin._parameter_constraints,
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
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
        decision_function_shape="ovr",
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
        self.decision_function_shape = decision_function_shape

    def _prepare(self, X):
        self._resolve_kernel(X)

    def _fit_binary(self, X, y):
        dual = classification_dual(y, self.C, self.fit_intercept)
        return self._fit_machine(X, dual)

    def _collect(self):
        """Fitted attributes; one value for two classes, a list per pair for more."""
        machines, rows = self.machines_, self.pair_rows_
        coefficients = np.zeros((len(machines), 1 + max(part.max() for part in rows)))
        for k, machine in enumerate(machines):
            coefficients[k, rows[k]] = machine.dual_coef
        self.support_ = np.flatnonzero(coefficients.any(axis=0))
        self.dual_coef_ = coefficients[:, self.support_]
        self.intercept_ = np.array([machine.intercept for machine in machines])
        self._publish(machines)
