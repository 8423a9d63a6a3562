"""Columns chosen because they lower the approximate criterion most."""

import numpy as np

from adakern._utils.blocks import row_blocks
from adakern.nystrom.samplers import EPS, Sample


def greedy_criterion(kernel, targets, plan, rng):
    """Greedy decrease of ``mu y'(C D^+ C' + mu l I)^{-1} y``.

    Every Nyström approximation lies below K, so the approximate criterion is never
    below the exact one, and the columns with the smaller value are the closer ones.
    By the Woodbury formula the criterion of a column set S is

        (y'y - b_S' M_SS^{-1} b_S) / l,   M = mu l K_PP + K_P' K_P,   b = K_P' y,

    with P the candidates, ``oversampling`` times as many as columns, drawn uniformly.
    So K is needed only in one pass over its (l, |P|) columns, and the rest is forward
    selection in matrices of order |P|: see :func:`forward_selection`.
    """
    l = kernel.n_rows
    pool = min(l, max(plan.n_columns, round(plan.oversampling * plan.n_columns)))
    candidates = rng.choice(l, pool, replace=False)
    M = plan.ridge * l * kernel.columns(candidates, candidates)
    b = np.zeros((pool, targets.values.shape[1]))
    for rows in row_blocks(l, 8 * pool, 8 * l * plan.n_columns):
        K = kernel.columns(candidates, rows)
        M += K.T @ K
        b += K.T @ targets.values[rows]
    order, _ = forward_selection(M, b, plan.n_columns)
    return Sample(candidates[order], np.ones(plan.n_columns))


def forward_selection(M, b, size):
    """Choose S greedily so that ``tr(b_S' M_SS^{-1} b_S)`` grows most at each step.

    An incremental Cholesky decomposition of M, pivoted on the gain: with the Schur
    complements ``d_j`` of the diagonal and ``r_j`` of b with respect to those chosen,
    choosing j gains exactly ``|r_j|^2 / d_j``. A step with k chosen costs O(k |P|).
    """
    p = len(M)
    L = np.empty((size, p))  # rows are columns of the factor: contiguous products
    order, gains = np.empty(size, dtype=int), np.zeros(size)
    diagonal, residual = np.diagonal(M).copy(), b.copy()
    floor = max(p * EPS * diagonal.max(), np.finfo(float).tiny)
    open_ = np.ones(p, dtype=bool)
    for k in range(size):
        gain = np.sum(residual**2, axis=1) / np.maximum(diagonal, floor)
        j = np.argmax(np.where(open_ & (diagonal > floor), gain, -1))
        if not open_[j] or diagonal[j] <= floor:
            order[k:] = np.flatnonzero(open_)[: size - k]
            break
        row = (M[j] - L[:k, j] @ L[:k]) / np.sqrt(diagonal[j])
        order[k], gains[k], open_[j], L[k] = j, gain[j], False, row
        residual -= np.outer(row, residual[j] / np.sqrt(diagonal[j]))
        diagonal -= row**2
    return order, gains
