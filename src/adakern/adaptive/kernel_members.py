"""Members that are kernel ridge regression, full or on a random set of centres."""

from copy import copy

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from sklearn.utils import check_random_state

from adakern._utils.arrays import as_numpy, placed
from adakern._utils.blocks import BLOCK_BYTES, row_blocks
from adakern._utils.memory import require_memory
from adakern._utils.threads import map_in_threads, one_blas_thread
from adakern.adaptive.leave_one_out import leave_one_out, tune_scales
from adakern.adaptive.parts import BaseMember, Fits, gather
from adakern.kernels import gram_matrix, kernel_product
from adakern.linalg import add_to_diagonal, factorised

__all__ = ["KernelRidgeMember"]

#: Up to so many times the centres all rows are centres: it takes no longer.
FULL_FACTOR = 3

#: Rows of a block of predictions; blocks are shared out among threads.
PREDICTED_ROWS = 2000

#: Ridges that are tried, each ten times the one before, where rounding makes the kernel
#: matrix indefinite.
LARGER_RIDGES = 8


class KernelRidgeMember(BaseMember):
    """Kernel ridge regression with scales and ridge of least leave-one-out error.

    Equal rows become one row with their mean target and summed weight: no row is
    predicted from its copy. Kernels are computed where the context says
    (:func:`adakern._utils.arrays.computing_where`); what is learned is NumPy's.

    Parameters
    ----------
    kernel : {"laplacian", "l2-laplacian", "rbf"}
    per_feature : bool, default=False
        One scale per feature instead of one for all.
    max_support : int, default=3000
        Centres of the Nyström form, taken for tables of more than three times as many
        rows.
    start : pair of scales and ridge, default=None
        Where the search starts; found on a grid when None.
    max_iter : int, default=10
        Quasi-Newton evaluations of the search on its first rows.
    most_rows : int, default=2000
        Rows of its last steps.
    fewest_rows : int, default=500
        Rows of its first steps.
    fold_search : Search, default=None
        How it looks for scales in a fold; as on all rows when None.
    random_state : int, RandomState instance or None, default=None
        Draws the rows of the search and the centres.

    Attributes
    ----------
    scales_ : ndarray of shape (d,)
    alpha_ : float
    support_ : ndarray of shape (m, d)
        The centres, scaled.
    dual_coef_ : ndarray of shape (m, k)
    intercept_ : ndarray of shape (k,)
    """

    refit = True
    slope = 5.0  # of a regression on indicators, with values in [0, 1]

    def __init__(
        self,
        kernel,
        per_feature=False,
        max_support=3000,
        start=None,
        max_iter=10,
        most_rows=2000,
        fewest_rows=500,
        fold_search=None,
        random_state=None,
    ):
        self.kernel = kernel
        self.per_feature = per_feature
        self.max_support = max_support
        self.start = start
        self.max_iter = max_iter
        self.most_rows = most_rows
        self.fewest_rows = fewest_rows
        self.fold_search = fold_search
        self.random_state = random_state

    def fit(self, X, Y, weights):
        """Learn scales, ridge and coefficients.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        Y : ndarray of shape (n, k)
        weights : ndarray of shape (n,)
            Positive.

        Returns
        -------
        self
        """
        if self.is_nystrom(len(X)):
            fold = np.zeros(len(X), dtype=int)
            return self.fit_nystrom_folds(X, Y, weights, fold)[-1]
        X, Y, weights, _ = merge_equal_rows(X, Y, weights)
        with one_blas_thread(len(X)):
            rng = check_random_state(self.random_state)
            Y, weights = self._tune(X, Y, weights, rng)
            self._solve_in_full(X * self.scales_, Y, weights)
        return self

    def is_nystrom(self, n):
        """Whether n rows are too many to be centres all of them.

        Parameters
        ----------
        n : int
            Training rows.
        """
        return n > FULL_FACTOR * self.max_support

    def _tune(self, X, Y, weights, rng):
        """Find intercept, scales and ridge; returns Y centred and weights of mean 1."""
        self.intercept_ = np.average(Y, axis=0, weights=weights)
        Y, weights = Y - self.intercept_, weights / weights.mean()
        self.scales_, self.alpha_ = tune_scales(
            X,
            Y,
            weights,
            self.kernel,
            rng,
            start=self.start,
            per_feature=self.per_feature,
            max_iter=self.max_iter,
            most_rows=self.most_rows,
            fewest_rows=self.fewest_rows,
        )
        return Y, weights

    @property
    def name(self):
        """As in the list of all members."""
        return self.kernel + "-ard" * self.per_feature

    def found(self):
        """Scales and ridge."""
        return self.scales_, self.alpha_

    def in_fold(self, whole, views, k):
        """Itself for a fold: its search starts where one on all rows ended."""
        search, member = self.fold_search, copy(self)
        if search is None or whole is None:
            return member
        start = whole.found() if search.start == self.name else self.start
        if start is not None:
            start = views.whole.carry(start[0], views.folds[k]), start[1]
        member.start, member.max_iter = start, search.max_iter
        member.most_rows, member.fewest_rows = search.most_rows, search.fewest_rows
        return member

    def fit_folds(self, views, table, run):
        """All folds in one pass where there are too many rows to be centres."""
        if table.n_folds == 1 or not self.is_nystrom(len(table.X)):
            return super().fit_folds(views, table, run)
        X = views.whole.transform(table.X)
        *models, whole = copy(self).fit_nystrom_folds(
            X, table.Y, table.weights, table.fold
        )
        values = [m.predict(X[table.fold == k]) for k, m in enumerate(models)]
        predicted = gather(values, table)
        return Fits(models, predicted, predicted, whole)

    def fit_nystrom_folds(self, X, Y, weights, fold):
        """The Nyström form without each fold, and without none, in one pass.

        Scales, ridge and centres are those of all rows; coefficients are of a fold.
        Least squares over the span of the centres' kernels needs sums over rows, and
        without a fold these are the sums less that fold's.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        Y : ndarray of shape (n, k)
        weights : ndarray of shape (n,)
        fold : ndarray of shape (n,)
            Values in 0, ..., n_folds - 1.

        Returns
        -------
        list of fitted members
            One without each fold, if there are several; the last, this one itself, of
            all rows.
        """
        rng = check_random_state(self.random_state)
        Y, weights = self._tune(X, Y, weights, rng)
        Z = X * self.scales_
        self.support_ = Z[np.sort(rng.permutation(len(Z))[: self.max_support])]
        sums = [
            self._normal_equations(Z[fold == k], Y[fold == k], weights[fold == k])
            for k in range(fold.max() + 1)
        ]
        normal = self.alpha_ * self._gram(self.support_) + sum(A for A, _ in sums)
        right = sum(B for _, B in sums)
        members = []
        for A, B in sums if len(sums) > 1 else ():
            members.append(copy(self))
            members[-1].dual_coef_ = as_numpy(_solve(normal - A, right - B))
        self.dual_coef_ = as_numpy(_solve(normal, right))
        return [*members, self]

    def _normal_equations(self, Z, Y, weights):
        """Sums over the rows Z of products of kernels with each other and with Y."""
        normal = right = 0.0
        for rows in row_blocks(len(Z), 8 * len(self.support_), BLOCK_BYTES):
            root = placed(np.sqrt(weights[rows, None]))
            K = self._gram(Z[rows], self.support_) * root
            normal += K.T @ K  # recognised as symmetric: half the work
            right += K.T @ (placed(Y[rows]) * root)
        return normal, right

    def _solve_in_full(self, Z, Y, weights):
        require_memory(8 * len(Z) ** 2, "the Gram matrix", "lower max_support")
        # (K + alpha W^-1) a = Y, the weighted problem without roots of weights.
        K, Y = add_to_diagonal(self._gram(Z), placed(self.alpha_ / weights)), placed(Y)
        self.support_ = Z
        for _ in range(LARGER_RIDGES):
            try:
                self.dual_coef_ = as_numpy(_solve(K, Y))
                return
            except ValueError:
                # Distances of rows that differ in features of no weight alone are roots
                # of rounding errors, and their kernel values less than 1 by 1e-8.
                K = add_to_diagonal(K, placed(9 * self.alpha_ / weights))
                self.alpha_ *= 10
        self.dual_coef_ = as_numpy(_solve(K, Y))

    def predict_left_out(self, X, Y, weights):
        """What it would predict for each row if all others were known.

        Scales and ridge stay; coefficients are, in closed form, of all other rows. Rows
        equal to the one that is predicted are left out with it.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        Y : ndarray of shape (n, k)
        weights : ndarray of shape (n,)
            Positive.

        Returns
        -------
        ndarray of shape (n, k)
        """
        X, Y, weights, place = merge_equal_rows(X, Y, weights)
        with one_blas_thread(len(X)):
            values = leave_one_out(
                as_numpy(self._gram(X * self.scales_)),
                Y - self.intercept_,
                self.alpha_,
                weights / weights.mean(),
            )
        return (values + self.intercept_)[place]

    def _gram(self, A, B=None):
        B = None if B is None else placed(B)
        return gram_matrix(placed(A), B, kernel=self.kernel, gamma=1.0)

    def predict(self, X):
        """Values of shape (n, k) for the rows X (n, d).

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        """
        if not is_numpy_array(placed(np.empty(0))):
            return self._values(X)
        blocks = row_blocks(len(X), 1, PREDICTED_ROWS)
        return np.concatenate(
            map_in_threads(self._values, [X[rows] for rows in blocks])
        )

    def _values(self, X):
        product = kernel_product(
            placed(X * self.scales_),
            placed(self.support_),
            placed(self.dual_coef_),
            kernel=self.kernel,
            gamma=1.0,
        )
        return as_numpy(product) + self.intercept_


def _solve(A, B):
    solve = factorised(A)
    return array_namespace(A).stack([solve(b) for b in B.T], axis=1)


def merge_equal_rows(X, Y, weights):
    """Each different row of X once, with its mean target and its summed weight.

    Ridge regression on the merged rows has the same solution.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows.
    Y : ndarray of shape (n, k)
        Targets.
    weights : ndarray of shape (n,)
        Positive.

    Returns
    -------
    rows : ndarray of shape (m, d)
    means : ndarray of shape (m, k)
    total : ndarray of shape (m,)
    place : ndarray of shape (n,)
        For each row of X the place of its equal.

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.adaptive.kernel_members import merge_equal_rows
    >>> merge_equal_rows(np.zeros((2, 1)), np.array([[1.0], [3.0]]), np.ones(2))
    (array([[0.]]), array([[2.]]), array([2.]), array([0, 0]))
    """
    rows, place = np.unique(X, axis=0, return_inverse=True)
    if len(rows) == len(X):
        return X, Y, weights, np.arange(len(X))
    place = place.ravel()
    total = np.bincount(place, weights)
    sums = [np.bincount(place, weights * y) for y in Y.T]
    return rows, np.column_stack(sums) / total[:, None], total, place
