"""Detection of distribution shift between training rows and new rows."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import betabinom, chi2_contingency, ks_2samp
from scipy.stats.contingency import crosstab

from adakern._utils.wording import count
from adakern.evaluation import holm_correction

#: Significance levels of the warning with predictions, and of a shifted column.
WARNED, SHIFTED = 0.01, 0.05

#: Categories with fewer rows in both samples together are merged for the comparison.
FEWEST_OF_CATEGORY = 10


@dataclass
class Seen:
    """Statistics of the training rows: ranges, missing values and a sample of rows.

    ``single`` counts the categories that occur in only one row. It estimates how many
    of the same number of new rows have an unseen category.
    """

    n: int
    low: np.ndarray
    high: np.ndarray
    missing: np.ndarray
    single: np.ndarray
    sample: np.ndarray


@dataclass
class ColumnCheck:
    """Distribution shift of one column.

    Attributes
    ----------
    column : str
    outside : float
        Share of rows outside the range of the training rows.
    missing : float
        Share of rows with a missing value or an unseen category.
    known_missing : float
        Share of training rows with a missing value.
    test : str
        Test with the smallest p-value: "range", "missing", "KS" or "chi-squared".
    p : float
        Its p-value after Holm's correction over all tests of all columns.
    """

    column: str
    outside: float
    missing: float
    known_missing: float
    test: str
    p: float


@dataclass(repr=False)
class ShiftReport:
    """Result of :meth:`AdaptiveKernelRegressor.check`; prints as a table.

    Attributes
    ----------
    n : int
        Number of rows checked.
    outside : float
        Share of rows with at least one value outside the range of the training rows.
    columns : list of ColumnCheck
        One entry per column, sorted by p-value.
    shifted : list of str
        Columns with p < 0.05.
    """

    n: int
    outside: float
    columns: list
    shifted: list

    def __repr__(self):
        lines = [
            f"{count(self.n, 'row')}, {self.outside:.1%} with a value outside the "
            f"training range; {len(self.shifted)} of {len(self.columns)} columns "
            "differ",
            f"{'column':24} {'outside':>8} {'missing':>8} {'before':>8} "
            f"{'test':>12} {'p (Holm)':>9}",
        ]
        lines += [
            f"{c.column[:24]:24} {c.outside:8.1%} {c.missing:8.1%} "
            f"{c.known_missing:8.1%} {c.test:>12} {c.p:9.2g}"
            for c in self.columns
        ]
        return "\n".join(lines)


def _compare(seen, X):
    """Return which values are out of range or missing, and p-values (2, d)."""
    missing = np.isnan(X)
    outside = (seen.low > X) | (seen.high < X)
    known = np.maximum(seen.n - seen.missing, 2)
    m = len(X)
    p = np.ones((2, X.shape[1]))
    # The distributions take a millisecond to compute, and are rarely needed.
    if outside.any():
        # On average, a fraction 2 / (n + 1) of new rows lies outside the range of n.
        beyond = outside.sum(axis=0)
        given = m - missing.sum(axis=0)
        p[0] = betabinom.sf(beyond - 1, np.maximum(given, 1), 2, known - 1)
    if missing.any():
        expected = np.minimum(seen.missing + seen.single, seen.n)
        absent = missing.sum(axis=0)
        p[1] = betabinom.sf(absent - 1, m, 1 + expected, 1 + seen.n - expected)
    return outside, missing, np.where(np.isnan(p), 1.0, p)


def shift_warning(seen, reader, read):
    """Warning about rows to be predicted, or None if they resemble training rows."""
    if seen is None or not len(read):
        return None
    X = read[:, reader.first_]
    outside, missing, p = _compare(seen, X)
    if p.min() * p.size >= WARNED:
        return None
    # New rows are usually later, and users cannot interpret ranges of text vectors.
    has_no_range = [column.kind in ("date", "text") for column in reader.columns_]
    p[0, has_no_range] = 1.0
    small = np.reshape(holm_correction(p.ravel()), p.shape) < WARNED
    if not small.any():
        return None
    parts = []
    for j, column in enumerate(reader.columns_):
        if small[0, j]:
            least = np.nanmin(X[:, j])
            most = np.nanmax(X[:, j])
            parts.append(
                f"{column.name}: {outside[:, j].mean():.0%} outside "
                f"{seen.low[j]:.4g} to {seen.high[j]:.4g} ({least:.4g} to {most:.4g})"
            )
        if small[1, j]:
            parts.append(
                f"{column.name}: {missing[:, j].mean():.0%} missing or in a new "
                f"category (missing in training: {seen.missing[j] / seen.n:.0%})"
            )
    more = f"; and {len(parts) - 5} more" if len(parts) > 5 else ""
    return (
        f"{count(len(X), 'row')} unlike the training rows: {'; '.join(parts[:5])}{more}"
        ". Use check(X) to compare all columns"
    )


def check_rows(seen, reader, read):
    """Return the :class:`ShiftReport` of new rows."""
    if seen is None:
        raise ValueError(
            "the model was fitted by an earlier version, which stored no training rows "
            "to compare with; fit it again"
        )
    first = reader.first_
    X = read[:, first]
    is_categorical = reader.is_categorical[first]
    outside, missing, p = _compare(seen, X)
    pairs = zip(seen.sample.T, X.T, is_categorical, strict=True)
    p = np.vstack([p, [_two_samples(*pair) for pair in pairs]])
    corrected = np.reshape(holm_correction(p.ravel()), p.shape)
    checks = []
    for j, column in enumerate(reader.columns_):
        by = int(p[:, j].argmin())
        tests = "range", "missing", "chi-squared" if is_categorical[j] else "KS"
        shares = outside[:, j].mean(), missing[:, j].mean(), seen.missing[j] / seen.n
        shares = map(float, shares)
        checks.append(
            ColumnCheck(column.name, *shares, tests[by], float(corrected[by, j]))
        )
    checks.sort(key=lambda check: check.p)
    shifted = [check.column for check in checks if check.p < SHIFTED]
    return ShiftReport(len(X), float(outside.any(axis=1).mean()), checks, shifted)


def _two_samples(old, new, is_categorical):
    """P-value for equal distributions of two samples of a column."""
    if not is_categorical:
        old, new = old[~np.isnan(old)], new[~np.isnan(new)]
        if not (len(old) and len(new)):
            return 1.0
        # The asymptotic distribution is not accurate for small samples.
        method = "exact" if len(old) * len(new) <= 10_000 else "asymp"
        return float(ks_2samp(old, new, method=method).pvalue)
    is_new = np.repeat([False, True], [len(old), len(new)])
    counts = crosstab(is_new, np.append(old, new)).count
    rare = counts.sum(axis=0) < FEWEST_OF_CATEGORY
    counts = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
    counts = counts[:, counts.sum(axis=0) > 0]
    return float(chi2_contingency(counts).pvalue) if counts.shape[1] > 1 else 1.0
