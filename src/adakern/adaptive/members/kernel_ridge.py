"""Kernel ridge regressions: three kernels, with a common scale or one per feature."""

from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from sklearn.utils import check_random_state

from adakern._utils.arrays import as_numpy, to_device
from adakern._utils.resources import (
    BLOCK_BYTES,
    blas_threads,
    map_in_threads,
    one_blas_thread,
    require_memory,
    row_blocks,
)
from adakern.adaptive.leave_one_out import (
    EVALUATIONS,
    FEWEST_ROWS,
    RIDGE_BOUNDS,
    SEARCH,
    Search,
    tune_scales,
)
from adakern.adaptive.local_models import CELL_ROWS, Cells, LocalModels
from adakern.adaptive.members.base import (
    ENOUGH_ROWS,
    FEW_ROWS,
    FULL_FACTOR,
    MANY_ROWS,
    ROWS_PER_SCALE,
    Member,
    prepared_centres,
)
from adakern.kernels import gram_matrix, kernel_product
from adakern.linalg import leave_one_out, ridge_solution

#: Above this number of columns, a search for scales per feature takes minutes and
#: overfits, and the distances of the L1 kernel, which are not computed by a matrix
#: product, take most of the time.
MANY_COLUMNS = 500

#: Number of quasi-Newton evaluations for scales per feature; and in a fold, for a
#: common scale and for scales per feature, starting from those of all rows.
EVALUATIONS_PER_FEATURE = 30
EVALUATIONS_IN_FOLD = (4, 8)

#: Number of rows for the last search steps: in regression; in classification, where
#: more rows do not help, and in a screening; in a fold.
MOST_ROWS = 2000
FEWER_ROWS = 1000
MOST_ROWS_IN_FOLD = 500

#: Number of centres per effective degree of freedom; minimum number of centres; and
#: number of rows from which the effective degrees of freedom are estimated.
CENTRES_PER_DEGREE = 5
FEWEST_CENTRES = 500
ROWS_OF_SPECTRUM = 1000

#: Candidate factors of the common ridge for each of several targets; the last one keeps
#: it. Another factor is used if it reduces the squared leave-one-out error on so many
#: rows to less than this fraction. Noisy targets dominate the common ridge, and targets
#: with little noise need a smaller one.
RIDGE_FACTORS = np.array([1e-3, 1e-2, 0.1, 10.0, 1.0])
ROWS_OF_RIDGES, LESS_BY_RIDGE = 250, 0.95

#: Number of rows per block of predictions; blocks are distributed to threads.
PREDICTED_ROWS = 2000


@dataclass(kw_only=True, eq=False)
class KernelRidge(Member):
    """Kernel ridge regression with scales and ridge chosen by leave-one-out error.

    ``search`` are the settings of the search for scales, which begins at ``start``, a
    pair of scales and ridge. ``fold_search`` are those in a fold, where the search
    ``refines`` the result for all rows, or begins at the same start. Equal rows are
    merged, with their mean target and the sum of their weights, so that no row is
    predicted from its copy. Kernels are computed on the device of the context
    (:func:`adakern._utils.arrays.device_context`). Fitted attributes are NumPy arrays:
    ``scales_``, ``alpha_`` (``ridges_`` for several targets), the scaled centres
    ``support_``, ``dual_coef_`` and ``intercept_``.
    """

    kernel: str
    per_feature: bool = False
    search: Search = SEARCH
    fold_search: Search | None = None
    refines: bool = True
    start: tuple | None = None
    factors: np.ndarray | None = None

    refit = True
    slope = 5.0  # of a regression on indicators, with values in [0, 1]

    def suits(self, shape):
        """Whether the blend needs this kernel and kind of scales for such tables.

        The preset "fast" uses the members that were best within a sixth of the time on
        the development sets: those with a common scale for classification, and those
        with scales per feature for regression.
        """
        classify = self.setting.classify
        fast = self.setting.fast
        wide = shape.d > MANY_COLUMNS
        many = shape.n > MANY_ROWS
        tied = wide or (classify and not many)
        third = self.kernel == "l2-laplacian"
        if fast and (third or self.per_feature == tied):
            return False
        if self.per_feature:
            # It takes a fifth of the time, and the held-out loss is lower without it.
            few_a_column = shape.n < ROWS_PER_SCALE * shape.d
            return not wide and not (third and classify and few_a_column)
        if wide:
            return self.kernel != "laplacian"
        if self.kernel == "rbf":
            return not many
        return not many and classify and (fast or shape.n >= FEW_ROWS)

    def seconds(self, shape):
        n, d, _, n_folds, _ = shape
        max_support = self.setting.max_support
        m = min(n, MOST_ROWS)
        steps = 2 * EVALUATIONS if self.per_feature else EVALUATIONS
        tuning = steps * (5e-11 * m**3 + 6e-9 * m * m * (1 + d / 20))
        pair = 1e-9 * (5 + d)
        if n > FULL_FACTOR * max_support:
            product = 3e-11 * max_support * (n + n_folds * max_support)
            local = (n_folds + 1) * n * CELL_ROWS * (pair + 1.5e-11 * CELL_ROWS)
            return tuning + max_support * (2 * n * pair + product) + local
        solutions = (n_folds + 1) * n * n * (pair + 1.5e-11 * n)
        return 0.1 + tuning + solutions

    def set_up(self, table, searches):
        """Return the member with a search suitable for the table.

        It is the Nyström variant if there are too many rows for all to be centres. The
        search starts from the result of the screening, or else from that of the same
        kernel with a common scale.
        """
        n = len(table.X)
        n_scales = len(np.unique(table.groups))
        setting = self.setting
        most_rows = FEWER_ROWS if setting.classify else MOST_ROWS
        start = searches.get((self.kernel, self.per_feature))
        if setting.screening:  # without the most expensive steps
            search = Search(EVALUATIONS_PER_FEATURE, FEWER_ROWS)
        elif start is not None:  # only the steps that the screening omitted
            search = Search(EVALUATIONS, most_rows, fewest_rows=most_rows)
        else:
            start = searches.get((self.kernel, False))
            steps = EVALUATIONS_PER_FEATURE if self.per_feature else EVALUATIONS
            search = Search(steps, most_rows)
            search = _quicker(search, n) if setting.fast else search
        refines = not self.per_feature or n >= ROWS_PER_SCALE * n_scales
        steps = EVALUATIONS_IN_FOLD[self.per_feature] if n < ENOUGH_ROWS else 0
        steps = steps if refines else EVALUATIONS_PER_FEATURE
        fold_search = Search(steps, MOST_ROWS_IN_FOLD)
        fold_search = _quicker(fold_search, n) if setting.fast else fold_search
        criterion = {"by_evidence": n < FEW_ROWS, "groups": np.array(table.groups)}
        changes = {
            "search": search._replace(**criterion),
            "fold_search": fold_search._replace(**criterion),
            "refines": refines,
            "start": start,
        }
        n_learned = n if table.learns_all else np.sum(table.fold != 0)
        if n_learned <= FULL_FACTOR * setting.max_support:
            return replace(self, **changes)
        return NystromKernelRidge(**vars(self) | changes)

    def in_fold(self, whole):
        """Return the member for folds.

        Its search starts where that on all rows ended (``refines``) or started.
        """
        if not hasattr(whole, "start_"):
            return self
        start = whole.scales_, whole.alpha_
        start = start if self.refines else whole.start_
        factors = whole.ridges_ / whole.alpha_
        return replace(self, search=self.fold_search, start=start, factors=factors)

    @property
    def searches(self):
        """Scales and ridge, by kernel and kind of scales."""
        return [((self.kernel, self.per_feature), (self.scales_, self.alpha_))]

    def fit(self, X, Y, weights):
        X, Y, weights, _ = merge_equal_rows(X, Y, weights)
        rng = check_random_state(self.random_state)
        with one_blas_thread(len(X)):
            Y, weights = self._tune(X, Y, weights, rng)
            require_memory(8 * len(X) ** 2, "the Gram matrix", "lower max_support")
            self.support_ = X * self.scales_
            if Y.shape[1] > 1 and not self.setting.classify:
                self.ridges_ = self._ridges(Y, weights, rng)
            root = to_device(np.sqrt(weights)[:, None])
            K = self._gram(self.support_)
            K *= root
            K *= root[:, 0]
            self.dual_coef_ = np.empty(Y.shape)
            for ridge, columns, A in by_ridge(self.ridges_, K):
                target = to_device(Y[:, columns]) * root
                dual, used = ridge_solution(A, target, ridge)
                self.dual_coef_[:, columns] = as_numpy(dual * root)
                self.ridges_[columns] = used
            self.alpha_ = used if A is K else self.alpha_
        return self

    def _ridges(self, Y, weights, rng):
        """Ridges of the targets, for a regression with several.

        Each minimises the leave-one-out error on some rows with the common scales,
        unless the common ridge is nearly as good. In a fold, the ratios to the common
        ridge are those found on all rows.
        """
        if self.factors is not None:
            return self.alpha_ * self.factors
        rows = rng.permutation(len(Y))[:ROWS_OF_RIDGES]
        K = as_numpy(self._gram(self.support_[rows]))
        Y = Y[rows]
        weights = weights[rows]
        tried = np.clip(self.alpha_ * RIDGE_FACTORS, *RIDGE_BOUNDS)
        errors = (leave_one_out(K, Y, tried, weights) - Y) ** 2
        errors = np.einsum("rnk,n->rk", errors, weights)
        helps = errors.min(axis=0) < LESS_BY_RIDGE * errors[-1]
        return np.where(helps, tried[errors.argmin(axis=0)], self.ridges_)

    def _tune(self, X, Y, weights, rng):
        """Set intercept, scales and ridge; return centred Y and weights of mean 1."""
        self.intercept_ = np.average(Y, axis=0, weights=weights)
        Y, weights = Y - self.intercept_, weights / weights.mean()
        with one_blas_thread(self.search.most_rows):
            (self.scales_, self.alpha_), self.start_ = tune_scales(
                X,
                Y,
                weights,
                self.kernel,
                rng,
                start=self.start,
                per_feature=self.per_feature,
                search=self.search,
            )
        self.ridges_ = np.full(Y.shape[1], self.alpha_)
        return Y, weights

    def predict_left_out(self, X, Y, weights):
        """Predict each row from all other rows.

        Scales and ridge are those of all rows; coefficients are fitted to all other
        rows, in closed form. Rows equal to the predicted one are left out with it.
        """
        X, Y, weights, place = merge_equal_rows(X, Y, weights)
        with one_blas_thread(len(X)):
            K = as_numpy(self._gram(X * self.scales_))
            shares = weights / weights.mean()
            Y, values = Y - self.intercept_, np.empty(Y.shape)
            for ridge, columns, _ in by_ridge(self.ridges_, K):
                values[:, columns] = leave_one_out(K, Y[:, columns], ridge, shares)
        return (values + self.intercept_)[place]

    def predict(self, X):
        blocks = row_blocks(len(X), 1, PREDICTED_ROWS)
        parts = map_in_threads(self._values, [X[rows] for rows in blocks])
        return np.concatenate(parts)

    def _values(self, X):
        arrays = map(to_device, (X * self.scales_, self.support_, self.dual_coef_))
        prepared = prepared_centres(self, X, self.support_, self.kernel)
        product = kernel_product(
            *arrays, kernel=self.kernel, gamma=1.0, prepared=prepared
        )
        return as_numpy(product) + self.intercept_

    def _gram(self, A, B=None):
        B = None if B is None else to_device(B)
        return gram_matrix(to_device(A), B, kernel=self.kernel, gamma=1.0)


class NystromKernelRidge(KernelRidge):
    """Kernel ridge regression with at most ``max_support`` centres, and local models.

    Scales, ridge and centres are those of all rows; only coefficients are computed
    without each fold. The least squares problem in the span of the centres' kernel
    functions is given by sums over rows; without a fold, these are the total sums minus
    those of the fold.
    """

    #: Local models that are added to the Nyström predictions.
    local_ = None

    def fit(self, X, Y, weights):
        return self.fit_without_each(X, Y, weights, np.zeros(len(X), dtype=int))[-1]

    def fit_folds(self, table):
        """Return the members without each fold, and that of all rows, in one pass."""
        rows = table.X, table.Y, table.weights, table.fold
        return copy(self).fit_without_each(*rows)

    def fit_without_each(self, X, Y, weights, fold):
        """Return copies fitted without each fold, if there are several, and self.

        Equal rows must be in the same fold.
        """
        X, Y, weights, place = merge_equal_rows(X, Y, weights)
        fold_of = np.empty(len(X), dtype=int)
        fold_of[place] = fold
        rng = check_random_state(self.random_state)
        Y, weights = self._tune(X, Y, weights, rng)
        Z = X * self.scales_
        order = rng.permutation(len(Z))
        n_centres = self._enough_centres(Z[order[:ROWS_OF_SPECTRUM]], len(Z))
        self.support_ = Z[np.sort(order[:n_centres])]
        sums = []
        for k in range(fold.max() + 1):
            rows = fold_of == k
            sums.append(self._normal_equations(Z[rows], Y[rows], weights[rows]))
        normal = self.alpha_ * self._gram(self.support_) + sum(A for A, _ in sums)
        right = sum(B for _, B in sums)
        folds = []
        if len(sums) > 1:
            folds = [self._solved(normal - A, right - B) for A, B in sums]
        self.dual_coef_ = as_numpy(ridge_solution(normal, right)[0])
        self._add_local_models(folds, Z, Y, weights, fold_of)
        return [*folds, self]

    def _enough_centres(self, Z, n):
        """Number of centres: a multiple of the effective degrees of freedom of n rows.

        The degrees of freedom are estimated from some of the rows.

        Rudi, Camoriano, Rosasco. Less is more: Nyström computational regularization.
        NeurIPS 2015.
        """
        values = np.linalg.eigvalsh(as_numpy(self._gram(Z)))
        values = np.maximum(values, 0) * (n / len(Z))
        freedom = np.sum(values / (values + self.alpha_))
        enough = max(FEWEST_CENTRES, CENTRES_PER_DEGREE * freedom)
        return int(min(self.setting.max_support, enough))

    def _solved(self, normal, right):
        member = copy(self)
        member.dual_coef_ = as_numpy(ridge_solution(normal, right)[0])
        return member

    def normal_equations(self, X, Y, weights):
        """Sums over rows for :meth:`with_sums`; the weights of all rows have mean 1."""
        return self._normal_equations(X * self.scales_, Y - self.intercept_, weights)

    def with_sums(self, normal, right):
        """Return the member with the coefficients given by sums over rows."""
        return self._solved(normal + self.alpha_ * self._gram(self.support_), right)

    def _add_local_models(self, folds, Z, Y, weights, fold_of):
        """Fit local models without each fold, and for self to all rows."""
        duals = np.hstack([member.dual_coef_ for member in (self, *folds)])
        arrays = map(to_device, (Z, self.support_, duals))
        product = as_numpy(kernel_product(*arrays, kernel=self.kernel, gamma=1.0))
        fitted = np.split(product, len(folds) + 1, axis=1)
        cells = Cells(Z)
        alpha = self.alpha_
        self.local_ = LocalModels(self.kernel, cells, Z, Y - fitted[0], weights, alpha)
        for k, (member, values) in enumerate(zip(folds, fitted[1:], strict=True)):
            rows = fold_of != k
            part = Z[rows], (Y - values)[rows], weights[rows]
            member.local_ = LocalModels(
                self.kernel, cells, *part, alpha, like=self.local_
            )

    def _normal_equations(self, Z, Y, weights):
        """Products of kernel columns with each other and with Y, summed over rows Z."""
        normal = right = 0.0
        for rows in row_blocks(len(Z), 8 * len(self.support_), BLOCK_BYTES):
            root = to_device(np.sqrt(weights[rows, None]))
            K = self._gram_in_threads(Z[rows])
            K *= root
            normal += K.T @ K  # recognised as symmetric: half the work
            right += K.T @ (to_device(Y[rows]) * root)
        return normal, right

    def _gram_in_threads(self, Z):
        """Kernel values between rows and centres, computed in several threads."""
        if not is_numpy_array(to_device(np.empty(0))):
            return self._gram(Z, self.support_)
        parts = [part for part in np.array_split(Z, blas_threads()) if len(part)]
        tiles = map_in_threads(lambda part: self._gram(part, self.support_), parts)
        return tiles[0] if len(tiles) == 1 else np.concatenate(tiles)

    def _values(self, X):
        return super()._values(X) + self.local_.predict(X * self.scales_)


def _quicker(search, n):
    """Return the search of preset "fast", on at most a quarter of the rows, or 250."""
    rows = max(FEWEST_ROWS // 2, n // 4)
    steps = EVALUATIONS_PER_FEATURE // 2
    return search._replace(
        max_iter=min(search.max_iter, steps),
        most_rows=min(search.most_rows, rows),
        fewest_rows=min(search.fewest_rows, rows),
    )


def by_ridge(ridges, K):
    """Return triples of ridge, its targets, and K, copied if there are several."""
    distinct = np.unique(ridges)
    xp = array_namespace(K)
    if len(distinct) == 1:
        return [(float(distinct[0]), slice(None), K)]
    return [
        (float(ridge), np.flatnonzero(ridges == ridge), xp.asarray(K, copy=True))
        for ridge in distinct
    ]


def merge_equal_rows(X, Y, weights):
    """Return the distinct rows of X, with mean targets and summed weights.

    The index of each row of X among the distinct rows is returned as well. Ridge
    regression on the distinct rows has the same solution.
    """
    order = np.lexsort(X.T)
    new = np.append(True, (X[order[1:]] != X[order[:-1]]).any(axis=1))
    if new.all():
        return X, Y, weights, np.arange(len(X))
    place = np.empty(len(X), dtype=int)
    place[order] = np.cumsum(new) - 1
    total = np.bincount(place, weights)
    sums = [np.bincount(place, weights * y) for y in Y.T]
    return X[order[new]], np.column_stack(sums) / total[:, None], total, place


MEMBERS = [
    KernelRidge(name="laplacian", rank=2, kernel="laplacian"),
    KernelRidge(name="laplacian-ard", rank=4, kernel="laplacian", per_feature=True),
    KernelRidge(name="rbf", rank=6, kernel="rbf"),
    KernelRidge(name="l2-laplacian", rank=9, kernel="l2-laplacian"),
    KernelRidge(
        name="l2-laplacian-ard", rank=10, kernel="l2-laplacian", per_feature=True
    ),
    KernelRidge(name="rbf-ard", rank=11, kernel="rbf", per_feature=True),
]
