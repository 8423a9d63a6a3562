"""Coverage of prediction intervals and sets by category or group of rows."""

import numpy as np

#: Minimum number of rows of a category; with fifty rows, the standard error is 4 %.
FEWEST_ROWS = 50

#: Coverage below this value is reported.
LOW = 0.85


def coverage_by(covered, kinds):
    """Coverage of intervals or sets for each category or group of rows.

    Parameters
    ----------
    covered : ndarray of shape (n,)
        ``oof_covered_``.
    kinds : mapping of str to array-like of shape (n,)
        Categories or groups of the rows.

    Returns
    -------
    dict of dict
        Coverage and number of rows by column and category, for categories of at least
        fifty rows, in ascending order of coverage.
    """
    import pandas as pd

    seen = pd.Series(covered).dropna()
    result = {}
    for name, values in kinds.items():
        levels = pd.Series(np.asarray(values, dtype=object)).dropna().map(str)
        shares = seen.groupby(levels).agg(["mean", "size"])
        shares = shares[shares["size"] >= FEWEST_ROWS]
        if len(shares):
            ascending = shares.sort_values("mean", kind="stable").itertuples()
            result[name] = {level: (share, n) for level, share, n in ascending}
    return result


def coverage_lines(coverage):
    """Yield a line per column with its least covered categories."""
    for name, shares in coverage.items():
        least = list(shares.items())[:3]
        listed = ", ".join(f"{level} {share:.0%} of {n}" for level, (share, n) in least)
        more = f" and {len(shares) - 3} more" if len(shares) > 3 else ""
        low = sum(share < LOW for share, _ in shares.values())
        yield f"  {name}: {listed}{more}" + f"; {low} below {LOW:.0%}" * bool(low)
