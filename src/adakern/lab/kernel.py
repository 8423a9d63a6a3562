"""The LAB RBF kernel: every support datum has its own bandwidth vector."""

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

__all__ = ["PROFILES", "lab_gram_matrix", "local_squared_distances"]

#: Kernel profiles as functions of D, the squared distance under the local bandwidths.
PROFILES = ("gaussian", "laplacian")


def lab_gram_matrix(T, X, bandwidths, profile="gaussian"):
    """Values K(t_i, x_j) of the kernel with locally adaptive bandwidths.

    K(t, x_j) = exp(-D) ("gaussian", equation 1 of the paper) or exp(-sqrt(D))
    ("laplacian"), with D = sum over m of (bandwidths_jm (t_m - x_jm))^2. The kernel is
    asymmetric: the bandwidth is that of the second argument.

    Parameters
    ----------
    T : array of shape (n, d)
    X : array of shape (S, d)
        Support data.
    bandwidths : array of shape (S, d) or (1, d)
        Inverse lengths, theta in the paper: larger is narrower.
    profile : {"gaussian", "laplacian"}, default="gaussian"

    Returns
    -------
    array of shape (n, S)

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.lab import lab_gram_matrix
    >>> X = np.array([[0.0], [1.0]])
    >>> lab_gram_matrix(X, X, np.array([[1.0], [2.0]])).round(3)
    array([[1.   , 0.018],
           [0.368, 1.   ]])
    """
    xp = array_namespace(T, X, bandwidths)
    centre = xp.mean(X, axis=0)
    D = local_squared_distances(
        with_squares(T - centre), X - centre, bandwidths * bandwidths
    )
    return profile_values(D, profile)


def with_squares(T):
    """The columns [T * T, T], in which the local squared distance is linear."""
    return array_namespace(T).concat([T * T, T], axis=1)


def local_squared_distances(T2, X, W):
    """D_ij = sum over m of W_jm (t_im - x_jm)^2, by one matrix product.

    Parameters
    ----------
    T2 : array of shape (n, 2 d)
        ``with_squares(T)``, of rows near the origin (centre the data first).
    X : array of shape (S, d)
    W : array of shape (S, d) or (1, d)
        Squared bandwidths.

    Returns
    -------
    array of shape (n, S)
        Not negative.
    """
    xp = array_namespace(T2, X, W)
    WX = W * X
    D = T2 @ xp.concat([WX * 0 + W, -2 * WX], axis=1).T
    D += xp.sum(WX * X, axis=1)[None, :]
    if is_numpy_array(D):
        return np.maximum(D, 0, out=D)
    return xp.where(D > 0, D, xp.zeros_like(D))


def profile_values(D, profile):
    """K as a function of D."""
    xp = array_namespace(D)
    if profile == "laplacian":
        return xp.exp(-xp.sqrt(D))
    if profile == "gaussian":
        return xp.exp(-D)
    raise ValueError(
        f"profile={profile!r} is unknown; use one of {', '.join(PROFILES)}"
    )


def profile_values_and_slopes(D, profile):
    """K and dK/dD; at D = 0 the Laplacian profile has a kink, and 0 is taken there.

    The slope is always multiplied by (t - x)^2, which is zero where D is: there the
    kernel is 1 whatever the bandwidths, so 0 is the exact derivative.
    """
    xp = array_namespace(D)
    K = profile_values(D, profile)
    if profile == "gaussian":
        return K, -K
    kink = D <= 0
    slopes = K / (-2 * xp.sqrt(xp.where(kink, xp.ones_like(D), D)))
    return K, xp.where(kink, xp.zeros_like(D), slopes)
