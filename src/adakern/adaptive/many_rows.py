"""Tables of more rows than a fit takes: a sample, then sums over blocks of all rows.

Everything is learned from the sample. After that the coefficients of kernel members that
stand on centres, which are least squares and need sums over rows alone, become those of
all rows. These are read block by block: from memory, from a file mapped into it, or from
the partitions of a Dask array or data frame, whose sums are taken where they lie.
"""

import time
from dataclasses import replace
from functools import partial, reduce, wraps

import numpy as np
from array_api_compat import array_namespace
from sklearn.utils import _safe_indexing, check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_sample_weight, _num_samples, assert_all_finite

from adakern._utils.arrays import device_context, from_foreign
from adakern._utils.blocks import row_blocks
from adakern._utils.warn import warn_user
from adakern.adaptive.parts import Views

__all__ = ["AllRows", "in_blocks", "in_memory", "is_dask"]

#: Rows of each class in the sample at least, if there are any more.
FEWEST_OF_CLASS = 10

#: Memory that reading one number takes, with all that it becomes for a kernel.
BYTES_PER_NUMBER = 64

#: Sums of blocks that one task of Dask adds up.
SUMMANDS = 8


def is_dask(X):
    """Whether X is an array or data frame of Dask."""
    return type(X).__module__.partition(".")[0] == "dask"


def in_memory(X):
    """What Dask would compute; anything else as it is."""
    return X.compute() if is_dask(X) else X


class AllRows:
    """All rows of a table, and a sample of them: ``sample`` are their numbers, rising."""

    def __init__(self, X, y, sample_weight, row_weights):
        self.X, self.y = X, column_or_1d(from_foreign(in_memory(y)), warn=True)
        assert_all_finite(self.y, input_name="y")
        if is_dask(X):
            self._partitions, lengths = _partitions(X)
            self._starts = np.cumsum([0, *lengths])
        n = self._starts[-1] if is_dask(X) else _num_samples(X)
        check_consistent_length(self.y, range(n))
        weights = from_foreign(in_memory(sample_weight))
        weights = _check_sample_weight(
            weights, self.y[:, None], dtype=float, ensure_non_negative=True
        )
        self._sample_weight, self._weights = weights, row_weights(self.y, weights)

    def draw(self, n, rng, groups, stratify):
        """Up to n rows that have a weight, with their targets, weights and groups.

        With ``stratify`` there are some of each class.
        """
        rows = np.flatnonzero(self._weights)
        self._is_whole = len(self.y) <= n
        if self._is_whole:
            rows, stratify = np.arange(len(self.y)), False
        else:
            rows = rows[rng.permutation(len(rows))]
        if stratify:
            codes = np.unique(self.y[rows], return_inverse=True)[1]
            order = np.argsort(codes, kind="stable")
            before = np.searchsorted(codes[order], codes[order])
            is_rare = np.empty(len(rows), dtype=bool)
            is_rare[order] = np.arange(len(rows)) - before < FEWEST_OF_CLASS
            rows = rows[np.argsort(~is_rare, kind="stable")]
        self.sample = np.sort(rows[:n])
        if groups is not None:
            groups = column_or_1d(in_memory(groups))
            check_consistent_length(self.y, groups)
            groups = groups[self.sample]
        return self._taken(), self.y[self.sample], self._sample_weight[self.sample], groups

    def _taken(self):
        """The rows of the sample, in memory."""
        if not is_dask(self.X):
            return _safe_indexing(self.X, self.sample)
        number = np.searchsorted(self._starts, self.sample, side="right") - 1
        return self._joined(
            (i, self.sample[number == i] - self._starts[i]) for i in np.unique(number)
        ).compute()

    def _block(self, rows):
        """A slice of the rows, delayed if they are Dask's."""
        if not is_dask(self.X):
            return _safe_indexing(self.X, rows)
        starts = self._starts
        first, last = np.searchsorted(starts, [rows.start + 1, rows.stop])
        places = np.array([rows.start, rows.stop])
        return self._joined(
            (i, slice(*(np.clip(places, starts[i], starts[i + 1]) - starts[i])))
            for i in range(first - 1, last)
        )

    def _joined(self, parts):
        """Rows of some partitions, delayed: the number of each, and which of its rows."""
        from dask import delayed

        return delayed(_joined)(
            [delayed(_safe_indexing)(self._partitions[i], rows) for i, rows in parts]
        )

    def places(self, position):
        """Places of all rows, -1 for those outside of the sample, whose places these are."""
        places = np.full(len(self.y), -1)
        places[self.sample] = position
        return places

    def refit(self, members, read, encode, deadline):
        """The members, those that stand on centres with the coefficients of all rows.

        ``read`` makes numbers of a block of X, ``encode`` of its targets.
        """
        found = {i: _model(m) for i, m in enumerate(members) if _model(m)[0].stands_on_centres}
        if not found or self._is_whole:
            return members
        weights = self._weights / self._weights[self._weights > 0].mean()
        work = partial(_sums, read=read, encode=encode, models=list(found.values()))
        with device_context(self.X):
            sums = self._summed(work, weights, deadline)
            members = list(members)
            for (i, (model, view)), (normal, right) in zip(found.items(), sums, strict=False):
                m = members[i]
                fits = replace(m.fits, whole=model.with_sums(normal, right))
                members[i] = replace(m, views=Views(view, m.views.folds), fits=fits)
        return members

    def _summed(self, work, weights, deadline):
        """The sum of ``work`` over all blocks, an empty list if there is no time for it.

        Dask adds up the same blocks in the same order: the sums of a smooth kernel are so
        ill-conditioned that other rounding would be seen in what is predicted.
        """
        blocks = _blocks(self.X, len(self.y))
        groups = [blocks[i : i + SUMMANDS] for i in range(0, len(blocks), SUMMANDS)]
        if is_dask(self.X):
            from dask import delayed

            work, added = delayed(work), delayed(_added)
            sums = (added([self._work(work, weights, rows) for rows in group]) for group in groups)
            return reduce(lambda total, part: added([total, part]), sums).compute()
        if deadline < np.inf:
            started = time.perf_counter()
            self._work(work, weights, blocks[0])
            now = time.perf_counter()
            if now + len(blocks) * (now - started) > deadline:
                warn_user(
                    f"time_limit was too short for sums over all {len(self.y)} rows; "
                    f"coefficients are those of {len(self.sample)}"
                )
                return []
        return _added(_added(self._work(work, weights, rows) for rows in group) for group in groups)

    def _work(self, work, weights, rows):
        return work(self._block(rows), self.y[rows], weights[rows])


def _blocks(X, n):
    """Slices of the n rows of X."""
    n_columns = X.shape[1] if hasattr(X, "shape") else len(X[0])
    return list(row_blocks(n, BYTES_PER_NUMBER * n_columns))


def _partitions(X):
    """Delayed blocks of rows of a Dask array or data frame, and their lengths."""
    if hasattr(X, "columns"):
        return X.to_delayed(), X.map_partitions(len).compute()
    if np.isnan(X.shape[0]):
        X.compute_chunk_sizes()
    X = X.rechunk({1: -1})
    return X.to_delayed().ravel(), X.chunks[0]


def _model(member):
    """The model that predicts, or that of the only fold, and how it sees rows."""
    if member.fits.whole is not None:
        return member.fits.whole, member.views.whole
    return member.fits.models[0], member.views.folds[0]


def _sums(X, y, weights, read, encode, models):
    """Normal equations of a block of rows for each of the models."""
    with device_context(X):
        rows, Y = read(X), encode(y)
        return [model.normal_equations(view.transform(rows), Y, weights) for model, view in models]


def _added(parts):
    """Normal equations for each of the models, summed up."""
    total = None
    for part in parts:
        if total is None:
            total = part
        else:
            pairs = zip(total, part, strict=True)
            total = [(A + C, B + D) for (A, B), (C, D) in pairs]
    return total


def _joined(parts):
    """Blocks of rows as one."""
    if not hasattr(parts[0], "columns"):
        return np.concatenate(parts)
    import pandas as pd

    return pd.concat(parts)


def in_blocks(method):
    """A method of rows X that goes through many of them block by block.

    For Dask's arrays and data frames it is lazy, and gives an array of Dask.
    """

    @wraps(method)
    def of_rows(self, X, *args, **options):
        def predict(block):
            return method(self, block, *args, **options)

        if is_dask(X):
            return _lazily(predict, X)
        blocks = _blocks(X, _num_samples(X)) if len(getattr(X, "shape", ())) == 2 else []
        if len(blocks) < 2:
            return predict(X)
        parts = [predict(_safe_indexing(X, rows)) for rows in blocks]
        return array_namespace(parts[0]).concat(parts)

    return of_rows


def _lazily(predict, X):
    """An array of Dask of what is predicted for its rows; one row shows of what kind."""
    is_frame = hasattr(X, "columns")
    like = predict(X._meta_nonempty if is_frame else np.zeros((1, X.shape[1]), dtype=X.dtype))

    def unless_empty(block):
        return predict(block) if len(block) else like[:0]

    if is_frame:
        return X.map_partitions(unless_empty, meta=like[:0])
    X = X.rechunk({1: -1})
    if like.ndim == 1:
        return X.map_blocks(unless_empty, dtype=like.dtype, drop_axis=1)
    return X.map_blocks(unless_empty, dtype=like.dtype, chunks=(X.chunks[0], (like.shape[1],)))
