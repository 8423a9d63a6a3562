"""Kernel ridge regressions on the residuals of a global model, in cells of nearby rows.

With many rows, a kernel member has a few thousand centres, which are too far apart for
local structure. In a cell of a thousand rows, each row is a centre.
"""

import numpy as np

from adakern._utils.arrays import as_numpy, to_device
from adakern._utils.resources import map_in_threads
from adakern.kernels import gram_matrix
from adakern.linalg import leave_one_out, ridge_solution

#: Maximum number of rows of a cell, unless they cannot be split along the leading
#: direction; and number of rows from which that direction is computed.
CELL_ROWS = 1000

#: Candidate factors of the distances, and approximate number of cells on which they are
#: chosen. Factors above 1 are for more rows than those on which the scales were found.
GAMMAS = (1.0, 3.0, 9.0)
CELLS_TO_CHOOSE = 10


class Cells:
    """Cells of rows, by recursively halving them along the leading direction."""

    def __init__(self, X):
        #: Direction, threshold and the two children of each split. A child that is a
        #: leaf is -1 minus the index of its cell.
        self.splits = []
        self.n_cells = 0
        self.root = self._grow(X, np.random.default_rng(0))

    def _grow(self, X, rng):
        if len(X) > CELL_ROWS:
            some = X[rng.permutation(len(X))[:CELL_ROWS]]
            direction = np.linalg.svd(some - some.mean(axis=0), full_matrices=False)[2][
                0
            ]
            along = (X @ direction).round(6)  # so that equal rows have equal values
            middle = np.median(along)
            above = along > middle if middle < along.max() else along == middle
            if not above.all():
                threshold = (along[~above].max() + along[above].min()) / 2
                node = len(self.splits)
                self.splits.append(None)
                children = [self._grow(X[part], rng) for part in (~above, above)]
                self.splits[node] = direction, threshold, children
                return node
        self.n_cells += 1
        return -self.n_cells

    def of(self, X):
        """Cell of each row."""
        cells = np.empty(len(X), dtype=int)
        todo = [(self.root, np.arange(len(X)))]
        while todo:
            node, rows = todo.pop()
            if node < 0:
                cells[rows] = -1 - node
            elif len(rows):
                direction, threshold, children = self.splits[node]
                above = X[rows] @ direction > threshold
                todo += zip(children, (rows[~above], rows[above]), strict=True)
        return cells


class LocalModels:
    """Kernel ridge regressions on the rows of each cell, multiplied by ``share``.

    ``share`` and ``gamma``, a factor of the distances, minimise the squared
    leave-one-out error in the cells, unless they are copied from ``like``. ``share`` is
    0 if local models do not help.
    """

    def __init__(self, kernel, cells, rows, residuals, weights, alpha, like=None):
        self.kernel = kernel
        self.cells = cells
        self.rows = rows
        self.places = self._by_cell(rows)
        if like is None:
            self.gamma, self.share = self._choose(residuals, weights, alpha)
        else:
            self.gamma = like.gamma
            self.share = like.share
        self.dual = np.zeros(residuals.shape)

        def learn(part):
            root = np.sqrt(weights[part])[:, None]
            K = root * self._gram(rows[part], rows[part], self.gamma) * root.T
            self.dual[part] = root * ridge_solution(K, root * residuals[part], alpha)[0]

        map_in_threads(learn, self.places if self.share else [])

    def _choose(self, residuals, weights, alpha):
        """Choose gamma and share by the closed-form leave-one-out error in some cells.

        Gammas are tried in order until the error no longer decreases.
        """
        least = np.inf
        best = None
        judges = self.places[:: -(-len(self.places) // CELLS_TO_CHOOSE)]
        for gamma in GAMMAS:

            def judge(part, gamma=gamma):
                target = residuals[part]
                w = weights[part]
                K = self._gram(self.rows[part], self.rows[part], gamma)
                left_out = leave_one_out(K, target, alpha, w)
                return np.sum(w @ (target * left_out)), np.sum(w @ left_out**2)

            gain, size = np.sum(map_in_threads(judge, judges), axis=0)
            share = float(np.clip(gain / max(size, 1e-300), 0, 1))
            if (change := share**2 * size - 2 * share * gain) >= least:
                break
            least = change
            best = (gamma, share)
        return best

    def predict(self, X):
        """Predict the correction for the rows X, shape (n, k)."""
        added = np.zeros((len(X), self.dual.shape[1]))
        if self.share:
            for new, part in zip(self._by_cell(X), self.places, strict=True):
                if len(new) and len(part):
                    added[new] = (
                        self._gram(X[new], self.rows[part], self.gamma)
                        @ self.dual[part]
                    )
        return self.share * added

    def _by_cell(self, X):
        cells = self.cells.of(X)
        ends = np.cumsum(np.bincount(cells, minlength=self.cells.n_cells))
        return np.split(np.argsort(cells, kind="stable"), ends[:-1])

    def _gram(self, A, B, gamma):
        return as_numpy(
            gram_matrix(to_device(A), to_device(B), kernel=self.kernel, gamma=gamma)
        )
