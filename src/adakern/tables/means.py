"""Target encoding of categories of many levels: mean targets, shrunk to that of all."""

import numpy as np

#: Categories of a column that get an indicator of their own, rarer ones share one; of
#: more levels than these the mean targets are learned as well.
MOST_INDICATORS = 30

#: Standard errors, of levels that all are worth the same, by which they have to differ.
SURE = 2.0


def means_of_levels(codes, targets, weights, n_levels):
    """By how much the targets of each level are above the mean of all, (n_levels, k).

    The means of the levels are drawn to zero by empirical Bayes: the more, the less
    they scatter beyond what the rows within them make by chance.

    Micci-Barreca. A preprocessing scheme for high-cardinality categorical attributes.
    SIGKDD Explorations 3 (2001).
    """
    means, size, within, between, _ = _scatter(codes, targets, weights, n_levels)
    noise = within / np.where(between > 0, between, 1.0)
    share = np.divide(size, size + noise, out=np.zeros_like(means), where=size > 0)
    return (means * share * (between > 0)).T


def say_something(codes, targets, weights, n_levels):
    """Whether levels differ in some target by more than chance would have it."""
    *_, between, error = _scatter(codes, targets, weights, n_levels)
    return bool((between > SURE * error).any())


def _scatter(codes, targets, weights, n_levels):
    """Means (k, n_levels) and weights of levels, the variance within and between them
    (k, 1), and the standard error of the latter where it is zero.
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
    if not 1 < levels < total:  # one level, or a row each, which says nothing of others
        nothing = np.zeros_like(mean)
        return means, size, nothing + 1, nothing, nothing
    within = (above - means[:, places]) ** 2 @ weights / (total - levels)
    between = means**2 @ size - (levels - 1) * within
    usual = total - size @ size / total
    error = within * np.sqrt(2 / (levels - 1) + 2 / (total - levels))
    error *= (levels - 1) / usual
    return means, size, within[:, None], between[:, None] / usual, error[:, None]


def means_left_out(codes, targets, weights, part, n_levels):
    """What the level of each row is worth by the rows of all other parts, (n, k)."""
    values = np.empty(targets.shape)
    for label in np.unique(part):
        here = part == label
        others = part != label
        known = (codes[others], targets[others], weights[others])
        values[here] = worth(means_of_levels(*known, n_levels), codes[here])
    return values


def worth(table, codes):
    """The rows (n, k) of what levels are worth for the codes (n,) of categories; zero
    for missing and new ones.
    """
    missing = np.isnan(codes)
    found = table[np.where(missing, 0, codes).astype(int)]
    return np.where(missing[:, None], 0.0, found)
