"""Free text as numbers, categories of many spellings, and what is said of both."""

import warnings

import numpy as np
import pytest

from adakern import AdaptiveKernelRegressor
from adakern.tables.columns import TableReader
from adakern.tables.texts import MOST_CHARACTERS, TextVectors

GOOD = ["bright", "sunny", "garden", "quiet", "street", "new", "kitchen", "balcony"]
BAD = ["broken", "damp", "noisy", "cellar", "cracked", "walls", "mould", "leaking"]


def described(n, seed=0):
    """Sentences of six words of one of two kinds, and how many are good."""
    rng = np.random.default_rng(seed)
    n_good = rng.integers(0, 7, n)
    texts = []
    for count in n_good:
        good = rng.choice(GOOD, count)
        bad = rng.choice(BAD, 6 - count)
        texts.append(" ".join(rng.permutation([*good, *bad])))
    return np.array(texts, dtype=object), n_good.astype(float)


def reader_of(*columns, declared=False):
    X = np.column_stack([np.array(column, dtype=object) for column in columns])
    return TableReader(None, np.full(len(columns), declared)).fit(X), X


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def test_texts_are_near_that_share_pieces_of_words():
    vectors = TextVectors().fit([*described(200)[0]])
    one, other, strange = vectors.transform(
        ["sunny balconies", "balcony with sun", "damp cellars"]
    )
    assert cosine(one, other) > 0.5 > cosine(one, strange)


def test_the_numbers_are_scores_along_singular_vectors():
    """Of texts of length 1, so orthogonal over texts, and of no greater length."""
    texts = [*described(300)[0]]
    numbers = TextVectors().fit(texts).transform(texts)
    gram = numbers.T @ numbers
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-2 * gram.max())
    assert (np.linalg.norm(numbers, axis=1) <= 1 + 1e-9).all()
    alone = TextVectors().fit(texts).transform([texts[7], None])
    np.testing.assert_allclose(alone[0], numbers[7])
    assert np.isnan(alone[1]).all()


def test_chance_decides_nothing():
    texts = [*described(100)[0]]
    first, second = (TextVectors().fit(texts).vectors_ for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (described(100)[0], "text"),
        (described(100)[0].tolist()[:50] * 2, "categorical"),
        ([f"unit {i}" for i in range(100)], "categorical"),
        ([f"A{i}" for i in range(100)], "categorical"),
        (list("abcdefghij") * 10, "categorical"),
        ([""] * 100, "numeric"),
    ],
)
def test_text_is_what_has_several_words_and_hardly_repeats(column, kind):
    reader, X = reader_of(column)
    assert reader.columns_[0].account().kind == kind
    assert reader.transform(X).shape == (100, len(reader.source_))


def test_declared_categories_are_no_text():
    reader, _ = reader_of(described(100)[0], declared=True)
    assert reader.is_categorical.all()


def test_text_that_is_missing_short_strange_or_long():
    reader, _ = reader_of([*described(200)[0], None])
    huge = "sunny garden " * 800_000
    cells = [None, "", "x", "日本", 7, huge, huge[:MOST_CHARACTERS]]
    with pytest.warns(UserWarning, match="first 10,000 characters .* longer texts: 1"):
        read = reader.transform(np.array(cells, dtype=object)[:, None])
    assert np.isnan(read[:2]).all()
    assert np.isfinite(read[2:]).all()
    np.testing.assert_array_equal(read[5], read[6])


def test_a_model_learns_from_text_and_says_so():
    texts, y = described(150)
    noise = np.random.default_rng(1).standard_normal(150)
    X = np.array([texts, noise], dtype=object).T
    model = AdaptiveKernelRegressor(members=["linear"], random_state=0).fit(X, y)
    assert model.oof_score_ > 0.8
    account = model.columns_[0]
    assert (account.kind, account.undo) == ("text", "categorical_features")
    assert "numbers by pieces of its words" in repr(model.columns_)
    new, y_new = described(100, seed=5)
    predicted = model.predict(np.array([new, np.zeros(100)], dtype=object).T)
    assert np.corrcoef(predicted, y_new)[0, 1] > 0.9
    assert model.feature_importances_[0] > 0.9


def test_new_categories_are_told_of_once_with_column_and_count():
    rng = np.random.default_rng(0)
    ward = rng.choice([1, 2, 3], 60).astype(object)
    X = np.array([ward, rng.standard_normal(60)], dtype=object).T
    model = AdaptiveKernelRegressor(
        members=["linear"], categorical_features=[0], random_state=0
    ).fit(X, (ward == 2) + 0.1 * X[:, 1].astype(float))

    def asked(*wards):
        return np.array([wards, [0.5] * len(wards)], dtype=object).T

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same = model.predict(asked(2, 2.0, "2"))
    np.testing.assert_array_equal(same, same[0])
    message = "column 0: .* of 2 of 3 rows, such as '9'"
    with pytest.warns(UserWarning, match=message) as told:
        model.predict(asked(9, 2, 10))
    assert sum("does not know" in str(warning.message) for warning in told) == 1
