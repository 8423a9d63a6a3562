"""Target encoding of columns with many levels: means shrunk to the overall mean."""

import numpy as np

#: Columns with more levels than this are also target encoded, and their levels share a
#: scale in kernels. For other methods, and on very many rows, only so many levels, the
#: most frequent ones, have an indicator each.
MOST_INDICATORS = 30

#: Number of standard errors by which an effect must differ from zero: the variance
#: between levels, under the hypothesis of equal levels, or the improvement of left-out
#: predictions by the n-grams of texts.
SURE = 2.0


def means_of_levels(codes, targets, weights, n_levels):
    """Mean targets of the levels minus the overall mean, shrunk, (n_levels, k).

    The means are shrunk to zero by empirical Bayes. The shrinkage is stronger if the
    variance between levels hardly exceeds that expected from the variance within them.

    Micci-Barreca. A preprocessing scheme for high-cardinality categorical attributes.
    SIGKDD Explorations 3 (2001).
    """
    means, size, within, between, _ = _scatter(codes, targets, weights, n_levels)
    noise = within / np.where(between > 0, between, 1.0)
    share = np.divide(size, size + noise, out=np.zeros_like(means), where=size > 0)
    return (means * share * (between > 0)).T


def levels_differ(codes, targets, weights, n_levels):
    """Whether levels differ in some target by more than expected by chance."""
    *_, between, error = _scatter(codes, targets, weights, n_levels)
    return bool((between > SURE * error).any())


def _scatter(codes, targets, weights, n_levels):
    """Return means (k, n_levels), weights, variances of levels, and a standard error.

    The variances (k, 1) are those within and between levels. The standard error is that
    of the latter under the hypothesis that it is zero.
    """
    known = ~np.isnan(codes)
    mean = np.average(targets, axis=0, weights=weights)[:, None]
    places, weights = codes[known].astype(int), weights[known]
    above = targets[known].T - mean
    size = np.bincount(places, weights, n_levels)
    total = size.sum()
    levels = np.count_nonzero(size)
    sums = np.array([np.bincount(places, weights * a, n_levels) for a in above])
    means = sums / np.where(size > 0, size, 1.0)
    if not 1 < levels < total:  # one level, or one row per level: nothing to estimate
        nothing = np.zeros_like(mean)
        return means, size, nothing + 1, nothing, nothing
    within = (above - means[:, places]) ** 2 @ weights / (total - levels)
    between = means**2 @ size - (levels - 1) * within
    usual = total - size @ size / total
    error = within * np.sqrt(2 / (levels - 1) + 2 / (total - levels))
    error *= (levels - 1) / usual
    return means, size, within[:, None], between[:, None] / usual, error[:, None]


def means_left_out(codes, targets, weights, part, n_levels):
    """Encode the level of each row by the rows of all other parts, shape (n, k)."""
    values = np.empty(targets.shape)
    for label in np.unique(part):
        here = part == label
        others = part != label
        known = (codes[others], targets[others], weights[others])
        values[here] = worth(means_of_levels(*known, n_levels), codes[here])
    return values


def worth(table, codes):
    """Look up target encodings (n, k) for category codes (n,).

    Missing and new categories have zeros.
    """
    missing = np.isnan(codes)
    values = table[np.where(missing, 0, codes).astype(int)]
    return np.where(missing[:, None], 0.0, values)
