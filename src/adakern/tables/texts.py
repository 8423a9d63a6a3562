"""Free text as numbers: singular vectors of its n-grams, and their effects."""

import numpy as np
from scipy.sparse import diags
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.linear_model import ridge_regression
from sklearn.preprocessing import normalize
from sklearn.utils import gen_batches

from adakern.tables.means import SURE

#: Maximum number of characters of a cell that are used.
MOST_CHARACTERS = 10_000

#: Maximum number of components, and minimum number of texts per component.
MOST_VECTORS, TEXTS_PER_VECTOR = 60, 5

#: Number of hash values of n-grams; n-grams with the same hash are not distinguished.
N_HASHES = 2**13

#: Maximum number of texts to which vectors are fitted, and number hashed at once.
MOST_LEARNED, AT_ONCE = 20_000, 1000

#: Candidates for the ridge of a regression on n-grams; frequencies have unit norm.
RIDGES = (0.01, 0.1, 1.0, 10.0)

#: Residual of conjugate gradients, relative to the right-hand side, at which they stop.
LEAST_RESIDUAL = 1e-4

#: Maximum number of rows from which effects of n-grams are estimated.
MOST_REGRESSED = 10_000


class TextVectors:
    """Singular vectors of the weighted frequencies of character n-grams.

    The n-grams are sequences of two to four characters within a word. They are hashed
    and weighted by inverse document frequency. Targets are not used.

    Deerwester, Dumais, Furnas, Landauer, Harshman. Indexing by latent semantic
    analysis. Journal of the American Society for Information Science 41 (1990).
    """

    def fit(self, texts):
        """Fit to distinct texts, or to a subsample of many."""
        learned = texts[:: -(-len(texts) // MOST_LEARNED)]
        hashed = _hash_ngrams(learned)
        self.weights_ = TfidfTransformer().fit(hashed).idf_
        n_vectors = min(MOST_VECTORS, len(learned) // TEXTS_PER_VECTOR)
        svd = TruncatedSVD(n_vectors, random_state=0).fit(self._weighted(hashed))
        kept = svd.singular_values_ > 1e-6 * svd.singular_values_[0]
        self.vectors_ = svd.components_[kept].T
        return self

    @property
    def n_vectors(self):
        """Number of components."""
        return self.vectors_.shape[1]

    def transform(self, texts, effects=None):
        """Convert texts to numbers (n, n_vectors), with NaN for None.

        With the ``effects`` (N_HASHES, k) of n-grams, k columns of their sums are
        appended, with zeros for None.
        """
        by_hash = self.vectors_
        if effects is not None:
            by_hash = np.hstack([by_hash, effects])
        blocks = [np.empty((0, by_hash.shape[1]))]
        for rows in gen_batches(len(texts), AT_ONCE):
            blocks.append(self.frequencies(texts[rows]) @ by_hash)
        numbers = np.vstack(blocks)
        numbers[[text is None for text in texts], : self.n_vectors] = np.nan
        return numbers

    def frequencies(self, texts):
        """Weighted frequencies of n-grams (n, N_HASHES), sparse, with rows of norm 1.

        Rows of texts that are None are zero.
        """
        return self._weighted(_hash_ngrams([text or "" for text in texts]))

    def _weighted(self, hashed):
        return normalize(hashed.multiply(self.weights_).tocsr())


class NgramEffects:
    """Ridge regressions of targets (n, k) on the frequencies of n-grams.

    Coefficients are cached: those without the parts i and j are needed twice,
    for part j in fold i and for part i in fold j.
    """

    def __init__(self, frequencies, targets):
        self.frequencies = frequencies
        self.targets = targets
        self._known = {}

    def coefficients(self, weights, *ridges):
        """Coefficients for centred targets, (N_HASHES, n_ridges * k), by ridge."""
        rows = weights.tobytes()
        new = [ridge for ridge in ridges if (rows, ridge) not in self._known]
        if new:
            solutions = np.split(self._fit(weights, new), len(new), axis=1)
            keys = [(rows, ridge) for ridge in new]
            self._known.update(zip(keys, solutions, strict=True))
        return np.hstack([self._known[rows, ridge] for ridge in ridges])

    def _fit(self, weights, ridges):
        mean = np.average(self.targets, axis=0, weights=weights)
        rows = np.flatnonzero(weights > 0)
        rows = rows[:: -(-len(rows) // MOST_REGRESSED)]
        root = diags(np.sqrt(weights[rows]))
        above = np.tile(root @ (self.targets - mean)[rows], len(ridges))
        coefficients = ridge_regression(
            root @ self.frequencies[rows],
            above,
            np.repeat(ridges, self.targets.shape[1]),
            solver="sparse_cg",
            tol=LEAST_RESIDUAL,
        )
        return coefficients.reshape(above.shape[1], -1).T

    def left_out(self, weights, part, *ridges):
        """Sums of the effects of n-grams, each estimated from the other parts' rows."""
        values = np.zeros((len(part), self.targets.shape[1] * len(ridges)))
        for label in np.unique(part):
            here = part == label
            others = weights * ~here
            if others.any():
                effects = self.coefficients(others, *ridges)
                values[here] = self.frequencies[here] @ effects
        return values

    def best_ridge(self, weights, part):
        """Return the ridge with the smallest squared error on left-out parts.

        Return None if that error is not significantly smaller than that of the mean
        target.
        """
        above = self.targets - np.average(self.targets, axis=0, weights=weights)
        left_out = self.left_out(weights, part, *RIDGES)
        gains = [
            np.sum(above**2 - (above - values) ** 2, axis=1)
            for values in np.split(left_out, len(RIDGES), axis=1)
        ]
        best = int(np.argmax([weights @ gain for gain in gains]))
        shares = weights / weights.sum()
        mean = shares @ gains[best]
        error = np.sqrt(shares**2 @ (gains[best] - mean) ** 2)
        return RIDGES[best] if mean > SURE * error else None


def _hash_ngrams(texts):
    """Log frequencies of hashed n-grams, a sparse array (n, N_HASHES)."""
    vectorizer = HashingVectorizer(
        analyzer="char_wb",
        ngram_range=(2, 4),
        n_features=N_HASHES,
        alternate_sign=False,
        norm=None,
    )
    counts = vectorizer.transform([text[:MOST_CHARACTERS] for text in texts])
    counts.data = 1 + np.log(counts.data)  # sublinear term frequency
    return counts
