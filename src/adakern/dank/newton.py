"""Newton steps on the quartic of DANK that need no factorisation.

On a rough kernel, or where few rows are support vectors, the Hessian of the rows inside
their box is well conditioned: conjugate gradients solve the Newton system in some
dozens of products with the Gram matrix, where one Cholesky factorisation of n rows
costs the time of about n/50. On a smooth kernel they do not get far, and the
interior-point method of :mod:`adakern.dank.quartic` has to finish.
"""

from array_api_compat import array_namespace

from adakern.dank.quartic import ascent, objective, row_gaps

__all__ = ["climb"]

#: Relative residual that conjugate gradients stop at.
FORCING = 0.03

#: Share of the predicted ascent that a step must reach, and the shortest step tried.
SUFFICIENT, SHORTEST = 1e-4, 1e-3


def climb(K, box, eta, *, weight, start, gap_goal, max_products):
    """Ascend h from ``start`` by projected Newton steps, as far as they are cheap.

    In every step the rows at a bound that their slope points out of stay there, the
    direction of the others comes from conjugate gradients on their block of the Hessian
    of -h (see :func:`adakern.dank.quartic.maximise_quartic`), and the step is bent
    along the box and halved until h rises as it should (Bertsekas, SIAM Journal on
    Control and Optimization 20, 1982). With a tube a step keeps the signs of d, since
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
    left = max_products
    d, Kd, Qq = start, K @ start, Q @ (start * start)
    while True:
        gap = float(xp.sum(row_gaps(d, Kd, Qq, box, eta, weight)))
        if gap <= gap_goal or left <= 0:
            return d, gap
        slope, lower, upper = _orthant(d, ascent(d, Kd, Qq, box, eta, weight), box)
        free = ((d > lower) | (slope > 0)) & ((d < upper) | (slope < 0))
        direction, spent = _direction(
            K, Q, d, Qq / (4 * eta) + 2 * weight, eta, slope, free, left
        )
        left -= spent
        h, length = objective(d, Kd, Qq, box, eta, weight), 1.0
        while True:
            new = xp.minimum(xp.maximum(d + length * direction, lower), upper)
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
        return gradient, box.lower, box.upper
    xp = array_namespace(d)
    zero = xp.zeros_like(d)
    side = xp.where(d != 0, xp.sign(d), xp.sign(gradient))
    slope = gradient - box.epsilon * side
    lower = xp.where(side > 0, zero, box.lower)
    return slope, lower, xp.where(side < 0, zero, box.upper)


def _direction(K, Q, d, diagonal, eta, slope, free, most):
    """Conjugate gradients for the Newton direction of the free rows, zero elsewhere.

    ``diagonal`` is the part of the Hessian that is; its own preconditions. Also returns
    how many of the ``most`` products were made.
    """
    xp = array_namespace(d)
    zero = xp.zeros_like(d)
    own = xp.linalg.diagonal(K)
    scale = own + diagonal + own**2 * d**2 / (2 * eta)
    scale = xp.where(scale > 0, scale, zero + 1)
    residual, direction = xp.where(free, slope, zero), zero
    step = residual / scale
    size = float(residual @ step)
    enough = FORCING**2 * size
    for spent in range(most):
        if size <= enough:
            return direction, spent
        image = K @ step + diagonal * step + d * (Q @ (d * step)) / (2 * eta)
        image = xp.where(free, image, zero)
        curvature = float(step @ image)
        if curvature <= 0:  # flat: nothing more to be learnt
            return direction, spent + 1
        direction = direction + (size / curvature) * step
        residual = residual - (size / curvature) * image
        scaled = residual / scale
        before, size = size, float(residual @ scaled)
        step = scaled + (size / before) * step
    return direction, most
