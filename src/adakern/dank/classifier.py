"""DANK in the support vector classifier."""

from functools import partial
from typing import Any, Self

from numpy.typing import ArrayLike

from adakern._utils.arrays import as_numpy, validate_arrays
from adakern._utils.weights import distinct_rows
from adakern.dank.base import (
    DANKEstimator,
    fit_model,
    fitted_attributes,
    training_rows,
)
from adakern.svm.dual import classification_dual
from adakern.svm.one_vs_one import OneVsOneMixin, fit_pairs
from adakern.svm.probability import SigmoidProbabilityMixin


class DANKClassifier(SigmoidProbabilityMixin, OneVsOneMixin, DANKEstimator):
    """Support vector classifier with a data-adaptive nonparametric kernel.

    The Gram matrix K of a support vector classifier is replaced by F∘K, where the
    positive semidefinite matrix F is learned with the classifier: the saddle point of
    ``1'a - 1/2 d'(F∘K)d + eta ||F - 11'||_F^2 + tau eta ||F||_*`` [1]_, solved to a
    certified duality gap. Several classes are classified one-vs-one, as in SVC.

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
    eta : "svm" or float, default="svm"
        Weight that holds F near the matrix of ones, positive. "svm" is the papers'
        rule, the squared norm of the SVM's coefficients; small values (below C^2) let F
        adapt more.
    tau : float, default=0.01
        Weight of the nuclear norm of F: the larger, the lower its rank; 0 has a closed
        form.
    extension : {"hyperkernel", "reciprocal", "knn", "nystrom", "none"}, \
            default="hyperkernel"
        F for new rows: non-negative regression on hyper-kernels; the papers' best
        reciprocal nearest neighbour, whose value depends on the rows predicted with it;
        the mean over the nearest neighbours; the Nyström extension of its eigenvectors;
        or F = 1.
    n_neighbors : int, default=1
        Of the extension "knn".
    strategy : {"exact", "decomposed", "whole"}, default="exact"
        "exact" stores the n x n Gram matrix, with a MemoryError where it does not fit.
        The others are for large data and have tau = 0 and F' = 1 for new rows:
        "decomposed" solves k-means clusters on their own, without an intercept, and
        predicts a row by its own cluster (section 4 of [1]_); "whole" solves all rows
        together, started from the clusters. Both take PyTorch's tensors.
    method : {"newton", "accelerated"}, default="newton"
        Solver of the strategy "exact": Newton's method, or accelerated gradient ascent
        with backtracking and restart.
    n_clusters : int, default=None
        Of "decomposed" and "whole"; None for a fit within about 1 GiB and ten minutes.
    fit_intercept : bool, default=True
        Whether the decision function has an intercept; "decomposed" has none.
    tol : float, default=1e-4
        Duality gap to reach, a share of the dual objective of the SVM with the learned
        kernel.
    max_iter : int, default=2000
        Iterations of the method.
    random_state : int, RandomState instance or None, default=None
        Of the clusters and of the hyper-kernel's anchors, whose seed is fixed when
        None.
    n_jobs : int, default=None
        Clusters solved at a time, by joblib (in threads by default), with the same
        result.
    probability : bool, default=False
        Whether to fit ``predict_proba`` as well: sigmoids on the decision values of
        rows left out, which takes five more fits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors.
    dual_coef_ : ndarray of shape (n_pairs, n_support)
        Coefficients d of the decision function, one row for each pair of classes.
    intercept_ : ndarray of shape (n_pairs,)
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
        "objective", "gap", "step" and "seconds" of each iteration; for "decomposed" (a
        list with a dict for each cluster) and "whole" the first two.

    Notes
    -----
    A new row that takes over F from a training row takes over its coefficient as well,
    by ``Gamma = diag(d) K diag(d) / (4 eta)``: a vote of its neighbour that grows with
    C. At large C the neighbour rules can predict worse than the SVM (diabetic, C = 32:
    63 % of the test rows against 71 %); "hyperkernel", the default, and "none" cast no
    such vote. The papers' rule, "reciprocal", is that of the workflow's method
    ``dank``; the experiment ``dank_extension`` compares the rules.

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
        **DANKEstimator._parameter_constraints,
        "probability": ["boolean"],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str = "rbf",
        gamma: float | str = "scale",
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
        probability: bool = False,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
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
        self.probability = probability

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit one binary model for each pair of classes.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) if the kernel is precomputed
        y : array-like of shape (n,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n,), default=None
            How often each row counts, in the loss and in the norms of F: an integer
            weight is a repeated row, zero leaves a row out.
        """
        self._validate_params()
        X, y = validate_arrays(self, X, y)
        X = training_rows(self, X)
        rows, weights = distinct_rows(as_numpy(X), as_numpy(y), sample_weight)
        dual = partial(classification_dual, C=self.C, fit_intercept=self.fit_intercept)
        fit_pairs(self, X, y, rows, weights, partial(fit_model, make_dual=dual))
        vars(self).update(fitted_attributes(self.models_, self.pair_rows_))
        return self
