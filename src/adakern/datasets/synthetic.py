"""Synthetic data sets that are defined by formulas.

Defaults that a paper does not specify were chosen by this project. The papers:
DANK (Liu, Huang, Gong, Yang and Li, JMLR 21, 2020), KNPL (the same, AAAI 2018) and LAB
RBF ("Enhancing kernel flexibility via learning asymmetric locally-adaptive kernels").
"""

import numpy as np


def make_clowns(n=400, spread=1.0, random_state=0):
    """A noisy parabola (class 1) around a Gaussian blob (class -1).

    ``x2 = x1^2 + noise`` for x1 in [-3, 3] with standard normal noise, around a blob at
    (0, 6). The DANK paper plots the data (Figures 1 and 2) without defining them.

    Parameters
    ----------
    n : int, default=400
        Number of rows, half of them in each class.
    spread : float, default=1.0
        Standard deviation of the blob.
    random_state : int, default=0

    Returns
    -------
    X : array of shape (n, 2)
    y : array of shape (n,) of 1 and -1

    Examples
    --------
    >>> from adakern.datasets import make_clowns
    >>> X, y = make_clowns(n=100)
    >>> X.shape, int((y == 1).sum())
    ((100, 2), 50)
    """
    rng = np.random.default_rng(random_state)
    half = n // 2
    x1 = rng.uniform(-3, 3, half)
    parabola = np.column_stack([x1, x1**2 + rng.standard_normal(half)])
    blob = np.array([0.0, 6.0]) + spread * rng.standard_normal((n - half, 2))
    return np.vstack([parabola, blob]), np.repeat([1, -1], [half, n - half])


def make_sandwich(n=300, gap=2.0, spread=1.0, random_state=0):
    """Two Gaussians of class 1 with one of class -1 between them.

    The example of the KNPL paper (Figure 2), which gives no parameters. Here, the
    centres are (0, gap), (0, -gap) and the origin, and each Gaussian is stretched along
    the first axis.

    Parameters
    ----------
    n : int, default=300
        Number of rows, half of them in each class.
    gap : float, default=2.0
        Distance between neighbouring centres.
    spread : float, default=1.0
        Standard deviation across the layers; along them it is three times that.
    random_state : int, default=0

    Returns
    -------
    X : array of shape (n, 2)
    y : array of shape (n,) of 1 and -1

    Examples
    --------
    >>> from adakern.datasets import make_sandwich
    >>> X, y = make_sandwich(n=100)
    >>> X.shape, int((y == 1).sum())
    ((100, 2), 50)
    """
    rng = np.random.default_rng(random_state)
    outer = n // 2
    upper = outer // 2
    centre = np.repeat([gap, -gap, 0.0], [upper, outer - upper, n - outer])
    X = spread * rng.standard_normal((n, 2)) * [3.0, 1.0]
    X[:, 1] += centre
    return X, np.where(np.arange(n) < outer, 1, -1)


def make_step_1d(
    n=200, height=3.0, period=2.0, smoothness=20.0, noise=0.0, random_state=0
):
    """The smooth 1-D step function on [-5, 5].

    ``g(x) = height * (tanh(a t - a / 2) / (2 tanh(a / 2)) + 1/2 + floor(x / period))``
    with ``t = x / period - floor(x / period)`` (DANK paper, section 6.3.1). The a =
    0.05 printed there makes g a straight line to three digits; the default is its
    reciprocal, 20.

    Parameters
    ----------
    n : int, default=200
        Number of evenly spaced points.
    height, period : float, default=3.0, 2.0
    smoothness : float, default=20.0
        Parameter a of the formula; larger values give sharper steps.
    noise : float, default=0.0
        Standard deviation of normal noise on y.
    random_state : int, default=0

    Returns
    -------
    X : array of shape (n, 1)
    y : array of shape (n,)

    Examples
    --------
    >>> from adakern.datasets import make_step_1d
    >>> X, y = make_step_1d(n=11)
    >>> y[[4, 5, 6]].round(3).tolist()
    [-1.5, 0.0, 1.5]
    """
    x = np.linspace(-5, 5, n)
    whole = np.floor(x / period)
    a = smoothness
    rise = np.tanh(a * (x / period - whole) - a / 2) / (2 * np.tanh(a / 2))
    y = height * (rise + 0.5 + whole)
    return x[:, None], y + noise * np.random.default_rng(random_state).standard_normal(
        n
    )


def make_cherkassky_2d(n=400, low=-0.5, high=0.5, noise=0.0, random_state=0):
    """The 2-D test function of Cherkassky et al. [1]_ on uniform random points.

    ``g = 42.659 (0.1 + a (0.05 + a^4 - 10 a^2 b^2 + 5 b^4))``, a = u - 0.5, b = v -
    0.5, on [-0.5, 0.5]^2 as in the DANK paper (section 6.3.1); its usual domain is
    ``low=0, high=1``.

    Parameters
    ----------
    n : int, default=400
    low, high : float, default=-0.5, 0.5
        Range of u and v.
    noise : float, default=0.0
        Standard deviation of normal noise on y.
    random_state : int, default=0

    Returns
    -------
    X : array of shape (n, 2)
    y : array of shape (n,)

    References
    ----------
    .. [1] Cherkassky, V., Gehring, D. and Mulier, F. Comparison of adaptive methods for
       function estimation from samples. IEEE Transactions on Neural Networks 7, 1996.

    Examples
    --------
    >>> from adakern.datasets import make_cherkassky_2d
    >>> X, y = make_cherkassky_2d()
    >>> X.shape, bool(abs(X).max() <= 0.5)
    ((400, 2), True)
    """
    rng = np.random.default_rng(random_state)
    X = rng.uniform(low, high, (n, 2))
    a, b = X.T - 0.5
    harmonic = a**4 - 10 * a**2 * b**2 + 5 * b**4
    y = 42.659 * (0.1 + a * (harmonic + 0.05))
    return X, y + noise * rng.standard_normal(n)


def make_sin_2x3(n=400, high=2.0, noise=0.0, random_state=0):
    """The chirp ``y = sin(2 x^3)`` on [0, high].

    From the LAB RBF paper (Figure 1, which gives no range). No single bandwidth fits
    both ends.

    Parameters
    ----------
    n : int, default=400
        Number of evenly spaced points.
    high : float, default=2.0
    noise : float, default=0.0
        Standard deviation of normal noise on y.
    random_state : int, default=0

    Returns
    -------
    X : array of shape (n, 1)
    y : array of shape (n,)

    Examples
    --------
    >>> from adakern.datasets import make_sin_2x3
    >>> X, y = make_sin_2x3(n=3)
    >>> y.round(3).tolist()
    [0.0, 0.909, -0.288]
    """
    x = np.linspace(0, high, n)
    noise = noise * np.random.default_rng(random_state).standard_normal(n)
    return x[:, None], np.sin(2 * x**3) + noise


def make_covtype_like(n=464_810, random_state=0):
    """Random data with the shape of Covertype, for scaling experiments.

    Ten numeric columns and two one-hot encodings of 4 and 40 columns; the class is a
    smooth non-linear function of all of them. Only the shape is that of Covertype.

    Parameters
    ----------
    n : int, default=464810
        Number of rows; the default is the number of training rows in the DANK paper.
    random_state : int, default=0

    Returns
    -------
    X : array of shape (n, 54)
    y : array of shape (n,) of 1 and -1, about half of each

    Examples
    --------
    >>> from adakern.datasets import make_covtype_like
    >>> X, y = make_covtype_like(n=1000)
    >>> X.shape
    (1000, 54)
    """
    rng = np.random.default_rng(random_state)
    # Draw the class rule first, so that it does not depend on n.
    waves = rng.normal(scale=1.0, size=(60, 10))
    phase = rng.uniform(0, 2 * np.pi, 60)
    weight = rng.standard_normal(60) / np.sqrt(60)

    def smooth(numbers):
        value = np.zeros(len(numbers))
        for w, p, c in zip(waves, phase, weight, strict=True):
            value += c * np.cos(numbers @ w + p)
        return value

    level = np.median(smooth(rng.random((2000, 10))))
    area_effect = rng.normal(scale=0.1, size=4)
    soil_effect = rng.normal(scale=0.1, size=40)

    X = np.zeros((n, 54))
    X[:, :10] = rng.random((n, 10))
    area = rng.integers(4, size=n)
    soil = rng.integers(40, size=n)
    X[np.arange(n), 10 + area] = 1.0
    X[np.arange(n), 14 + soil] = 1.0
    score = smooth(X[:, :10]) - level + area_effect[area] + soil_effect[soil]
    return X, np.where(score > 0, 1, -1)


def make_panel(
    n_groups=60,
    group_size=20,
    effect=1.0,
    apart=0.0,
    drift=0.0,
    noise=0.5,
    classes=False,
    random_state=0,
):
    """Grouped rows in time order, with the best possible predictions.

    ``y = cos(a) x0 + sin(a) x1 + sin(2 x2) + x2 x3 + effect u + noise e`` with one
    standard normal ``u`` per group and ``a = drift t`` at the time t in [0, 1]. The
    group is not a feature, but the rows of a group are scattered around a common
    centre, from which the group can be recognised. On rows of new groups, no model has
    an expected root mean squared error below ``(effect^2 + noise^2)^0.5``.

    Parameters
    ----------
    n_groups, group_size : int, default=60, 20
    effect : float, default=1.0
        Standard deviation of the group effects on y.
    apart : float, default=0.0
        Standard deviation of the group centres, relative to that within a group.
        Features are scaled to unit variance overall.
    drift : float, default=0.0
        Total angle by which the slopes of x0 and x1 rotate.
    noise : float, default=0.5
    classes : bool, default=False
        Whether the target is the sign of y.
    random_state : int, default=0

    Returns
    -------
    panel : Bunch
        ``data`` (n, 5), with the time in the last column; ``target`` (n,), ``groups``
        (n,), ``time`` (n,) and ``expected`` (n,), the expected y in a new group.

    Examples
    --------
    >>> from adakern.datasets import make_panel
    >>> panel = make_panel(n_groups=3, group_size=4)
    >>> panel.data.shape, bool((panel.time[1:] > panel.time[:-1]).all())
    ((12, 5), True)
    """
    rng = np.random.default_rng(random_state)
    n = n_groups * group_size
    groups = rng.permutation(np.repeat(np.arange(n_groups), group_size))
    time = np.sort(rng.random(n))
    centres = apart * rng.standard_normal((n_groups, 4))
    X = (centres[groups] + rng.standard_normal((n, 4))) / np.hypot(apart, 1.0)
    turn = drift * time
    linear = np.cos(turn) * X[:, 0] + np.sin(turn) * X[:, 1]
    expected = linear + np.sin(2 * X[:, 2]) + X[:, 2] * X[:, 3]
    own = effect * rng.standard_normal(n_groups)[groups]
    y = expected + own + noise * rng.standard_normal(n)
    from sklearn.utils import Bunch  # the workflow plans without scikit-learn

    return Bunch(
        data=np.column_stack([X, time]),
        target=np.where(y > 0, 1, -1) if classes else y,
        groups=groups,
        time=time,
        expected=expected,
    )
