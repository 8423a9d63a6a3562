"""Tables with more rows than ``max_rows``: a sample, then sums over blocks of all rows.

All members are fitted to the sample. Then, the coefficients of Nyström members are
recomputed for all rows: they solve least squares problems that need only sums over
rows. Rows are read by blocks from memory, from a memory map, or from the partitions of
a Dask array or data frame, whose sums are computed by Dask's workers.
"""

import time
from functools import partial, reduce, wraps

import numpy as np
from array_api_compat import array_namespace
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing, check_consistent_length, column_or_1d
from sklearn.utils.validation import (
    _num_samples,
    assert_all_finite,
)

from adakern._utils.arrays import check_weights, device_context, from_foreign, is_dask
from adakern._utils.resources import row_blocks
from adakern._utils.warn import warn_user
from adakern.adaptive.given import read_rows, several_targets

#: Minimum number of rows of each class in the sample, if the class has so many.
FEWEST_OF_CLASS = 10

#: Memory in bytes to read one number, including its columns in the kernel view.
BYTES_PER_NUMBER = 64

#: Number of blocks whose sums are added in one step.
SUMMANDS = 4


def in_memory(X):
    """Compute Dask collections; return anything else unchanged."""
    return X.compute() if is_dask(X) else X


class AllRows:
    """All rows of a table, and the sorted indices ``sample`` of a subsample.

    The sample has up to ``max_rows`` rows with a positive weight, some of each class.
    Coefficients are not computed from all rows if that would miss the ``deadline``.
    """

    def __init__(self, estimator, X, y, sample_weight, rng, deadline):
        self._estimator = estimator
        self._deadline = deadline
        self.X = X
        y = from_foreign(in_memory(y))
        self.y = several_targets(estimator, y, "y")
        if self.y is None:
            self.y = column_or_1d(y, warn=True)
            assert_all_finite(self.y, input_name="y")
        self._partitions, lengths = (
            _partitions(X) if is_dask(X) else ([], [_num_samples(X)])
        )
        self._ends = np.cumsum(lengths)
        check_consistent_length(self.y, range(self._ends[-1]))
        rows = np.empty((len(self.y), 1))
        self._sample_weight = check_weights(in_memory(sample_weight), rows)
        self._weights = estimator._row_weights(self.y, self._sample_weight)
        self.sample = np.arange(len(self.y))
        if len(self.y) > estimator.max_rows:
            rows = rng.permutation(np.flatnonzero(self._weights))
            if is_classifier(estimator):
                rows = _first_of_each(self.y, rows)
            self.sample = np.sort(rows[: estimator.max_rows])

    def drawn(self, *others):
        """Return the arguments of ``fit`` for the sample; ``others`` may be None."""
        taken = in_memory(self._take(self.sample))
        of_rows = self.y[self.sample], self._sample_weight[self.sample]
        return taken, *of_rows, *map(self._select_sample, others)

    def _select_sample(self, values):
        """Select the values of the sample from those of all rows (n,); None is kept."""
        if values is None:
            return None
        values = column_or_1d(in_memory(values))
        check_consistent_length(self.y, values)
        return values[self.sample]

    def _take(self, rows):
        """Select rows by sorted indices; for Dask, the result is delayed."""
        if not is_dask(self.X):
            return _safe_indexing(self.X, rows)
        from dask import delayed

        take = delayed(_safe_indexing)
        starts = [0, *self._ends]
        cuts = np.searchsorted(rows, starts)
        parts = zip(self._partitions, cuts[:-1], cuts[1:], starts, strict=False)
        return delayed(_concatenate)(
            [take(p, rows[a:b] - start) for p, a, b, start in parts if a < b]
        )

    def places(self, position):
        """Extend positions of the sample's rows to all rows, with -1 for the others."""
        places = np.full(len(self.y), -1)
        places[self.sample] = position
        return places

    def refit(self, problem, members):
        """Return the members, with coefficients from all rows for Nyström members."""
        n = len(self.y)
        n_sample = len(self.sample)
        refitted = [member for member in members if member.model.with_sums]
        if n == n_sample or not refitted:
            return members
        if self.y.ndim > 1 and np.isnan(self.y).any():
            warn_user(
                "y has missing values: the coefficients of kernel members are fitted "
                f"to max_rows={n_sample} rows instead of all {n}"
            )
            return members
        took = sum(member.seconds for member in refitted)
        if time.perf_counter() + took * n / n_sample > self._deadline:
            warn_user(
                f"time_limit was too short for sums over all {n} rows; coefficients of "
                f"kernel members are fitted to {n_sample} rows"
            )
            return members
        work = partial(
            _sums,
            read=partial(read_rows, self._estimator, problem.reader),
            encode=problem.blend.encode,
            models=[(member.model, member.view) for member in refitted],
        )
        with device_context(self.X):
            for member, sums in zip(refitted, self._summed(work), strict=True):
                member.fits.whole = member.model.with_sums(*sums)
        return members

    def _summed(self, work):
        """Sum of ``work`` over all blocks.

        With Dask, the same blocks are added in the same order, because the sums of a
        smooth kernel are so ill-conditioned that different rounding would be visible in
        the predictions.
        """
        weights = self._weights / self._weights.max()  # since their sum may overflow
        weights /= weights[weights > 0].mean()
        add = _add_sums
        if is_dask(self.X):
            from dask import delayed

            work = delayed(work)
            add = delayed(_add_sums)
        # A class whose rows all have zero weight is unknown to the model. Its rows are
        # still read, since all of X is validated.
        y = self.y.copy()
        y[weights == 0] = self.y[self.sample[0]]
        numbers = np.arange(len(y))
        blocks = [numbers[block] for block in _blocks(self.X, len(numbers))]
        sums = (
            add(
                [
                    work(self._take(b), y[b], weights[b])
                    for b in blocks[i : i + SUMMANDS]
                ]
            )
            for i in range(0, len(blocks), SUMMANDS)
        )
        return in_memory(reduce(lambda total, part: add([total, part]), sums))


def _first_of_each(y, rows):
    """Reorder row indices such that some rows of each class come first."""
    codes = np.unique(y[rows], return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    place = np.arange(len(rows)) - np.searchsorted(codes[order], codes[order])
    first = order[place < FEWEST_OF_CLASS]
    return np.append(rows[first], np.delete(rows, first))


def _blocks(X, n):
    """Slices of the n rows of X, small enough to be read at once."""
    n_columns = X.shape[1] if hasattr(X, "shape") else len(X[0])
    return list(row_blocks(n, BYTES_PER_NUMBER * n_columns))


def _partitions(X):
    """Delayed blocks of rows of a Dask array or data frame, and their lengths."""
    if hasattr(X, "columns"):
        return X.to_delayed(), list(X.map_partitions(len).compute())
    if np.isnan(X.shape[0]):
        X.compute_chunk_sizes()
    return X.rechunk({1: -1}).to_delayed().ravel(), X.chunks[0]


def _sums(X, y, weights, read, encode, models):
    """Normal equations of a block of rows for each model."""
    with device_context(X):
        rows = read(X)
        Y = encode(y)
        return [
            model.normal_equations(view.transform(rows), Y, weights)
            for model, view in models
        ]


def _add_sums(parts):
    """Sum of the normal equations for each model."""
    return [
        tuple(map(sum, zip(*model, strict=True))) for model in zip(*parts, strict=True)
    ]


def _concatenate(parts):
    """Concatenate blocks of rows."""
    if not hasattr(parts[0], "columns"):
        return np.concatenate(parts)
    import pandas as pd

    return pd.concat(parts)


def in_blocks(method):
    """Decorate a method to process many rows X by blocks, and those of Dask lazily."""

    @wraps(method)
    def of_rows(self, X, *args, **options):
        def predict(block):
            return method(self, block, *args, **options)

        if is_dask(X):
            return _predict_lazily(predict, X)
        blocks = (
            _blocks(X, _num_samples(X)) if len(getattr(X, "shape", ())) == 2 else []
        )
        if len(blocks) < 2:
            return predict(X)
        parts = [predict(_safe_indexing(X, rows)) for rows in blocks]
        return array_namespace(parts[0]).concat(parts)

    return of_rows


def _predict_lazily(predict, X):
    """Dask array of predictions, whose type is inferred from a single row."""
    is_frame = hasattr(X, "columns")
    like = predict(
        X._meta_nonempty if is_frame else np.zeros((1, X.shape[1]), dtype=X.dtype)
    )

    def unless_empty(block):
        return predict(block) if len(block) else like[:0]

    if is_frame:
        return X.map_partitions(unless_empty, meta=like[:0])
    X = X.rechunk({1: -1})
    if like.ndim == 1:
        return X.map_blocks(unless_empty, dtype=like.dtype, drop_axis=1)
    return X.map_blocks(
        unless_empty, dtype=like.dtype, chunks=(X.chunks[0], (like.shape[1],))
    )
