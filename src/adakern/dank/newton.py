"""Newton steps on the quartic of DANK that need no factorisation.

On a rough kernel, or where few rows are support vectors, the Hessian of the rows inside
their box is well conditioned: conjugate gradients solve the Newton system in some
dozens of products with the Gram matrix, where one Cholesky factorisation of n rows
costs the time of about n/50. On a smooth kernel they do not get far, and the
interior-point method of :mod:`adakern.dank.quartic` has to finish.
"""

from dataclasses import replace

from array_api_compat import array_namespace

from adakern.dank.quartic import (
    BISECTIONS,
    ascent,
    best_intercept,
    objective,
    row_gaps,
)

__all__ = ["climb"]

#: Relative residual that conjugate gradients stop at.
FORCING = 0.03

#: Products after which conjugate gradients that have not got there are given up: the
#: condition of the free rows is then above some hundreds.
SLOW = 30

#: Share of the predicted ascent that a step must reach, and the shortest step tried.
SUFFICIENT, SHORTEST = 1e-4, 1e-3


def climb(K, box, eta, *, weight, start, gap_goal, max_products, balanced=False):
    """Ascend h from ``start`` by projected Newton steps, as far as they are cheap.

    In every step the rows at a bound that their slope or the step points out of stay
    there, the direction of the others comes from conjugate gradients on their block of
    the Hessian of -h (see :func:`adakern.dank.quartic.maximise_quartic`), and the step
    is bent along the box and halved until h rises as it should (Bertsekas, SIAM Journal
    on Control and Optimization 20, 1982). With a tube a step keeps the signs of d, as
    ``epsilon |d|`` is linear between them; a row that has come to zero may change its
    sign in the next.

    Parameters
    ----------
    K : array of shape (n, n)
        Gram matrix, positive semidefinite.
    box : Box
    eta : float
        Positive; infinity gives the ordinary SVM or SVR without a bias.
    weight : array of shape (n,) or float
        Weights w of the diagonal quadratic term.
    start : array of shape (n,)
        Within the box.
    gap_goal : float
        Duality gap at which to stop.
    max_products : int
        Multiplications with K and K o K after which no further step is begun.
    balanced : bool, default=False
        Hold the sum of d at that of ``start``.

    Returns
    -------
    d : array of shape (n,)
        Within the box, and on its bounds exactly where it is bound.
    gap : float
        Duality gap at d, above ``gap_goal`` where the products did not suffice.

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.dank.quartic import label_box
    >>> box = label_box(np.array([1.0, -1.0]), C=10.0)
    >>> ends = {"gap_goal": 1e-9, "max_products": 50}
    >>> d, gap = climb(np.eye(2), box, 0.25, weight=0.0, start=np.zeros(2), **ends)
    >>> d.round(4)  # the root of 1 - a - a^3
    array([ 0.6823, -0.6823])
    """
    xp = array_namespace(K)
    Q = K * K
    total = float(xp.sum(start)) if balanced else None
    left = max_products
    d, Kd, Qq = start, K @ start, Q @ (start * start)
    while True:
        b = best_intercept(d, Kd, Qq, box, eta, weight) if balanced else 0.0
        gap = float(xp.sum(row_gaps(d, Kd, Qq, box, eta, weight, b)))
        if gap <= gap_goal or left <= 0:
            return d, gap
        slope, part = _orthant(d, ascent(d, Kd, Qq, box, eta, weight) - b, box)
        hessian = _hessian(K, Q, d, Qq, eta, weight)
        direction, part, left = _on_face(hessian, d, slope, part, balanced, left)
        h, length = objective(d, Kd, Qq, box, eta, weight), 1.0
        while True:
            new = _nearest(d + length * direction, part, total)
            new_Kd, new_Qq = K @ new, Q @ (new * new)
            left -= 1
            rise = objective(new, new_Kd, new_Qq, box, eta, weight) - h
            if rise > SUFFICIENT * float(slope @ (new - d)):
                break
            length /= 2
            if length < SHORTEST:
                return d, gap
        d, Kd, Qq = new, new_Kd, new_Qq


def _orthant(d, gradient, box):
    """Slope of h where ``epsilon |d|`` is linear around d, and the box of that part."""
    if not box.epsilon:
        return gradient, box
    xp = array_namespace(d)
    zero = xp.zeros_like(d)
    side = xp.where(d != 0, xp.sign(d), xp.sign(gradient))
    lower = xp.where(side < 0, box.lower, zero)
    upper = xp.where(side > 0, box.upper, zero)
    return gradient - box.epsilon * side, replace(box, lower=lower, upper=upper)


def _nearest(d, box, total):
    """The nearest point of the box, of this sum unless that is None."""
    xp = array_namespace(d)

    def shifted(t):
        return xp.minimum(xp.maximum(d + t, box.lower), box.upper)

    if total is None:
        return shifted(0.0)
    low = float(xp.min(box.lower - d))
    high = float(xp.max(box.upper - d))
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if float(xp.sum(shifted(middle))) < total:
            low = middle
        else:
            high = middle
    return shifted(high)


def _hessian(K, Q, d, Qq, eta, weight):
    """The product of the Hessian of -h with a vector, and its diagonal."""
    xp = array_namespace(d)
    diagonal = Qq / (4 * eta) + 2 * weight

    def product(v):
        return K @ v + diagonal * v + d * (Q @ (d * v)) / (2 * eta)

    own = xp.linalg.diagonal(K)
    return product, own + diagonal + own**2 * d**2 / (2 * eta)


def _on_face(hessian, d, slope, box, balanced, left):
    """Newton direction, the box with all other rows held fixed, and products left.

    Free are the rows that can move along their slope, less those at a bound that the
    direction of the free rows would push out of the box. No products are left where a
    direction came slowly: its step is the last one.
    """
    xp = array_namespace(d)
    free = ((d > box.lower) | (slope > 0)) & ((d < box.upper) | (slope < 0))
    while True:
        most = min(SLOW, left)
        direction, made = _direction(*hessian, slope, free, balanced, most)
        left = left - made if made < most else 0
        out_below = (d <= box.lower) & (direction < 0)
        out_above = (d >= box.upper) & (direction > 0)
        if not left or not xp.any(out_below | out_above):
            lower = xp.where(free, box.lower, d)
            upper = xp.where(free, box.upper, d)
            return direction, replace(box, lower=lower, upper=upper), left
        free = free & ~out_below & ~out_above


def _direction(product, diagonal, slope, free, balanced, most):
    """Preconditioned conjugate gradients on the free rows; zero elsewhere.

    A balanced direction sums to zero. Also returns how many of the products were made,
    ``most`` if they did not suffice.
    """
    xp = array_namespace(slope)
    zero = xp.zeros_like(slope)
    inverse = xp.where(free, 1 / xp.where(diagonal > 0, diagonal, zero + 1), zero)
    share = inverse / xp.sum(inverse) if balanced and xp.any(free) else zero

    def preconditioned(residual):
        scaled = inverse * residual
        return scaled - share * xp.sum(scaled)

    residual, direction = slope, zero
    step = preconditioned(residual)
    size = float(residual @ step)
    enough = FORCING**2 * size
    for made in range(most):
        if size <= enough:
            return direction, made
        image = product(step)
        curvature = float(step @ image)
        if curvature <= 0:  # flat: nothing more to be learnt
            return direction, made
        direction = direction + (size / curvature) * step
        residual = residual - (size / curvature) * image
        scaled = preconditioned(residual)
        before, size = size, float(residual @ scaled)
        step = scaled + (size / before) * step
    return direction, most
