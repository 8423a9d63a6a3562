"""Free text as a few numbers: which pieces of words it shares with other texts."""

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.preprocessing import normalize

#: Characters of a cell that are read.
MOST_CHARACTERS = 10_000

#: Numbers that a text becomes, at most, and for each so many texts.
MOST_VECTORS, TEXTS_PER_VECTOR = 60, 5

#: Pieces that are told apart; those of equal hash are one.
N_HASHES = 2**13

#: Texts that the vectors are learned from, and texts hashed at once.
MOST_LEARNED, AT_ONCE = 20_000, 1000


class TextVectors:
    """Singular vectors of the weighted frequencies of pieces of words.

    The pieces are sequences of two to four characters within a word, hashed and
    weighted by how few texts have them. No target is looked at.

    Deerwester, Dumais, Furnas, Landauer, Harshman. Indexing by latent semantic
    analysis. Journal of the American Society for Information Science 41 (1990).
    """

    def fit(self, texts):
        """Learn from different texts, some of them where there are many."""
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
        """How many numbers a text becomes."""
        return self.vectors_.shape[1]

    def transform(self, texts):
        """Texts as numbers (n, n_vectors), NaN where there is None."""
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
    """Frequencies of the pieces of texts, sparse (n, N_HASHES)."""
    vectorizer = HashingVectorizer(
        analyzer="char_wb",
        ngram_range=(2, 4),
        n_features=N_HASHES,
        alternate_sign=False,
        norm=None,
    )
    counts = vectorizer.transform([text[:MOST_CHARACTERS] for text in texts])
    counts.data = 1 + np.log(counts.data)  # the tenth time says less than the first
    return counts
