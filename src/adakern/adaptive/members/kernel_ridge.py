"""Members that stand on kernels: ridge regression."""

from copy import copy
from dataclasses import dataclass

import numpy as np
from array_api_compat import is_numpy_array
from sklearn.utils import check_random_state

from adakern._utils.arrays import as_numpy, to_device
from adakern._utils.blocks import BLOCK_BYTES, row_blocks
from adakern._utils.memory import require_memory
from adakern._utils.threads import blas_threads, map_in_threads, one_blas_thread
from adakern.adaptive.leave_one_out import SEARCH, Search, tune_scales
from adakern.adaptive.local_models import Cells, LocalModels
from adakern.adaptive.members.base import BaseMember, Fits, gather
from adakern.kernels import gram_matrix, kernel_product
from adakern.linalg import leave_one_out, ridge_solution

#: Up to so many times the centres all rows are centres: it takes no longer.
FULL_FACTOR = 3

#: Centres for each effective degree of freedom, and at least; rows whose spectrum tells
#: how many degrees there are.
CENTRES_PER_DEGREE, FEWEST_CENTRES, ROWS_OF_SPECTRUM = 5, 500, 1000

#: Rows of a block of predictions; blocks are shared out among threads.
PREDICTED_ROWS = 2000


@dataclass
class KernelRidgeMember(BaseMember):
    """Kernel ridge regression with scales and ridge of least leave-one-out error.

    ``search`` says how it looks for scales on all rows and ``fold_search`` how in a
    fold, from ``start`` on, a pair of scales and ridge. On more than three times
    ``max_support`` rows so many are centres, the Nyström form, to which models of cells
    of near rows are added. Equal rows become one row with their mean target and summed
    weight: no row is predicted from its copy.
    Kernels are computed where the context says
    (:func:`adakern._utils.arrays.device_context`); what is learned is NumPy's:
    ``scales_``, ``alpha_``, the scaled centres ``support_``, ``dual_coef_`` and
    ``intercept_``.
    """

    kernel: str
    per_feature: bool = False
    search: Search = SEARCH
    fold_search: Search | None = None
    start: tuple | None = None
    max_support: int = 3000
    random_state: object = None

    refit = closed_form = True
    slope = 5.0  # of a regression on indicators, with values in [0, 1]

    #: What is added to the Nyström form.
    local_ = None

    def fit(self, X, Y, weights):
        """Learn scales, ridge and coefficients."""
        if self.is_nystrom(len(X)):
            fold = np.zeros(len(X), dtype=int)
            return self.fit_nystrom_folds(X, Y, weights, fold)[-1]
        X, Y, weights, _ = merge_equal_rows(X, Y, weights)
        with one_blas_thread(len(X)):
            Y, weights = self._tune(
                X, Y, weights, check_random_state(self.random_state)
            )
            self._solve_in_full(X * self.scales_, Y, weights)
        return self

    def is_nystrom(self, n):
        """Whether n rows are too many to be centres all of them."""
        return n > FULL_FACTOR * self.max_support

    def _tune(self, X, Y, weights, rng):
        """Find intercept, scales and ridge; returns Y centred and weights of mean 1."""
        self.intercept_ = np.average(Y, axis=0, weights=weights)
        Y, weights = Y - self.intercept_, weights / weights.mean()
        how = {
            "start": self.start,
            "per_feature": self.per_feature,
            "search": self.search,
        }
        with one_blas_thread(self.search.most_rows):
            found, self.start_ = tune_scales(X, Y, weights, self.kernel, rng, **how)
        self.scales_, self.alpha_ = found
        return Y, weights

    @property
    def name(self):
        """As in the list of all members."""
        return self.kernel + "-ard" * self.per_feature

    def found(self):
        """Scales and ridge."""
        return self.scales_, self.alpha_

    def in_fold(self, whole):
        """Itself for a fold: its search starts where that on all rows
        ended, or began."""
        search, member = self.fold_search, copy(self)
        if search is None or not hasattr(whole, "start_"):
            return member
        member.start = whole.found() if search.start == self.name else whole.start_
        member.search = search
        return member

    def fit_folds(self, table, run, whole=None):
        """All folds in one pass where there are too many rows to be centres."""
        if table.n_folds == 1 or not self.is_nystrom(len(table.X)):
            return super().fit_folds(table, run, whole)
        rows = table.X, table.Y, table.weights, table.fold
        *models, whole = copy(self).fit_nystrom_folds(*rows)
        values = [m.predict(table.X[table.fold == k]) for k, m in enumerate(models)]
        predicted = gather(values, table)
        return Fits(models, predicted, predicted, whole)

    def fit_nystrom_folds(self, X, Y, weights, fold):
        """The Nyström form without each fold, if there are several, and of all rows.

        Scales, ridge and centres are those of all rows; coefficients are of a fold.
        Least squares over the span of the centres' kernels needs sums over rows, and
        without a fold these are the sums less that fold's. Equal rows lie in one fold.
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
        sums = [
            self._normal_equations(
                Z[fold_of == k], Y[fold_of == k], weights[fold_of == k]
            )
            for k in range(fold.max() + 1)
        ]
        normal = self.alpha_ * self._gram(self.support_) + sum(A for A, _ in sums)
        right = sum(B for _, B in sums)
        folds = (
            [self._solved(normal - A, right - B) for A, B in sums]
            if len(sums) > 1
            else []
        )
        self.dual_coef_ = as_numpy(ridge_solution(normal, right)[0])
        self._add_local_models(folds, Z, Y, weights, fold_of)
        return [*folds, self]

    def _enough_centres(self, Z, n):
        """So many times the effective degrees of freedom that n rows have, from some of
        them.

        Rudi, Camoriano, Rosasco. Less is more: Nyström computational regularization.
        NeurIPS 2015.
        """
        values = np.maximum(np.linalg.eigvalsh(as_numpy(self._gram(Z))), 0) * (
            n / len(Z)
        )
        freedom = np.sum(values / (values + self.alpha_))
        return int(
            min(self.max_support, max(FEWEST_CENTRES, CENTRES_PER_DEGREE * freedom))
        )

    def _solved(self, normal, right):
        member = copy(self)
        member.dual_coef_ = as_numpy(ridge_solution(normal, right)[0])
        return member

    @property
    def stands_on_centres(self):
        """Whether sums over more rows would do for its coefficients."""
        return self.local_ is not None

    def normal_equations(self, X, Y, weights):
        """Sums over rows for :meth:`with_sums`; weights have the mean 1
        over all rows."""
        return self._normal_equations(X * self.scales_, Y - self.intercept_, weights)

    def with_sums(self, normal, right):
        """Itself with the coefficients of all rows over which the sums were taken."""
        return self._solved(normal + self.alpha_ * self._gram(self.support_), right)

    def _add_local_models(self, folds, Z, Y, weights, fold_of):
        """For the member of each fold, on the other rows, and for itself on all."""
        duals = np.hstack([member.dual_coef_ for member in (self, *folds)])
        fitted = np.split(self._product(Z, duals), len(folds) + 1, axis=1)
        cells, alpha = Cells(Z), self.alpha_
        self.local_ = LocalModels(self.kernel, cells, Z, Y - fitted[0], weights, alpha)
        for k, (member, values) in enumerate(zip(folds, fitted[1:], strict=True)):
            rows = fold_of != k
            part = Z[rows], (Y - values)[rows], weights[rows]
            member.local_ = LocalModels(
                self.kernel, cells, *part, alpha, like=self.local_
            )

    def _normal_equations(self, Z, Y, weights):
        """Sums over the rows Z of products of kernels with each other and with Y."""
        normal = right = 0.0
        for rows in row_blocks(len(Z), 8 * len(self.support_), BLOCK_BYTES):
            root = to_device(np.sqrt(weights[rows, None]))
            K = self._gram_in_threads(Z[rows])
            K *= root
            normal += K.T @ K  # recognised as symmetric: half the work
            right += K.T @ (to_device(Y[rows]) * root)
        return normal, right

    def _solve_in_full(self, Z, Y, weights):
        require_memory(8 * len(Z) ** 2, "the Gram matrix", "lower max_support")
        root = to_device(np.sqrt(weights)[:, None])
        K = self._gram(Z)
        K *= root
        K *= root[:, 0]
        dual, self.alpha_ = ridge_solution(K, to_device(Y) * root, self.alpha_)
        self.support_, self.dual_coef_ = Z, as_numpy(dual * root)

    def predict_left_out(self, X, Y, weights):
        """What it would predict for each row if all others were known.

        Scales and ridge stay; coefficients are, in closed form, of all other rows. Rows
        equal to the one that is predicted are left out with it.
        """
        X, Y, weights, place = merge_equal_rows(X, Y, weights)
        with one_blas_thread(len(X)):
            K, shares = as_numpy(self._gram(X * self.scales_)), weights / weights.mean()
            values = leave_one_out(K, Y - self.intercept_, self.alpha_, shares)
        return (values + self.intercept_)[place]

    def _gram(self, A, B=None):
        B = None if B is None else to_device(B)
        return gram_matrix(to_device(A), B, kernel=self.kernel, gamma=1.0)

    def _gram_in_threads(self, Z):
        """The kernel of rows with the centres."""
        if not is_numpy_array(to_device(np.empty(0))):
            return self._gram(Z, self.support_)
        parts = [part for part in np.array_split(Z, blas_threads()) if len(part)]
        tiles = map_in_threads(lambda part: self._gram(part, self.support_), parts)
        return tiles[0] if len(tiles) == 1 else np.concatenate(tiles)

    def predict(self, X):
        blocks = row_blocks(len(X), 1, PREDICTED_ROWS)
        return np.concatenate(
            map_in_threads(self._values, [X[rows] for rows in blocks])
        )

    def _values(self, X):
        Z = X * self.scales_
        values = self._product(Z, self.dual_coef_) + self.intercept_
        return values if self.local_ is None else values + self.local_.predict(Z)

    def _product(self, Z, dual):
        """Kernels of the scaled rows Z with the centres times coefficients."""
        arrays = map(to_device, (Z, self.support_, dual))
        return as_numpy(kernel_product(*arrays, kernel=self.kernel, gamma=1.0))


def merge_equal_rows(X, Y, weights):
    """Each different row of X once, with its mean target and its summed weight.

    Ridge regression on the merged rows has the same solution. Also returned is, for
    each row of X, the place of its equal.
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
