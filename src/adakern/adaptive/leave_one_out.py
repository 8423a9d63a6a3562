"""Leave-one-out error of kernel ridge regression, its gradient and its minimum."""

from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace
from scipy.optimize import minimize
from scipy.spatial.distance import pdist, squareform

from adakern._utils.arrays import as_index, as_numpy, to_device
from adakern.kernels import (
    DECAYING_KERNELS,
    MANY_INDICATORS,
    gram_matrix,
    manhattan_distances,
    squared_distances,
)
from adakern.linalg import (
    add_to_diagonal,
    invert_definite,
    leave_one_out,
    left_out_residuals,
)

#: Ranges of the search, as factors of the median distance and of a kernel's diagonal.
SCALES = np.logspace(-3, 1, 9)
RIDGES = np.logspace(-6, 1.5, 11)
RIDGE_BOUNDS = (1e-7, 1e3)

#: Number of rows for the grid and the first quasi-Newton steps, doubled for the next.
FEWEST_ROWS = 500

#: Number of quasi-Newton evaluations for one scale, and for each doubling of the rows.
EVALUATIONS = 10

#: Of the grid points whose error is within this factor of the minimum, the one with the
#: largest ridge is chosen: small ridges overfit, and more so the more rows there are.
NEAR_LEAST = 1.02

#: Decrease of the log error below which the quasi-Newton steps stop.
LEAST_GAIN = 3e-4

#: Ridge, relative to the number of rows, from which on the log error in single
#: precision is accurate to about ``LEAST_GAIN``. Depending on the BLAS kernel, its
#: error is 7e-5 to 3.2e-4 (breast cancer), for a rounding of 2 eps sqrt(n) / alpha =
#: 2e-3.
SINGLE_RIDGE = 5e-6

#: Penalty on squared deviations of the log scales, in log errors times rows.
PENALTY = 1.0

#: Memory for the differences of pairs of rows in each feature. It limits the number of
#: rows, which decreases with the number of features.
PAIRS_BYTES = 256 * 2**20


class LeaveOneOutError:
    """Logarithm of the mean squared leave-one-out error for given scales and ridge.

    The kernel is ``exp(-sum_m s_m |t_m - x_m|)`` ("laplacian"),
    ``exp(-(sum_m s_m^2 (t_m - x_m)^2)^½)`` ("l2-laplacian") or
    ``exp(-sum_m s_m^2 (t_m - x_m)^2)`` ("rbf"); with ``tied`` there is one scale for
    all features, otherwise one for those with the same number, from 0, in ``groups``.
    It is computed on the device of the context
    (:func:`adakern._utils.arrays.device_context`), and in single precision for ridges
    of at least ``single_from`` times the largest weight.
    """

    def __init__(
        self, X, Y, weights, kernel, *, tied=False, groups=None, single_from=np.inf
    ):
        root = np.sqrt(weights)
        self._groups = np.arange(X.shape[1]) if groups is None else groups
        self._single_from = single_from * weights.max()
        self._total = float(weights.sum())
        self._root = to_device(root)
        self._target = to_device(root[:, None] * Y)
        self._kernel, self._tied = kernel, tied
        #: Data from which the exponents are computed: distances of all rows for a
        #: single scale, distances of all pairs in each group of features for the L1
        #: kernel, otherwise the centred rows.
        if tied:
            self._parts = DECAYING_KERNELS[kernel](to_device(X))
        elif kernel == "laplacian":
            n = len(X)
            distances = np.empty((self._groups.max() + 1, n * (n - 1) // 2))
            for group, of_pairs in enumerate(distances):
                part = X[:, self._groups == group]
                if part.shape[1] >= MANY_INDICATORS:
                    of_pairs[:] = squareform(manhattan_distances(part), checks=False)
                else:
                    pdist(part, "cityblock", out=of_pairs)
            self._parts = to_device(distances)
            first, second = np.triu_indices(n, 1)
            self._above = as_index(first * n + second, self._parts)
            self._below = as_index(second * n + first, self._parts)
        else:
            self._parts = to_device(X - X.mean(axis=0))

    def __call__(self, scales, alpha):
        """Return the value and its gradient in log scales and log alpha.

        The value is -1e10 if the error is zero.
        """
        xp = array_namespace(self._target)
        numbers = xp.float32 if alpha >= self._single_from else xp.float64
        power = 2 if self._kernel == "rbf" else 1
        if self._tied:
            exact = float(scales[0]) ** power * self._parts
        elif self._kernel == "laplacian":
            pairs = to_device(scales) @ self._parts
            n = self._root.shape[0]
            device = getattr(pairs, "device", None)
            flat = xp.zeros(n * n, dtype=pairs.dtype, device=device)
            flat[self._above] = pairs
            flat[self._below] = pairs
            exact = xp.reshape(flat, (n, n))
        else:
            exact = squared_distances(self._parts * to_device(scales[self._groups]))
            exact = exact if power == 2 else xp.sqrt(exact)
        exponents, root, target = (
            xp.astype(A, numbers, copy=False) for A in (exact, self._root, self._target)
        )
        # Far below the rounding of the diagonal. From smaller values, subnormal numbers
        # arise, with which a factorisation takes up to a hundred times as long.
        least = xp.finfo(numbers).smallest_normal ** (2 / 3)
        K = xp.clip(xp.exp(-exponents), least) * root[:, None] * root
        ridge = alpha * xp.ones_like(root)
        R = invert_definite(add_to_diagonal(xp.asarray(K, copy=True), ridge))
        value, M, size = self._value(R, R @ target)
        if M is None:
            return value, np.zeros(len(scales)), 0.0
        by_alpha = alpha * float(xp.linalg.trace(M))
        M *= K
        M = xp.astype(M, xp.float64, copy=False)
        by_scale = -self._sum_of_slopes(M, scales, exact)
        return value, by_scale / size, by_alpha / size

    def _value(self, R, dual):
        """Return the value E, and M and c with ``c dE = sum_jk M_jk dK_jk``.

        R is the inverse of kernel and ridge, and ``dual`` is R Y. E is the log of the
        error c, and with the leave-one-out residuals ``r``,
        ``M = 2/n (R diag(r²/R_ii) R - sym(R (r/R_ii) (R Y)'))``. M is None if the error
        is zero.
        """
        xp = array_namespace(dual)
        total = self._total
        diagonal = xp.linalg.diagonal(R)
        residuals = left_out_residuals(dual, diagonal)
        error = float(xp.sum(residuals**2)) / total
        if not (np.isfinite(error) and error > 0):
            return -1e10, None, error
        half = R * xp.sqrt(2 / total * xp.sum(residuals**2, axis=1) / diagonal)
        outer = R @ (residuals / diagonal[:, None]) / total
        M = half @ half.T  # recognised as symmetric: half the work
        M -= xp.concat([outer, dual], axis=1) @ xp.concat([dual, outer], axis=1).T
        return np.log(error), M, error

    def _sum_of_slopes(self, M, scales, exponents):
        """Sum of M times the derivatives of the exponents in the log scales."""
        xp = array_namespace(self._target)
        power = 2 if self._kernel == "rbf" else 1
        if self._tied:
            return np.array([power * float(xp.sum(M * exponents))])
        if self._kernel == "laplacian":
            by_pair = xp.reshape(M, (-1,))[self._above]
            return 2 * scales * as_numpy(self._parts @ by_pair)
        if power == 1:  # differences of equal rows are 0, for any non-zero divisor
            M = M / xp.where(exponents > 0, exponents, xp.ones_like(exponents))
        # sum_jk M_jk (z_j - z_k)^2, the squares multiplied out.
        Z = self._parts * to_device(scales[self._groups])
        sums = xp.sum(M, axis=1) @ Z**2 - xp.sum(Z * (M @ Z), axis=0)
        return 2 * power * np.bincount(self._groups, as_numpy(sums))


class Evidence(LeaveOneOutError):
    """Negative log marginal likelihood of a Gaussian process.

    It is multiplied by 2/n, for the amplitude of greatest likelihood and for each
    column of Y (one less for classes, whose indicators sum to a constant). On few rows,
    many scales chosen by leave-one-out error overfit, but those chosen by this do not
    (on 21 sets of 100 rows, a blend with the latter has 0.95 of the error).

    Rasmussen and Williams. Gaussian processes for machine learning (2006), section 5.4.
    """

    def _value(self, R, dual):
        """Return the value, ``M = k/n (R - n/q R Y Y' R)`` and c = 1.

        Here, ``q = tr(Y' R Y)``.
        """
        xp = array_namespace(dual)
        (n, k) = dual.shape
        k = max(1, k - 1)
        q = float(xp.sum(dual * xp.astype(self._target, dual.dtype, copy=False)))
        if not (np.isfinite(q) and q > 0):
            return -1e10, None, 1.0
        log_determinant = -float(xp.linalg.slogdet(R)[1])
        value = k * (np.log(q / (n * k)) + log_determinant / n)
        return value, k * (R / n - dual @ dual.T / q), 1.0


class Search(NamedTuple):
    """Settings of a search for scales: quasi-Newton steps on more and more rows.

    There are ``max_iter`` evaluations on ``fewest_rows`` rows (0: the start is used
    unchanged), then ten on twice as many, and so on up to ``most_rows``. If
    ``by_evidence``, scales per feature maximise the evidence instead of minimising the
    leave-one-out error. Features of the same group (numbers from 0) share a scale.
    """

    max_iter: int = 10
    most_rows: int = 2000
    fewest_rows: int = FEWEST_ROWS
    by_evidence: bool = False
    groups: np.ndarray | None = None


SEARCH = Search()


def tune_scales(
    X, Y, weights, kernel, rng, *, start=None, per_feature=False, search=SEARCH
):
    """Search for scales (d,) and ridge by leave-one-out error; also return the start.

    Y is centred. Without a ``start``, a grid on the fewest rows finds a common scale of
    all features. Quasi-Newton steps refine it on these rows, then a few on twice as
    many, and so on, since the best scales depend on the number of rows (power-plant
    with 5,000 rows: an error of 0.200 with scales found on 500 rows, 0.176 on 1,000,
    0.173 on 2,000). With ``per_feature``, there is a scale per feature, and ``PENALTY``
    / n times the squared deviation of the log scales from their mean is added to the
    log error: without it, many scales overfit small tables.

    Cawley and Talbot. Preventing over-fitting during model selection via Bayesian
    regularisation of the hyper-parameters. JMLR 8 (2007).
    """
    if not search.max_iter:
        return start, start
    n = len(X)
    order = rng.permutation(n)[: max(search.fewest_rows, search.most_rows)]
    X, Y, weights = X[order], Y[order], weights[order]
    if start is None:
        first = slice(search.fewest_rows)
        first = X[first], Y[first], weights[first], kernel
        start = _best_of_grid(*first)
        if per_feature:
            start = _descend(*first, *start, None, EVALUATIONS)
    point = start
    max_iter = search.max_iter
    groups = None
    if per_feature:
        each = np.arange(X.shape[1])
        groups = each if search.groups is None else search.groups
    n_kept = groups.max() + 1 if per_feature and kernel == "laplacian" else 1
    for m in rows_of_search(n, n_kept, search):
        part = X[:m], Y[:m], weights[:m], kernel
        by_evidence = per_feature and search.by_evidence
        criterion = Evidence if by_evidence else LeaveOneOutError
        point = _descend(*part, *point, groups, max_iter, criterion)
        max_iter = EVALUATIONS
    return point, start


def rows_of_search(n, n_kept, search):
    """Numbers of rows for the quasi-Newton steps, each twice the previous one.

    ``n_kept`` distances per pair of rows must fit into memory.
    """
    last = min(n, search.most_rows, int(np.sqrt(PAIRS_BYTES / (4 * n_kept))))
    rows = [min(search.fewest_rows, last)]
    while rows[-1] < last:
        rows.append(min(2 * rows[-1], last))
    return rows


def _best_of_grid(X, Y, weights, kernel):
    """Best common scale and ridge on a grid, by one eigendecomposition per scale.

    Starting from the best of three scales, neighbours are tried until none is better.
    """
    # A length scale for which no kernel value underflows.
    reach = max(1.0, np.abs(X - X.mean(axis=0)).sum(axis=1).mean() / 10)
    exponent = -np.log(
        np.maximum(gram_matrix(X / reach, kernel=kernel, gamma=1.0), 1e-300)
    )
    typical = np.median(exponent) or 1.0
    errors = np.full((len(SCALES), len(RIDGES)), np.inf)
    near = [2, 4, 6]
    tried = set()
    while not tried.issuperset(near):
        for i in set(near) - tried:
            K = np.exp(-SCALES[i] / typical * exponent)
            residuals = leave_one_out(K, Y, RIDGES, weights) - Y
            errors[i] = np.einsum("rnk,n->r", residuals**2, weights)
        tried.update(near)
        best = min(near, key=lambda i: errors[i].min())
        near = range(max(0, best - 1), min(len(SCALES), best + 2))
    small = errors <= NEAR_LEAST * errors.min()
    column = np.flatnonzero(small.any(axis=0))[-1]
    best = SCALES[errors[:, column].argmin()] / typical
    factor = np.sqrt(best) if kernel == "rbf" else best
    return np.full(X.shape[1], factor / reach), float(RIDGES[column])


def _descend(
    X, Y, weights, kernel, scales, alpha, groups, max_iter, criterion=LeaveOneOutError
):
    """Take quasi-Newton steps on the log error, for a scale of each group of features.

    The error is penalised, unless ``groups`` is None, for one scale of all features.
    """
    n = len(X)
    tied = groups is None
    groups = np.zeros(len(scales), dtype=int) if tied else groups
    _, first = np.unique(groups, return_index=True)
    options = {"tied": tied, "groups": groups, "single_from": SINGLE_RIDGE * n}
    criterion = criterion(X * scales, Y, weights, kernel, **options)

    def objective(p):
        try:
            value, by_scale, by_alpha = criterion(np.exp(p[:-1]), np.exp(p[-1]))
        except np.linalg.LinAlgError:
            return 1e10, np.zeros_like(p)
        gradient = np.append(by_scale, by_alpha)
        if not tied and value > -1e10:
            deviation = np.log(scales[first]) + p[:-1]
            deviation -= deviation.mean()
            value += PENALTY / n * deviation @ deviation
            gradient[:-1] += 2 * PENALTY / n * deviation
        return value, gradient

    start = np.append(np.zeros(len(first)), np.log(alpha))
    bounds = [(-3, 3) if tied else (-7, 4)] * (len(start) - 1)
    result = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[*bounds, np.log(RIDGE_BOUNDS)],
        options={"maxfun": max_iter, "maxiter": max_iter, "ftol": LEAST_GAIN},
    )
    return scales * np.exp(result.x[:-1])[groups], float(np.exp(result.x[-1]))
