"""The LAB RBF kernel: every support point has its own bandwidth vector."""

from typing import Any

from array_api_compat import array_namespace

from adakern.kernels import clamp_at_zero

#: Kernel profiles: exp(-D) and exp(-sqrt(D)), with D the squared distance under the
#: local bandwidths.
PROFILES = ("gaussian", "laplacian")


def lab_gram_matrix(T: Any, X: Any, bandwidths: Any, profile: str = "gaussian") -> Any:
    """Compute K(t_i, x_j) for the kernel with locally adaptive bandwidths.

    K(t, x_j) = exp(-D) (LAB RBF, equation 1) or exp(-sqrt(D)) ("laplacian"), with D =
    sum over m of (bandwidths_jm (t_m - x_jm))^2: the bandwidth is that of the second
    argument.

    Parameters
    ----------
    T : array of shape (n, d)
    X : array of shape (S, d)
        Support points.
    bandwidths : array of shape (S, d) or (1, d)
        Inverse length scales, theta in the paper. The sign is ignored.
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
    distances = SquaredDistances(X - centre)
    return profile_values(distances(T - centre, bandwidths), profile)


def unit_bandwidth(spreads):
    """Bandwidth at which two rows are at a distance of about 1."""
    distance = (2 * float(array_namespace(spreads).sum(spreads * spreads))) ** 0.5
    return 1 / distance if distance > 0 else 1.0


class SquaredDistances:
    """D_ij = sum over m of theta_jm^2 (t_im - x_jm)^2, by one matrix product."""

    def __init__(self, X):
        self.xp = array_namespace(X)
        self.X = X

    def __call__(self, T, theta):
        W = theta * theta
        WX = W * self.X
        factors = self.xp.concat([WX * 0 + W, -2 * WX], axis=1)
        D = self._with_squares(T) @ factors.T
        D += self.xp.sum(WX * self.X, axis=1)[None, :]
        return clamp_at_zero(D, self.xp)

    def gradient(self, T, theta, P):
        """Gradient in the bandwidths, shape (S, d)."""
        X = self.X
        d = T.shape[1]
        PT = P.T @ self._with_squares(T)
        column_sums = self.xp.sum(P, axis=0)[:, None]
        return 2 * theta * (PT[:, :d] + X * (X * column_sums - 2 * PT[:, d:]))

    def _with_squares(self, T):
        return self.xp.concat([T * T, T], axis=1)


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
    """K and dK/dD. The slope is 0 at D = 0, where the Laplacian profile has a kink."""
    xp = array_namespace(D)
    K = profile_values(D, profile)
    if profile != "laplacian":
        return K, -K
    kink = D <= 0
    slopes = K / (-2 * xp.sqrt(xp.where(kink, xp.ones_like(D), D)))
    return K, xp.where(kink, xp.zeros_like(D), slopes)
