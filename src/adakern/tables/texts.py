"""Vectors of free text, by latent semantic analysis of character n-grams."""

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.preprocessing import normalize

#: Maximum number of characters of a cell that are used.
MOST_CHARACTERS = 10_000

#: Maximum number of components, and minimum number of texts per component.
MOST_VECTORS, TEXTS_PER_VECTOR = 60, 5

#: Number of hash values of n-grams; n-grams with the same hash are not distinguished.
N_HASHES = 2**13

#: Maximum number of texts to which vectors are fitted, and number hashed at once.
MOST_LEARNED, AT_ONCE = 20_000, 1000


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
        hashed = _hashed(learned)
        self.weights_ = TfidfTransformer().fit(hashed).idf_
        n_vectors = min(MOST_VECTORS, len(learned) // TEXTS_PER_VECTOR)
        found = TruncatedSVD(n_vectors, random_state=0).fit(self._weighted(hashed))
        kept = found.singular_values_ > 1e-6 * found.singular_values_[0]
        self.vectors_ = found.components_[kept].T
        return self

    @property
    def n_vectors(self):
        """Number of components."""
        return self.vectors_.shape[1]

    def transform(self, texts):
        """Convert texts to numbers (n, n_vectors), with NaN for None."""
        numbers = np.full((len(texts), self.n_vectors), np.nan)
        given = np.flatnonzero([text is not None for text in texts])
        for start in range(0, len(given), AT_ONCE):
            rows = given[start : start + AT_ONCE]
            hashed = _hashed([texts[row] for row in rows])
            numbers[rows] = self._weighted(hashed) @ self.vectors_
        return numbers

    def _weighted(self, hashed):
        return normalize(hashed.multiply(self.weights_).tocsr())


def _hashed(texts):
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
