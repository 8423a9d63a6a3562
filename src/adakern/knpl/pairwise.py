"""The pairwise layer of KNPL: a matrix G that re-weights the entries of a Gram matrix.

For dual variables a and ``d = y a``, the inner problem of KNPL, equation 4,

    min over G in B, G psd, of  -1/2 d'(G∘K)d + reg |G|_F^2,     B = {G = G', G1 = n1},

is the projection of ``Gamma = diag(d) K diag(d) / (4 reg)`` onto the intersection of B
with the semidefinite cone (KNPL, equation 13). For a positive semidefinite K the
projection onto B alone lies in the cone: it is the closed form.
"""

import numpy as np


def gamma_matrix(d, K, reg):
    """``Gamma = diag(d) K diag(d) / (4 reg)``."""
    return (d[:, None] * K) * (d / (4 * reg))


def project_onto_affine(G, weights=None):
    """Nearest symmetric matrix with row sums n: ``11' + P G P``, ``P = I - 11'/n``.

    In sums and means, a row of weight w counts as w equal rows.
    """
    means = np.average(G, axis=0, weights=weights)
    centred = G - means
    centred -= means[:, None]
    centred += np.average(means, weights=weights)
    return 1 + centred


def admm(Gamma, *, max_iter=15, tol=1e-4, growth=1.1):
    """Projection of equation 13 by KNPL's Algorithm 1.

    Its affine step is a plain projection.
    """
    Q = np.ones_like(Gamma)
    Z = np.ones_like(Gamma)
    beta = 1.0
    residuals = []
    for _ in range(max_iter):
        G = _positive_part((beta * Q + Z + Gamma) / (1 + beta))
        Q_next = project_onto_affine((beta * G - Z + Gamma) / (1 + beta))
        step = beta * (G - Q_next)
        residuals.append(float(max(np.linalg.norm(Q_next - Q), np.linalg.norm(step))))
        Q, Z = Q_next, Z - step
        beta = min(growth * beta, 1e8)
        if residuals[-1] <= tol:
            break
    return G, residuals


def _positive_part(S):
    values, vectors = np.linalg.eigh(S)
    kept = values > 0
    return (vectors[:, kept] * values[kept]) @ vectors[:, kept].T
