"""Nyström features with selected landmarks, as scikit-learn's Nystroem has them."""

from dataclasses import KW_ONLY
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from adakern._utils.arrays import require_finite, validate_data
from adakern._utils.base import parameters
from adakern._utils.constraints import AT_LEAST_ONE, POSITIVE, constraints
from adakern._utils.resources import one_blas_thread
from adakern._utils.warn import warn_user
from adakern.kernels import KERNELS, KernelMixin
from adakern.linalg import ranked_eigh
from adakern.nystrom.columns import (
    KernelColumns,
    encode_targets,
    kernel_matrix,
    random_targets,
)
from adakern.nystrom.samplers import CRITERION_DRIVEN, SAMPLERS, make_plan

#: Kernels that are positive semidefinite, as a Nyström approximation needs.
NYSTROM_KERNELS = {*KERNELS} - {"tl1"}

#: A positive number of items, or a fraction of all.
COUNT_OR_FRACTION = [Interval(RealNotInt, 0, 1, closed="right"), *AT_LEAST_ONE]

#: Parameter constraints shared by the estimators.
NYSTROM_CONSTRAINTS = constraints(
    "random_state",
    task=[StrOptions({"auto", "classification", "regression"})],
    ridge=POSITIVE,
)


class NystromFeaturesMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """``transform`` for estimators that selected columns of a kernel matrix."""

    def _set_features(self, X, kernel_params, sample, rank=None):
        """Store the landmarks and ``D^{-1/2}`` for ``transform``."""
        indices = sample.indices
        W = np.ones(len(indices)) if rank is None else sample.weights
        D = W[:, None] * KernelColumns(X, **kernel_params).columns(indices, indices) * W
        values, vectors, start = ranked_eigh(D, rank)
        signs = np.ones(len(D) - start)
        if kernel_params["kernel"] == "sigmoid":  # indefinite, as in Nystroem
            order = np.argsort(np.abs(values), kind="stable")
            sizes = np.abs(values[order])
            signs = np.sign(values[order])
            start = int(np.sum(sizes <= len(D) * np.finfo(float).eps * sizes[-1]))
            values, vectors, signs = sizes, vectors[:, order], signs[start:]
        scaled = vectors[:, start:] * (signs / np.sqrt(values[start:]))
        root = scaled @ vectors[:, start:].T
        self.component_indices_ = indices
        self.components_ = X[indices]
        self.normalization_ = root * W
        self._kernel = kernel_params

    @property
    def _n_features_out(self):
        return len(self.component_indices_)

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Compute features whose inner products are the approximate kernel.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, l) if the kernel is precomputed

        Returns
        -------
        ndarray of shape (n, n_components)
        """
        check_is_fitted(self, "normalization_")
        sparse = get_tags(self).input_tags.sparse and "csr"
        X = validate_data(self, X, reset=False, dtype=np.float64, accept_sparse=sparse)
        if self._kernel["kernel"] == "precomputed":
            K = X[:, self.component_indices_]
        else:
            K = kernel_matrix(X, self.components_, **self._kernel)
        return require_finite(self, K @ self.normalization_.T)


@parameters
class CriterionNystroem(NystromFeaturesMixin, KernelMixin, BaseEstimator):
    """Nyström features with landmarks chosen by one of the column samplers.

    A replacement for :class:`sklearn.kernel_approximation.Nystroem`, whose landmarks
    are drawn uniformly. Rows may be sparse. Of its kernels, "cosine", "chi2",
    "additive_chi2" and functions are supported as "precomputed" only.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "l2-laplacian", "poly", "linear", "sigmoid", \
            "precomputed"}, default="rbf"
        With "precomputed", X holds kernel values with all training rows. "sigmoid" is
        not positive semidefinite: as in ``Nystroem``, the features lose the signs of
        its eigenvalues, and the criteria are no bounds.
    gamma : {"scale", "auto"} or float, default="scale"
        Positive; "scale" is 1 / (d var(X)), "auto" 1 / d.
    degree : int, default=3
        Degree of the "poly" kernel.
    coef0 : float, default=1.0
        Constant term of the "poly" and "sigmoid" kernels.
    n_components : int or float, default=100
        Number of landmarks (at most the number of rows, otherwise with a warning), or a
        fraction of the rows in (0, 1].
    selection : str, default="greedy-criterion"
        How landmarks are chosen: "uniform", "column-norm", "leverage",
        "ridge-leverage", "rpcholesky", "adaptive-deshpande", "adaptive-kumar",
        "adaptive-criterion" or "greedy-criterion". The last two use y if it is given.
    task : {"auto", "classification", "regression"}, default="auto"
        Type of the targets. "auto" assumes regression if y has numbers that are not
        integers.
    ridge : float, default=0.005
        mu of ``mu y'(K + mu l I)^{-1} y``; best set to ``alpha / l`` of the regression
        that follows.
    random_state : int, RandomState instance or None, default=None
        Determines the landmarks.

    Attributes
    ----------
    component_indices_ : ndarray of shape (n_components,)
        Indices of the training rows used as landmarks.
    components_ : ndarray of shape (n_components, d)
        Landmarks.
    normalization_ : ndarray of shape (n_components, n_components)
        Inverse square root of the kernel matrix of the landmarks.
    gamma_ : float
        Value of ``gamma`` used.

    References
    ----------
    L. Ding et al., Approximate Kernel Selection with Strong Approximate Consistency,
    AAAI 2019; the greedy selection is this library's own.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from adakern.nystrom import CriterionNystroem
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> features = CriterionNystroem(n_components=20, random_state=0)
    >>> model = make_pipeline(StandardScaler(), features, RidgeClassifier())
    >>> bool(model.fit(X, y).score(X, y) > 0.95)
    True
    """

    kernel: str = "rbf"
    _: KW_ONLY
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 1.0
    n_components: float = 100
    selection: str = "greedy-criterion"
    task: str = "auto"
    ridge: float = 0.005
    random_state: Any = None

    _parameter_constraints = constraints(
        "gamma",
        "degree",
        "coef0",
        **NYSTROM_CONSTRAINTS,
        kernel=[StrOptions({*NYSTROM_KERNELS, "sigmoid", "precomputed"})],
        n_components=COUNT_OR_FRACTION,
        selection=[StrOptions(set(SAMPLERS))],
    )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Choose the landmarks.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (l, d)
            Of shape (l, l) if the kernel is precomputed.
        y : array-like of shape (l,) or (l, q), default=None
            Labels, for the criterion-driven selections; several columns of numbers are
            averaged over.
        """
        self._validate_params()
        accepted = {
            "dtype": np.float64,
            "accept_sparse": get_tags(self).input_tags.sparse and "csr",
        }
        if y is None or self.selection not in CRITERION_DRIVEN:
            X = validate_data(self, X, **accepted)
            y = None
        else:
            X, y = validate_data(self, X, y, multi_output=True, **accepted)
        n = X.shape[0]
        if isinstance(self.n_components, Integral) and self.n_components > n:
            warn_user(
                f"n_components={self.n_components} is more than the {n} training "
                "rows; all are used"
            )
        self._resolve_kernel(X)
        columns = KernelColumns(X, **self._kernel_params)
        plan = make_plan(n, min(self.n_components, n), ridge=self.ridge)
        rng = np.random.default_rng(
            check_random_state(self.random_state).randint(2**31)
        )
        if self.selection not in CRITERION_DRIVEN:
            targets = None
        elif y is None:
            targets = random_targets(n, rng)
        else:
            targets = encode_targets(self, y, self.task)
        with one_blas_thread(plan.n_columns):
            sample = SAMPLERS[self.selection](columns, targets, plan, rng)
        self._set_features(X, self._kernel_params, sample)
        return self
