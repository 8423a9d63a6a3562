"""Support vector classification with a nonlinear pairwise layer on the kernel."""

from dataclasses import KW_ONLY
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import StrOptions

from adakern._utils.arrays import as_numpy, distinct_rows, validate_arrays
from adakern._utils.base import parameters
from adakern._utils.constraints import AT_LEAST_ONE, POSITIVE, constraints
from adakern._utils.resources import by_row_blocks, require_memory
from adakern._utils.warn import warn_unconverged
from adakern.kernels import KernelMixin, TrainingRows
from adakern.knpl.solver import solve_admm, solve_exact
from adakern.linalg import require_positive_semidefinite
from adakern.svm.one_vs_one import (
    OneVsOneMixin,
    fit_pairs,
    one_or_list,
    support_rows,
)
from adakern.svm.probability import SigmoidProbabilityMixin


@parameters
class KNPLClassifier(
    SigmoidProbabilityMixin, OneVsOneMixin, KernelMixin, BaseEstimator
):
    """SVM with the kernel G∘K: a fixed kernel K and a learned pairwise layer G.

    Solves max over dual variables a, min over positive semidefinite G with G1 = n1, of
    ``1'a - 1/2 (y∘a)'(G∘K)(y∘a) + reg |G|_F^2``. New points take the column of G that
    belongs to their nearest training row. Multi-class problems are solved one-vs-one,
    as in SVC.

    Parameters
    ----------
    C : float, default=1.0
        Regularization parameter of the SVM, positive.
    kernel : {"rbf", "laplacian", "l2-laplacian", "tl1", "poly", "linear", \
            "precomputed"}, default="rbf"
        See :func:`adakern.kernels.gram_matrix`. With "precomputed", distances between
        rows are those in the feature space of the kernel. The kernel must be positive
        semidefinite; for "tl1" this depends on the data and is checked by ``fit``.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient.
    reg : float, default=1.0
        Weight of ``|G|_F^2`` (the paper's gamma), positive. The entries of G differ
        from 1 by the order of C^2 / (4 reg), so tune it in multiples of C^2.
    solver : {"exact", "admm"}, default="exact"
        "exact" is accelerated ascent on the closed form of the layer, to a certified
        gap; "admm" is the paper's Algorithms 1 and 2, which need not converge.
    max_outer : int, default=10
        Maximum number of alternations between layer and SVM in "admm".
    max_inner : int, default=15
        Maximum number of iterations of Algorithm 1 per alternation of "admm".
    max_iter : int, default=5000
        Maximum number of iterations of "exact"; a ConvergenceWarning reports the gap
        reached.
    tol : float, default=1e-3
        Relative duality gap at which either solver stops.
    probability : bool, default=False
        Whether to enable ``predict_proba``, by sigmoids fitted to cross-validated
        decision values. This takes five additional fits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    support_ : ndarray
        Indices of the support vectors, of any pair of classes.
    pairwise_layer_ : ndarray of shape (n, n)
        G on the distinct training rows; a list with one matrix per pair if there are
        more than two classes.
    objective_, duality_gap_ : float
        Value at the saddle point and duality gap, summed over the pairs of classes.
    converged_ : bool
        Whether the relative gap is below ``tol`` for every pair.
    n_iter_ : int
        Number of iterations, the maximum over the pairs.
    history_ : dict or list of dict
        "objective" and "gap" of every iteration; "inner_residuals" of Algorithm 1.
    gamma_ : float
        Value of ``gamma`` used.
    models_, pair_rows_ : list
        Model and training rows of each pair of classes.

    Notes
    -----
    The paper's alternation cycles unless ``reg`` is large. With a small ``reg`` the
    layer overfits the training rows: tune it. The test accuracy then did not differ
    significantly from that of the SVM on twelve of the paper's data sets
    (``docs/results/knpl_uci_small``); the published gains were not reproduced.

    References
    ----------
    Liu et al., Nonlinear pairwise layer and its training for kernel learning, AAAI
    2018.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import minmax_scale
    >>> from adakern.knpl import KNPLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = KNPLClassifier(C=4.0).fit(minmax_scale(X)[::2], y[::2])
    >>> model.score(minmax_scale(X)[1::2], y[1::2]) > 0.95
    True
    """

    C: float = 1.0
    _: KW_ONLY
    kernel: str = "rbf"
    gamma: float | str = "scale"
    reg: float = 1.0
    solver: str = "exact"
    max_outer: int = 10
    max_inner: int = 15
    max_iter: int = 5000
    tol: float = 1e-3
    probability: bool = False

    _parameter_constraints = constraints(
        "C",
        "max_iter",
        "tol",
        **KernelMixin._kernel_constraints,
        reg=POSITIVE,
        solver=[StrOptions({"exact", "admm"})],
        max_outer=AT_LEAST_ONE,
        max_inner=AT_LEAST_ONE,
        probability=["boolean"],
    )

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
            Non-negative weights of the rows, for ``solver="exact"``. An integer weight
            is equivalent to repeating the row, a weight of zero to leaving it out.
        """
        self._validate_params()
        X, y = validate_arrays(self, X, y)
        X = as_numpy(X)
        rows = np.arange(len(X))
        weights = None
        if self.solver == "exact":
            rows, weights = distinct_rows(X, y, sample_weight)
        elif sample_weight is not None:
            raise ValueError(
                f"solver={self.solver!r} takes no sample_weight; repeat the rows, or "
                'use solver="exact"'
            )
        fit_pairs(self, X, y, rows, weights, fit_model)
        saddles = [model.saddle for model in self.models_]
        self.support_ = support_rows(self.pair_rows_, self.models_)
        self.objective_ = sum(saddle.objective for saddle in saddles)
        self.duality_gap_ = float(sum(saddle.gap for saddle in saddles))
        self.converged_ = all(saddle.converged for saddle in saddles)
        self.n_iter_ = max(saddle.n_iter for saddle in saddles)
        self.history_ = one_or_list(saddles, "history")
        self.pairwise_layer_ = one_or_list(saddles, "G")
        return self


def fit_model(estimator, X, y, weights):
    """Fit a :class:`KNPLModel` to rows with labels -1.0 and 1.0."""
    require_memory(
        4 * 8 * len(y) ** 2,
        f"the pairwise layer of {len(y)} x {len(y)} with its Gram matrix",
        "use fewer rows, or wrap KNPLClassifier in ClusterwiseClassifier",
    )
    K = np.asarray(estimator._gram(X), dtype=np.float64)
    if estimator.kernel in ("precomputed", "tl1"):
        require_positive_semidefinite(K, estimator.kernel, "KNPLClassifier")
    problem = (K, y, estimator.C, estimator.reg)
    if estimator.solver == "admm":
        limit = "max_outer"
        saddle = solve_admm(
            *problem,
            max_outer=estimator.max_outer,
            max_inner=estimator.max_inner,
            tol=estimator.tol,
        )
    else:
        limit = "max_iter"
        saddle = solve_exact(
            *problem, max_iter=estimator.max_iter, tol=estimator.tol, weights=weights
        )
    if not saddle.converged:
        warn_unconverged(
            estimator,
            f"a saddle gap of {saddle.gap:.2e} at the objective "
            f"{saddle.objective:.6g} (a larger reg helps)",
            limit,
        )
    return KNPLModel(TrainingRows(X, K, estimator._kernel_params), saddle)


class KNPLModel:
    """Binary model ``f(x) = sum_i d_i G_ij K(x_i, x) + b`` with x_j nearest to x."""

    def __init__(self, rows, saddle):
        self.rows = rows
        self.saddle = saddle
        self.support = np.flatnonzero(saddle.d)

    def decision_function(self, X):
        """Decision values of new rows."""
        return by_row_blocks(self._decide, as_numpy(X), 3 * 8 * len(self.saddle.d))

    def _decide(self, X):
        layer = self.saddle.G[np.ix_(self.rows.nearest(X), self.support)]
        K = self.rows.kernel(X, self.support)
        return (layer * K) @ self.saddle.d[self.support] + self.saddle.intercept
