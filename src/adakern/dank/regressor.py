"""DANK in epsilon support vector regression."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from adakern._utils.arrays import answer_like, as_numpy, validate_arrays
from adakern._utils.base import Estimator
from adakern._utils.constraints import NOT_NEGATIVE
from adakern._utils.validation import finite_answer
from adakern.dank.base import DANKMixin
from adakern.kernels import check_square

__all__ = ["DANKRegressor"]


class DANKRegressor(DANKMixin, RegressorMixin, Estimator):
    """Epsilon support vector regression with a data-adaptive nonparametric kernel.

    The Gram matrix K of a support vector regression is replaced by F∘K, where the
    positive semidefinite matrix F is learned with the regression: the saddle point of
    ``y'd - epsilon |d|_1 - 1/2 d'(F∘K)d + eta ||F - 11'||_F^2 + tau eta ||F||_*``
    [1]_, solved to a certified duality gap. The dual of a regression with an intercept
    has the constraint 1'd = 0; y'd = 0, as printed in the papers (problem 22), is a
    slip.

    Parameters
    ----------
    C : float, default=1.0
        Bound of the dual variables, positive.
    kernel : {"rbf", "laplacian", "l2-laplacian", "tl1", "poly", "linear", \
            "precomputed"}, default="rbf"
        See :func:`adakern.kernels.gram_matrix`. It must be positive semidefinite, which
        "tl1" is on some data only: fit checks it.
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
        reciprocal nearest neighbour, which is the papers' rule, and whose value for a
        row depends on the rows predicted with it; the mean over the nearest neighbours;
        the Nyström extension of its eigenvectors; or F = 1.
    n_neighbors : int, default=1
        Of the extension "knn".
    strategy : {"exact", "decomposed", "whole"}, default="exact"
        "exact" stores the n x n Gram matrix. The others do not, for large data; they
        have tau = 0 and F' = 1 for new rows. "decomposed" solves k-means clusters on
        their own, without an intercept, and predicts a row by its own cluster (section
        4 of [1]_); "whole" solves all rows together, started from the clusters. These
        two compute on tensors of PyTorch where they are.
    method : {"newton", "accelerated", "nesterov", "projected-gradient"}, \
            default="newton"
        Of the strategy "exact". Rounds of a model of the problem, solved to optimality;
        accelerated ascent with backtracking and restart; the papers' two methods with
        fixed step lengths.
    n_clusters : int, default=None
        Of the strategies "decomposed" and "whole". When None, so many that a fit takes
        about 1 GiB and ten minutes at most.
    fit_intercept : bool, default=True
        Whether the decision function has an intercept; "decomposed" has none.
    tol : float, default=1e-4
        Relative duality gap to reach: a share of the dual objective of the SVM with the
        learned kernel.
    max_iter : int, default=2000
        Iterations of the method.
    random_state : int, RandomState instance or None, default=None
        Of the clusters and of the hyper-kernel's anchors, whose seed is fixed when
        None.
    n_jobs : int, default=None
        Clusters solved at a time, by joblib, in threads unless
        ``joblib.parallel_config`` says otherwise; it does not change the result.
    epsilon : float, default=0.1
        Half width of the tube without loss, not negative, in units of y.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients d of the decision function.
    intercept_ : ndarray of shape (1,)
    gamma_ : float
        The kernel coefficient that was used.
    eta_ : float
        The weight that was used.
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
        "epsilon": NOT_NEGATIVE,
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        eta: float | str = "svm",
        tau: float = 0.01,
        extension: str = "hyperkernel",
        n_neighbors: int = 1,
        strategy: str = "exact",
        method: str = "newton",
        n_clusters: int | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = 2000,
        random_state: Any = None,
        n_jobs: int | None = None,
        epsilon: float = 0.1,
    ) -> None:
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
        self.epsilon = epsilon

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the regression; see the class for the parameters.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Training rows; the (n, n) Gram matrix when ``kernel="precomputed"``.
        y : array-like of shape (n,)
            Targets.
        """
        self._validate_params()
        X, y = validate_arrays(self, X, y, y_numeric=True)
        X = self._own_arrays(X)
        if self.kernel == "precomputed":
            check_square(X)
        self._resolve_kernel(X)
        self.model_ = self._fit_binary(X, y)
        self.support_ = np.flatnonzero(self.model_.dual_coef)
        self.dual_coef_ = self.model_.dual_coef[None, self.support_]
        self.intercept_ = np.array([self.model_.intercept])
        self._publish([self.model_])
        return self

    def predict(self, X: ArrayLike) -> Any:
        """Predicted targets of the rows of X, shape (n,).

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows; kernel values against the training rows where it is precomputed.
        """
        check_is_fitted(self, "model_")
        X = validate_arrays(self, X)
        predicted = self.model_.decision_function(self._own_arrays(X))
        return answer_like(finite_answer(self, as_numpy(predicted)), X)

    def _models(self):
        return [self.model_]
