"""Support vector classification with DANK."""

from dataclasses import KW_ONLY
from functools import partial
from typing import Self

from numpy.typing import ArrayLike

from adakern._utils.arrays import as_numpy, distinct_rows, validate_arrays
from adakern._utils.base import parameters
from adakern.dank.base import (
    DANKEstimator,
    fit_model,
    fitted_attributes,
    training_rows,
)
from adakern.svm.dual import classification_dual
from adakern.svm.one_vs_one import OneVsOneMixin, fit_pairs
from adakern.svm.probability import SigmoidProbabilityMixin


@parameters
class DANKClassifier(SigmoidProbabilityMixin, OneVsOneMixin, DANKEstimator):
    """Support vector classifier with a data-adaptive nonparametric kernel.

    The Gram matrix K of a support vector classifier is replaced by F∘K, where the
    positive semidefinite matrix F is learned with the classifier: the saddle point of
    ``1'a - 1/2 d'(F∘K)d + eta ||F - 11'||_F^2 + tau eta ||F||_*`` [1]_, solved to a
    certified duality gap. Several classes are classified one-vs-one, as in SVC.

    Parameters
    ----------
    C : float, default=1.0
        Positive regularization parameter: upper bound of the dual variables.
    kernel : {"rbf", "laplacian", "l2-laplacian", "tl1", "poly", "linear", \
            "precomputed"}, default="rbf"
        See :func:`adakern.kernels.gram_matrix`. The kernel must be positive
        semidefinite; for "tl1" this depends on the data and is checked by ``fit``.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient, as in :class:`sklearn.svm.SVC`.
    eta : "svm" or positive float, default="svm"
        Weight of the penalty on the distance of F from the matrix of ones. "svm" is the
        papers' rule, the squared norm of the dual coefficients of the SVM; smaller
        values let F adapt more.
    tau : float, default=0.01
        Non-negative weight of the nuclear norm of F; larger values give a lower rank.
        With 0, F has a closed form.
    extension : {"hyperkernel", "reciprocal", "knn", "nystrom", "none"}, \
            default="hyperkernel"
        How F is extended to new rows. "hyperkernel": non-negative regression on
        hyper-kernels. "reciprocal": the papers' reciprocal nearest neighbour; the
        result for a row depends on the rows predicted together with it. "knn": mean
        over the nearest neighbours. "nystrom": Nyström extension of the eigenvectors.
        "none": F = 1.
    n_neighbors : int, default=1
        Number of neighbours, used if ``extension="knn"``.
    strategy : {"exact", "decomposed", "whole"}, default="exact"
        "exact" stores the n x n Gram matrix; a MemoryError is raised if it does not
        fit. The other strategies are for large data and imply ``tau=0`` and F = 1 for
        new rows. "decomposed" solves each k-means cluster separately, without an
        intercept, and predicts a row by the model of its cluster (section 4 of [1]_).
        "whole" solves all rows together, warm-started from the clusters. Both support
        PyTorch tensors.
    method : {"newton", "accelerated"}, default="newton"
        Solver used if ``strategy="exact"``: Newton's method, or accelerated gradient
        ascent with backtracking and restarts.
    n_clusters : int, default=None
        Number of clusters for "decomposed" and "whole". If None, it is chosen such that
        the fit takes at most about 1 GiB and ten minutes.
    fit_intercept : bool, default=True
        Whether to fit an intercept; ignored if ``strategy="decomposed"``.
    tol : float, default=1e-4
        Tolerance on the duality gap, relative to the dual objective of the SVM with the
        learned kernel.
    max_iter : int, default=2000
        Maximum number of iterations.
    random_state : int, RandomState instance or None, default=None
        Controls the clusters and the anchors of "hyperkernel". If None, the anchors are
        drawn with a fixed seed.
    n_jobs : int, default=None
        Number of clusters solved in parallel by joblib (in threads by default). The
        result does not depend on it.
    probability : bool, default=False
        Whether to enable ``predict_proba``, by sigmoids fitted to cross-validated
        decision values. This takes five additional fits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors.
    dual_coef_ : ndarray of shape (n_pairs, n_support)
        Coefficients d of the decision function, one row per pair of classes.
    intercept_ : ndarray of shape (n_pairs,)
        Intercepts of the decision function.
    gamma_ : float
        Value of ``gamma`` used.
    eta_ : float
        Value of ``eta`` used. With more than two classes, this and the following
        attributes are lists with one entry per pair of classes.
    adaptive_factor_ : ndarray of shape (m, r)
        Factor Z of F = Z Z', with a row for each of the m rows of ``factor_rows_``;
        None for "decomposed" and "whole".
    factor_rows_ : ndarray of shape (m,)
        Indices of the training rows of the model: all in order, if no row is repeated
        and all weights are one; otherwise the distinct rows of positive weight.
    rank_ : int
        Rank of F, computed on first access.
    objective_ : float
        Value of the saddle function at the solution.
    duality_gap_ : float
        Upper bound on the suboptimality of ``objective_``.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the duality gap is below the tolerance.
    history_ : dict of lists
        "objective", "gap", "step" and "seconds" of each iteration; only the first two
        for "whole" and "decomposed". For the latter, a list with one dict per cluster.
    models_, pair_rows_ : list
        Model and training rows of each pair of classes.

    Notes
    -----
    A new row that inherits the column of F of a training row also inherits that row's
    dual coefficient, through ``Gamma = diag(d) K diag(d) / (4 eta)``. This acts as a
    vote of the neighbour that grows with C, so for large C the neighbour rules can be
    less accurate than the SVM (diabetic, C = 32: test accuracy of 63 % instead of
    71 %). "hyperkernel", the default, and "none" have no such effect. The papers' rule,
    "reciprocal", is used by the workflow's method ``dank``; the experiment
    ``dank_extension`` compares the rules.

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

    _: KW_ONLY
    probability: bool = False

    _parameter_constraints = {
        **DANKEstimator._parameter_constraints,
        "probability": ["boolean"],
    }

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
            Non-negative weights of the rows, in the loss and in the norms of F. An
            integer weight is equivalent to repeating the row, a weight of zero to
            dropping it.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self._validate_params()
        X, y = validate_arrays(self, X, y)
        X = training_rows(self, X)
        rows, weights = distinct_rows(as_numpy(X), as_numpy(y), sample_weight)
        dual = partial(classification_dual, C=self.C, fit_intercept=self.fit_intercept)
        fit_pairs(self, X, y, rows, weights, partial(fit_model, make_dual=dual))
        vars(self).update(fitted_attributes(self.models_, self.pair_rows_))
        return self
