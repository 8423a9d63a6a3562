"""Search curves: what the cross-validations saw, parameter by parameter."""

import pandas as pd

from adakern_bench.paths import repeats_of

__all__ = ["read_search", "search_curves"]

_NOT_PARAMETERS = {"repeat", "mean_score", "std_score"}


def read_search(out, dataset, method):
    """The cross-validation tables of one cell, or None where nothing was searched.

    A folder that was filled with several numbers of repeats holds some of them twice;
    the newer file counts.
    """
    frames, taken = [], set()
    files = (out / "search" / dataset / method).glob("*.cv.csv")
    for path in sorted(files, key=lambda p: p.stat().st_mtime, reverse=True):
        try:
            frame = pd.read_csv(path)
        except pd.errors.EmptyDataError:  # every search of the batch failed
            continue
        batch = set(repeats_of(path.with_suffix("")))
        frames.append(frame[~frame["repeat"].isin(taken)])
        taken |= batch
    return pd.concat(frames, ignore_index=True) if frames else None


def search_curves(table):
    """For each searched parameter: value -> score of the best point that has it.

    Means over the repeats; a parameter with one value is left out.

    Examples
    --------
    >>> import pandas as pd
    >>> from adakern_bench.report.curves import search_curves
    >>> table = pd.DataFrame(
    ...     {"repeat": 0, "C": [1.0, 1.0, 4.0], "gamma": 1.0, "mean_score": [1, 2, 3]}
    ... )
    >>> search_curves(table)["C"].to_dict()
    {1.0: 2.0, 4.0: 3.0}
    """
    curves = {}
    for name in table.columns.difference(_NOT_PARAMETERS):
        values = table[name]
        # A number read from a column that holds words too is a word.
        if values.dtype.kind in "iuf":
            values = values.astype(float)
        if values.nunique() < 2:
            continue
        best = table.groupby(["repeat", values])["mean_score"].max()
        curves[name] = best.groupby(level=1).mean()
    return curves
