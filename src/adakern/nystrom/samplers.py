"""Column samplers for the Nyström approximation, with a common interface.

A sampler is a function ``(kernel, targets, plan, rng) -> Sample`` of
:class:`~adakern.nystrom.columns.KernelColumns`,
:class:`~adakern.nystrom.columns.Targets`, a :class:`Plan` and a
:class:`numpy.random.Generator`. Only ``leverage`` forms the Gram matrix.
"""

from functools import partial
from numbers import Integral
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from adakern._utils.resources import require_memory, row_blocks
from adakern.linalg import largest_eigenpairs, ranked_eigh

EPS = np.finfo(np.float64).eps


class Plan(NamedTuple):
    """Number of columns to draw, ``step`` of them per round of adaptive samplers.

    ``rank`` is the rank of the approximation that scores the columns, ``ridge`` the mu
    of the criterion, ``oversampling`` the number of candidates per selected column of
    the greedy sampler.
    """

    n_columns: int
    step: int
    rank: int | None = None
    ridge: float = 0.005
    oversampling: float = 3.0


def make_plan(n_rows, n_columns, step=0.1, rank=None, ridge=0.005):
    """Resolve fractions and check sizes; see :class:`CriterionNystroem`."""
    if isinstance(n_columns, Integral) and n_columns > n_rows:
        raise ValueError(
            f"n_columns must be at most the number of rows, {n_rows}, got {n_columns}"
        )
    c = _count(n_columns, n_rows)
    if rank is not None and rank > c:
        raise ValueError(
            f"rank must be at most the number of columns, {c}, got {rank}; rank=None "
            "means full rank"
        )
    require_memory(
        2 * 8 * n_rows * c,
        f"{c} kernel columns of {n_rows} rows, with matrices derived from them,",
        "use fewer columns",
    )
    return Plan(c, _count(step, c), rank, ridge)


def _count(value, total):
    """Resolve a number or a fraction of ``total`` to a number from 1 to ``total``."""
    return (
        min(value, total)
        if isinstance(value, Integral)
        else max(1, round(value * total))
    )


class Sample(NamedTuple):
    """Distinct column indices and their weights, both of shape (c,).

    For fixed probabilities p_i, the weights are ``1/sqrt(c p_i)``, so that
    ``(K_I W)(K_I W)'`` estimates ``K K'``; otherwise they are 1.
    """

    indices: np.ndarray
    weights: np.ndarray


def draw(rng, scores, size):
    """Draw ``size`` distinct indices with probabilities proportional to ``scores``.

    Indices with score 0 come last, those with a negative score never.
    """
    positive = np.flatnonzero(scores > 0)
    if len(positive) >= size:
        p = scores[positive]
        return rng.choice(positive, size, replace=False, p=p / p.sum())
    rest = rng.choice(np.flatnonzero(scores == 0), size - len(positive), replace=False)
    return np.concatenate([positive, rest])


def _draw_weighted(rng, scores, size):
    """Draw a sample with importance weights."""
    indices = draw(rng, scores, size)
    p = scores[indices] / (scores.sum() or 1.0)
    # Rows of probability 0 only fill up the sample, with any finite weight.
    return Sample(indices, 1 / np.sqrt(size * np.where(p > 0, p, 1.0)))


def _unweighted(indices):
    return Sample(indices, np.ones(len(indices)))


def uniform(kernel, targets, plan, rng):
    """Uniform sampling."""
    return _unweighted(rng.choice(kernel.n_rows, plan.n_columns, replace=False))


def column_norm(kernel, targets, plan, rng):
    """Sampling by squared column norms (Drineas, Mahoney 2005)."""
    scores = span_residuals(kernel, np.empty((kernel.n_rows, 0)), plan)
    return _draw_weighted(rng, scores, plan.n_columns)


def leverage(kernel, targets, plan, rng):
    """Sampling by exact rank-k leverage scores (Gittens, Mahoney 2013)."""
    _, vectors = largest_eigenpairs(kernel.full(), plan.rank or plan.n_columns)
    return _draw_weighted(rng, np.einsum("ij,ij->i", vectors, vectors), plan.n_columns)


def ridge_leverage(kernel, targets, plan, rng):
    """Sampling by recursive ridge leverage scores (Musco, Musco 2017).

    The scores are estimated on nested halves of the rows.
    """
    l = kernel.n_rows
    c = plan.n_columns
    order = rng.permutation(l)
    size = l
    while size > c:
        size = (size + 1) // 2
    indices = order[:size]
    weights = np.ones(size)
    while size < l:
        size = min(2 * size, l)
        rows = order[:size]
        scores = ridge_leverage_scores(kernel, indices, weights, plan.ridge * l, rows)
        drawn = draw(rng, scores, min(c, size))
        # Rescale by the probability of being kept, at most 1.
        kept = np.minimum(1, c * scores[drawn] / scores.sum())
        indices = rows[drawn]
        weights = 1 / np.sqrt(kept)
    return Sample(indices, weights)


def ridge_leverage_scores(kernel, indices, weights, shift, rows):
    """Approximate ridge leverage scores of ``rows`` from weighted columns, positive.

    ``(K - K S (S'K S + shift I)^{-1} S'K)_ii / shift`` with S the columns scaled by
    their weights.
    """
    D = kernel.columns(indices, indices)
    D[np.diag_indices_from(D)] += shift / weights**2
    factor = cho_factor(D, lower=True)
    scores = kernel.diagonal()[rows]
    for part in row_blocks(len(rows), 1, max(len(indices), 64)):
        K = kernel.columns(indices, rows[part])
        scores[part] -= np.einsum("ij,ji->i", K, cho_solve(factor, K.T))
    floor = EPS * max(scores.max(), EPS)
    return np.maximum(scores, floor) / shift


def rpcholesky(kernel, targets, plan, rng):
    """Randomly pivoted Cholesky (Chen et al. 2025).

    Blocks are drawn by rejection sampling (Epperly et al. 2024).
    """
    diagonal = kernel.diagonal()
    F = np.zeros((plan.n_columns, kernel.n_rows))
    floor = EPS * kernel.n_rows * diagonal.max()
    chosen = np.empty(0, dtype=int)
    while len(chosen) < plan.n_columns:
        k = len(chosen)
        diagonal = np.maximum(diagonal, 0)
        diagonal[chosen] = 0
        if diagonal.max() <= floor:  # K is reproduced exactly, so choose any columns
            diagonal[:] = 0
            diagonal[chosen] = -1
            chosen = np.concatenate([chosen, draw(rng, diagonal, plan.n_columns - k)])
            break
        proposals = rng.choice(
            kernel.n_rows, size=plan.step, p=diagonal / diagonal.sum()
        )
        proposed = diagonal[proposals]
        residual = kernel.columns(proposals, proposals)
        residual = residual - F[:k, proposals].T @ F[:k, proposals]
        # Equal up to rounding; otherwise the same rows would be proposed forever.
        diagonal[proposals] = np.minimum(proposed, np.diagonal(residual))
        kept, L = rejection_cholesky(residual, proposed, floor, rng)
        if len(kept) == 0:
            continue
        kept, L = kept[: plan.n_columns - k], L[:, : plan.n_columns - k]
        pivots = proposals[kept]
        columns = kernel.columns(pivots).T - F[:k, pivots].T @ F[:k]
        rows = slice(k, k + len(kept))
        F[rows] = solve_triangular(L[kept], columns, lower=True)
        diagonal -= np.sum(F[rows] ** 2, axis=0)
        chosen = np.concatenate([chosen, pivots])
    return _unweighted(chosen)


def rejection_cholesky(residual, proposed, floor, rng):
    """Accept positions with probability (present residual) / ``proposed``.

    Returns the accepted positions and their Cholesky columns.
    """
    H = residual.copy()
    kept = []
    columns = []
    for i in range(len(H)):
        if H[i, i] > floor and rng.random() * proposed[i] < H[i, i]:
            column = H[:, i] / np.sqrt(H[i, i])
            H -= np.outer(column, column)
            kept.append(i)
            columns.append(column)
    return np.array(kept, dtype=int), np.array(columns).reshape(-1, len(H)).T


def adaptive_deshpande(kernel, targets, plan, rng):
    """Adaptive sampling by squared distances from the span of the columns drawn so far.

    Deshpande et al. (2006).
    """
    return _adaptive(
        kernel, plan, rng, lambda C, chosen: span_residuals(kernel, C, plan)
    )


def span_residuals(kernel, C, plan):
    """``|K_i - Q Q'K_i|^2`` for every column i of K, Q being a basis of C."""
    Q, _ = np.linalg.qr(C)
    scores = np.empty(kernel.n_rows)
    for rows in row_blocks(len(scores), 1, max(plan.n_columns, 64)):
        K = kernel.columns(slice(None), rows)
        total = np.einsum("ij,ij->i", K, K)
        inside = K @ Q
        rest = total - np.einsum("ij,ij->i", inside, inside)
        scores[rows] = np.where(rest > EPS * len(scores) * total, rest, 0)
    return scores


def adaptive_kumar(kernel, targets, plan, rng):
    """Adaptive partial sampling (Kumar, Mohri, Talwalkar 2012), without labels."""
    scores = partial(
        approximation_errors, weights=np.ones(kernel.n_rows), rank=plan.rank
    )
    return _adaptive(kernel, plan, rng, scores)


def adaptive_criterion(kernel, targets, plan, rng):
    """Criterion-driven adaptive sampling: Algorithm 2 of Ding et al. (2019)."""
    scores = partial(approximation_errors, weights=targets.weights, rank=plan.rank)
    return _adaptive(kernel, plan, rng, scores)


def approximation_errors(C, chosen, weights, rank=None):
    """Squared row norms of ``E = (C - C~) o (y y_nu')``, the scores of Algorithm 2.

    The paper's y_nu are the first labels; here, they are those of the chosen columns.
    ``C~`` are the columns of ``C D_k^+ C'``, so that ``E = C U_r U_r'`` (times the
    labels) for the eigenvectors U_r of D that rank k leaves out, and the norms are
    those of ``C U_r L`` with ``L L' = U_r' diag(y_nu)^2 U_r``: one product of l c (c -
    k) operations.
    """
    c = len(chosen)
    k = max(1, c // 2) if rank is None else rank
    _, vectors, start = ranked_eigh(C[chosen], k)
    left_out = vectors[:, :start]
    y = weights[chosen]
    # A square root of (left_out.T * y) (left_out.T * y)'.
    B = left_out @ np.linalg.qr((left_out.T * y).T, mode="r").T
    errors = weights**2 * np.sum((C @ B) ** 2, axis=1)
    scale = np.sum(weights**2 * np.sum((C * y) ** 2, axis=1))
    return errors if errors.sum() > c * EPS * scale else np.zeros_like(errors)


def _adaptive(kernel, plan, rng, scores):
    """Steps 3 to 9 of Algorithm 1: alternately draw ``step`` columns and update scores.

    The first columns are drawn uniformly.
    """
    l = kernel.n_rows
    c = plan.n_columns
    C = np.empty((l, c), order="F")
    chosen = rng.choice(l, min(plan.step, c), replace=False)
    C[:, : len(chosen)] = kernel.columns(chosen)
    while len(chosen) < c:
        m = len(chosen)
        p = scores(C[:, :m], chosen)
        p[chosen] = -1
        new = draw(rng, p, min(plan.step, c - m))
        C[:, m : m + len(new)] = kernel.columns(new)
        chosen = np.concatenate([chosen, new])
    return _unweighted(chosen)


def greedy_criterion(kernel, targets, plan, rng):
    """Greedily minimise ``mu y'(C D^+ C' + mu l I)^{-1} y``.

    The approximate criterion is never below the exact one, so that columns with a
    smaller value are closer to it. By the Woodbury formula, the criterion of a column
    set S is

        (y'y - b_S' M_SS^{-1} b_S) / l,   M = mu l K_PP + K_P' K_P,   b = K_P' y,

    where P are the candidates, ``oversampling`` times as many as columns, drawn
    uniformly: one pass over their columns, then :func:`forward_selection`.
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
    return _unweighted(candidates[forward_selection(M, b, plan.n_columns)])


def forward_selection(M, b, size):
    """Choose S greedily to maximise ``tr(b_S' M_SS^{-1} b_S)`` at each step.

    Incremental Cholesky of M, pivoted on the gain ``|r_j|^2 / d_j`` by the Schur
    complements ``d_j`` of the diagonal and ``r_j`` of b. A step with k chosen costs O(k
    |P|).
    """
    p = len(M)
    L = np.empty((size, p))  # rows are columns of the factor: contiguous products
    order = np.empty(size, dtype=int)
    diagonal = np.diagonal(M).copy()
    residual = b.copy()
    floor = max(p * EPS * diagonal.max(), np.finfo(float).tiny)
    open_ = np.ones(p, dtype=bool)
    for k in range(size):
        gain = np.sum(residual**2, axis=1) / np.maximum(diagonal, floor)
        j = np.argmax(np.where(open_ & (diagonal > floor), gain, -1))
        if not open_[j] or diagonal[j] <= floor:
            order[k:] = np.flatnonzero(open_)[: size - k]
            break
        row = (M[j] - L[:k, j] @ L[:k]) / np.sqrt(diagonal[j])
        order[k] = j
        open_[j] = False
        L[k] = row
        residual -= np.outer(row, residual[j] / np.sqrt(diagonal[j]))
        diagonal -= row**2
    return order


#: Column samplers by the names used as parameters.
SAMPLERS = {
    "uniform": uniform,
    "column-norm": column_norm,
    "leverage": leverage,
    "ridge-leverage": ridge_leverage,
    "rpcholesky": rpcholesky,
    "adaptive-deshpande": adaptive_deshpande,
    "adaptive-kumar": adaptive_kumar,
    "adaptive-criterion": adaptive_criterion,
    "greedy-criterion": greedy_criterion,
}

#: Samplers that use labels.
CRITERION_DRIVEN = ("adaptive-criterion", "greedy-criterion")
