"""Approximate kernel selection: Algorithm 1 of Ding et al. (2019)."""

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import ParameterGrid
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions, validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from adakern._utils.arrays import validate_data
from adakern._utils.base import parameters
from adakern._utils.constraints import AT_LEAST_ONE, POSITIVE, constraints
from adakern._utils.hints import did_you_mean
from adakern._utils.resources import one_blas_thread
from adakern._utils.warn import warn_user
from adakern.kernels import resolve_gamma
from adakern.nystrom.columns import KernelColumns, encode_targets
from adakern.nystrom.criteria import CRITERIA, DenseKernel, LowRankKernel
from adakern.nystrom.samplers import SAMPLERS, make_plan
from adakern.nystrom.transformer import (
    COUNT_OR_FRACTION,
    NYSTROM_CONSTRAINTS,
    NYSTROM_KERNELS,
    NystromFeaturesMixin,
)

#: References without columns: the best rank-c approximation, and K itself.
REFERENCES = ("optimal", "exact")

#: The kernels of seven of the paper's twelve data sets: gamma from 2^-10 to 2^2.
DEFAULT_GRID = {"gamma": [2.0**e for e in range(-10, 3)]}

#: Defaults of a candidate.
DEFAULTS = {"gamma": "scale", "degree": 3, "coef0": 1.0}

#: Parameters that a candidate can specify.
CANDIDATE_CONSTRAINTS = constraints(
    "gamma",
    "degree",
    "coef0",
    kernel=[StrOptions(NYSTROM_KERNELS)],
    ridge=POSITIVE,
)

#: Kernel values whose squares, summed over the rows, could overflow.
LARGEST_VALUE = 1e140


@parameters
class NystromKernelSelector(NystromFeaturesMixin, BaseEstimator):
    """Select a kernel by a criterion computed on Nyström approximations.

    For each candidate kernel, columns are sampled and the criterion of ``K~ = C D_k^+
    C'`` is computed by the Woodbury formula; the candidate with the smallest value is
    selected. A candidate takes O(l c^2) time and O(l c) memory, instead of O(l^3) and
    O(l^2).

    Columns are sampled for each candidate (Algorithm 1 of the paper) with the same
    seed; candidates that differ only in ``ridge`` share columns and factorisation.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "l2-laplacian", "poly", "linear"}, default="rbf"
        Kernel of candidates that do not specify one.
    param_grid : dict or list of dict, default=None
        Candidates, as in :class:`sklearn.model_selection.ParameterGrid`, with the keys
        "kernel", "gamma" (default "scale"), "degree", "coef0" and "ridge". If None,
        gamma from 2^-10 to 2^2 in powers of 2.
    criterion : {"ridge-risk", "loo"}, default="ridge-risk"
        Criterion to minimise: the regularised risk ``mu y'(K + mu l I)^{-1} y``, or the
        mean squared leave-one-out error.
    ridge : float, default=0.005
        Positive regularization strength mu. Columns are chosen for it, and it applies
        to candidates that do not specify their own. Candidates with different ``ridge``
        are comparable only by "loo".
    n_columns : int or float, default=0.2
        Number of columns c, at most l, or a fraction of l in (0, 1].
    step : int or float, default=0.1
        Number of columns per round of adaptive sampling, or a fraction of c.
    rank : int, default=None
        Rank of the approximation, at most c. If None, full rank (adaptive samplers:
        half of the columns drawn).
    sampling : str, default="adaptive-criterion"
        Column sampler. "adaptive-criterion" is the paper's Algorithm 2,
        "greedy-criterion" chooses columns by their exact effect on the regularised
        risk. The others are "uniform", "column-norm", "leverage", "ridge-leverage",
        "rpcholesky", "adaptive-deshpande" and "adaptive-kumar". "optimal" (the best
        approximation of rank c) and "exact" (no approximation) are references that form
        K.
    task : {"auto", "classification", "regression"}, default="auto"
        Type of the targets. "auto" assumes regression if y has numbers that are not
        integers. Regression uses y as it is: centre it for a model with an intercept.
    random_state : int, RandomState instance or None, default=None
        Determines the sampled columns.

    Attributes
    ----------
    best_params_ : dict
        Candidate with the smallest criterion, the first one in case of ties.
    best_score_ : float
        Criterion of the best candidate.
    candidates_ : list of dict
        All candidates.
    criterion_ : ndarray of shape (n_candidates,)
        Criterion of each candidate; infinite if its kernel overflows or cannot be
        factorised.
    columns_ : ndarray of shape (c,) or None
        Columns drawn for the best candidate; None for "optimal" and "exact".
    component_indices_, components_, normalization_ : ndarray
        As in :class:`CriterionNystroem`, for ``transform`` with the best kernel.

    Notes
    -----
    In the paper, Algorithm 2 comes closest to the exact criterion, except for the best
    approximation of its rank. This did not reproduce: in the experiment
    ``nystrom_consistency`` (the paper's twelve data sets, ten runs, c = 0.2 l),
    "adaptive-criterion" was significantly farther from it than uniform sampling on 11
    sets, because its error matrix is restricted to the drawn columns.
    "greedy-criterion" was the closest of all samplers on all twelve. It takes O(l (3
    c)^2) per candidate, which pays for c well below l.

    References
    ----------
    L. Ding et al., Approximate Kernel Selection with Strong Approximate Consistency,
    AAAI 2019.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from adakern.nystrom import NystromKernelSelector
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> selector = NystromKernelSelector(random_state=0).fit(X, y)
    >>> selector.best_params_
    {'gamma': 2.0}
    """

    kernel: str = "rbf"
    param_grid: dict | list | None = None
    _: KW_ONLY
    criterion: str = "ridge-risk"
    ridge: float = 0.005
    n_columns: float = 0.2
    step: float = 0.1
    rank: int | None = None
    sampling: str = "adaptive-criterion"
    task: str = "auto"
    random_state: Any = None

    _parameter_constraints = {
        **NYSTROM_CONSTRAINTS,
        "kernel": [StrOptions(NYSTROM_KERNELS)],
        "param_grid": [dict, list, None],
        "criterion": [StrOptions(set(CRITERIA))],
        "n_columns": COUNT_OR_FRACTION,
        "step": COUNT_OR_FRACTION,
        "rank": [*AT_LEAST_ONE, None],
        "sampling": [StrOptions({*SAMPLERS, *REFERENCES})],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Compute the criterion of every candidate.

        It is infinite, with a warning, for candidates whose computation fails.

        Parameters
        ----------
        X : array-like of shape (l, d)
        y : array-like of shape (l,)
            Class labels or numbers.
        """
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=np.float64)
        targets = encode_targets(self, y, self.task)
        plan = make_plan(len(X), self.n_columns, self.step, self.rank, self.ridge)
        size = len(X) if self.sampling in REFERENCES else plan.n_columns
        criterion = CRITERIA[self.criterion]
        seed = check_random_state(self.random_state).randint(2**31)
        self.candidates_ = _candidates(self.param_grid)
        self.criterion_ = np.full(len(self.candidates_), np.inf)
        samples = {}
        for params, members in self._by_kernel(X):
            kernel = KernelColumns(X, **params)
            ridges = {i: self.candidates_[i].get("ridge", self.ridge) for i in members}
            try:
                _require_range(kernel)
                with one_blas_thread(size):
                    factored, sample = self._approximate(kernel, targets, plan, seed)
                    # If a ridge is too small for a Cholesky factorisation, so are all
                    # smaller ones.
                    for i in sorted(members, key=ridges.get, reverse=True):
                        self.criterion_[i] = criterion(
                            factored, targets.values, ridges[i]
                        )
                        samples[i] = params, sample
            except np.linalg.LinAlgError as error:
                warn_user(
                    f"candidate {params} is left out (criterion infinite): {error}. "
                    "Scale X to "
                    f"about [-1, 1], lower gamma or degree, or increase ridge"
                )
        best = int(np.argmin(self.criterion_))
        if not np.isfinite(self.criterion_[best]):
            raise ValueError(
                "no candidate kernel has a finite criterion; scale X to about [-1, 1], "
                "or lower gamma or degree in param_grid"
            )
        self.best_params_ = self.candidates_[best]
        self.best_score_ = float(self.criterion_[best])
        self._kernel, sample = samples[best]
        self.columns_ = None
        if sample is not None:
            self.columns_ = sample.indices
            self._set_features(X, self._kernel, sample, self.rank)
        return self

    def _by_kernel(self, X):
        """Group candidates by kernel: distinct kernels with candidate positions."""
        groups = {}
        for i, candidate in enumerate(self.candidates_):
            params = {"kernel": self.kernel} | DEFAULTS | candidate
            params["gamma"] = resolve_gamma(params["gamma"], X)
            params.pop("ridge", None)
            groups.setdefault(tuple(params.items()), (params, []))[1].append(i)
        return groups.values()

    def _approximate(self, kernel, targets, plan, seed):
        """Return a factored (approximate) kernel and the sample it is made of."""
        if self.sampling == "exact":
            return DenseKernel(kernel.full()), None
        if self.sampling == "optimal":
            return LowRankKernel.from_eigenpairs(
                kernel.full(), plan.rank or plan.n_columns
            ), None
        sample = SAMPLERS[self.sampling](
            kernel, targets, plan, np.random.default_rng(seed)
        )
        C = kernel.columns(sample.indices)
        return LowRankKernel.from_columns(C, *sample, rank=plan.rank), sample

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Compute the Nyström features of the best kernel.

        Parameters
        ----------
        X : array-like of shape (n, d)
        """
        check_is_fitted(self, "best_params_")
        if self.columns_ is None:
            raise ValueError(
                f"sampling={self.sampling!r} chooses no columns, so there are no "
                "features; fit with another sampling, or use best_params_"
            )
        return super().transform(X)


def _candidates(grid):
    """List the candidates of a grid; raise on unknown keys and values."""
    try:
        candidates = list(ParameterGrid(DEFAULT_GRID if grid is None else grid))
    except (TypeError, ValueError) as error:
        raise ValueError(f"param_grid={grid!r} is invalid: {error}") from error
    if not candidates:
        raise ValueError("param_grid is empty; give at least one candidate kernel")
    for candidate in candidates:
        for key in candidate.keys() - CANDIDATE_CONSTRAINTS.keys():
            raise ValueError(
                f"param_grid has the key {key!r}; allowed are "
                f"{', '.join(CANDIDATE_CONSTRAINTS)}."
                f"{did_you_mean(key, CANDIDATE_CONSTRAINTS)}"
            )
        validate_parameter_constraints(CANDIDATE_CONSTRAINTS, candidate, "param_grid")
    return candidates


def _require_range(kernel):
    """Raise LinAlgError if K overflows, by its diagonal: |K_ij|^2 <= K_ii K_jj."""
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.max(np.abs(kernel.diagonal())) < LARGEST_VALUE:
            raise np.linalg.LinAlgError("kernel values overflow")
