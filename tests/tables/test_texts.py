"""Free text as numeric features, and the messages on text and categories."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern.tables.columns import TableReader
from adakern.tables.texts import (
    MOST_CHARACTERS,
    RIDGES,
    NgramEffects,
    TextVectors,
)

GOOD = ["bright", "sunny", "garden", "quiet", "street", "new", "kitchen", "balcony"]
BAD = ["broken", "damp", "noisy", "cellar", "cracked", "walls", "mould", "leaking"]


def make_texts(n, seed=0):
    """Sentences of six words of two types, and the number of words of
    the first type.
    """
    rng = np.random.default_rng(seed)
    n_good = rng.integers(0, 7, n)
    texts = []
    for count in n_good:
        good = rng.choice(GOOD, count)
        bad = rng.choice(BAD, 6 - count)
        texts.append(" ".join(rng.permutation([*good, *bad])))
    return np.array(texts, dtype=object), n_good.astype(float)


def fit_reader(*columns, declared=False):
    X = np.column_stack([np.array(column, dtype=object) for column in columns])
    return TableReader(None, np.full(len(columns), declared)).fit(X), X


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def test_texts_with_common_character_ngrams_are_similar():
    vectors = TextVectors().fit([*make_texts(200)[0]])
    one, other, strange = vectors.transform(
        ["sunny balconies", "balcony with sun", "damp cellars"]
    )
    assert cosine(one, other) > 0.5 > cosine(one, strange)


def test_text_features_are_projections_on_singular_vectors():
    """Texts have norm 1, so the features are orthogonal and have at most norm 1."""
    texts = [*make_texts(300)[0]]
    numbers = TextVectors().fit(texts).transform(texts)
    gram = numbers.T @ numbers
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-2 * gram.max())
    assert (np.linalg.norm(numbers, axis=1) <= 1 + 1e-9).all()
    alone = TextVectors().fit(texts).transform([texts[7], None])
    np.testing.assert_allclose(alone[0], numbers[7])
    assert np.isnan(alone[1]).all()


def test_text_vectors_are_deterministic():
    texts = [*make_texts(100)[0]]
    first, second = (TextVectors().fit(texts).vectors_ for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_texts_are_read_the_same_in_any_order_of_the_rows(rng):
    """Singular vectors by a randomised algorithm depend on the order of the texts."""
    reader, X = fit_reader(make_texts(120)[0])
    order = rng.permutation(len(X))
    again, _ = fit_reader(X[order, 0])
    np.testing.assert_array_equal(reader.transform(X), again.transform(X))


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (make_texts(100)[0], "text"),
        (make_texts(100)[0].tolist()[:50] * 2, "categorical"),
        ([f"unit {i}" for i in range(100)], "categorical"),
        ([f"A{i}" for i in range(100)], "categorical"),
        (list("abcdefghij") * 10, "categorical"),
        ([""] * 100, "numeric"),
    ],
)
def test_text_columns_are_recognised(column, kind):
    reader, X = fit_reader(column)
    assert reader.columns_[0].account().kind == kind
    assert reader.transform(X).shape == (100, len(reader.source_))


def test_declared_categories_are_not_text():
    reader, _ = fit_reader(make_texts(100)[0], declared=True)
    assert reader.is_categorical.all()


def test_missing_short_unusual_and_long_texts():
    reader, _ = fit_reader([*make_texts(200)[0], None])
    huge = "sunny garden " * 800_000
    cells = [None, "", "x", "日本", 7, huge, huge[:MOST_CHARACTERS]]
    with pytest.warns(UserWarning, match="first 10,000 characters .* longer texts: 1"):
        features = reader.transform(np.array(cells, dtype=object)[:, None])
    assert np.isnan(features[:2]).all()
    assert np.isfinite(features[2:]).all()
    np.testing.assert_array_equal(features[5], features[6])


def test_model_learns_from_text():
    texts, y = make_texts(150)
    noise = np.random.default_rng(1).standard_normal(150)
    X = np.array([texts, noise], dtype=object).T
    model = AdaptiveKernelRegressor(members=["linear"], random_state=0).fit(X, y)
    assert model.oof_score_ > 0.8
    account = model.columns_[0]
    assert (account.kind, account.option) == ("text", "categorical_features")
    assert "numbers from its character n-grams" in repr(model.columns_)
    new, y_new = make_texts(100, seed=5)
    predicted = model.predict(np.array([new, np.zeros(100)], dtype=object).T)
    assert np.corrcoef(predicted, y_new)[0, 1] > 0.9
    assert model.feature_importances_[0] > 0.9


def test_new_categories_warn_once_with_column_and_count():
    rng = np.random.default_rng(0)
    ward = rng.choice([1, 2, 3], 60).astype(object)
    X = np.array([ward, rng.standard_normal(60)], dtype=object).T
    model = AdaptiveKernelRegressor(
        members=["linear"], categorical_features=[0], random_state=0
    ).fit(X, (ward == 2) + 0.1 * X[:, 1].astype(float))

    def rows(*wards):
        return np.array([wards, [0.5] * len(wards)], dtype=object).T

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same = model.predict(rows(2, 2.0, "2"))
    np.testing.assert_array_equal(same, same[0])
    message = "column 0: .* of 2 of 3 rows, such as '9'"
    with pytest.warns(UserWarning, match=message) as caught:
        model.predict(rows(9, 2, 10))
    assert sum("does not know" in str(warning.message) for warning in caught) == 1


def make_texts_with_effects(n, n_words=400, seed=0):
    """Texts of ten words from a large vocabulary, each with an effect on the target."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnop"))
    rng_words = np.random.default_rng(99)
    words = ["".join(rng_words.choice(letters, 6)) for _ in range(n_words)]
    effects = rng_words.standard_normal(n_words)
    indices = rng.integers(n_words, size=(n, 10))
    texts = [" ".join(words[k] for k in row) for row in indices]
    return np.array(texts, dtype=object), effects[indices].sum(axis=1)


def ngram_frequencies(texts):
    return TextVectors().fit([*texts]).frequencies([*texts])


def test_effects_solve_the_normal_equations(rng):
    texts, y = make_texts_with_effects(40)
    frequencies = ngram_frequencies(texts)
    targets = np.column_stack([y, rng.standard_normal(40)])
    weights = rng.uniform(0.5, 2, 40)
    weights[:3] = 0
    effects = NgramEffects(frequencies, targets).coefficients(weights, 0.3)
    Z = frequencies.toarray()
    centred = targets - np.average(targets, axis=0, weights=weights)
    # The dual form: coefficients are Z' (Z Z' + ridge / weights)^-1 of the targets.
    used = weights > 0
    gram = Z[used] @ Z[used].T + np.diag(0.3 / weights[used])
    expected = Z[used].T @ np.linalg.solve(gram, centred[used])
    # Conjugate gradients stop at a relative residual of 1e-4.
    scale = np.abs(Z @ expected).max()
    np.testing.assert_allclose(Z @ effects, Z @ expected, atol=1e-3 * scale)


def test_left_out_effects_do_not_use_their_own_part():
    texts, y = make_texts_with_effects(60)
    frequencies = ngram_frequencies(texts)
    part = np.arange(60) % 3
    weights = np.ones(60)
    before = NgramEffects(frequencies, y[:, None]).left_out(weights, part, 0.1)
    changed = np.where(part == 1, -y, y)[:, None] * [1.0]
    after = NgramEffects(frequencies, changed).left_out(weights, part, 0.1)
    np.testing.assert_array_equal(after[part == 1], before[part == 1])
    assert np.abs(after - before)[part != 1].max() > 0.1


def test_uninformative_texts_are_not_encoded(rng):
    texts, y = make_texts_with_effects(200)
    frequencies = ngram_frequencies(texts)
    part = np.arange(200) % 5
    weights = np.ones(200)
    chosen = [
        NgramEffects(frequencies, targets).best_ridge(weights, part)
        for targets in rng.standard_normal((10, 200, 1))
    ]
    assert chosen.count(None) >= 9
    assert NgramEffects(frequencies, y[:, None]).best_ridge(weights, part) in RIDGES


@pytest.mark.parametrize("n_hashes", [20, 400])
def test_joint_regressions_equal_scikit_learn(n_hashes, rng):
    """With more and fewer n-grams than rows, several targets and all ridges."""
    texts, y = make_texts_with_effects(150)
    frequencies = ngram_frequencies(texts)[:, :n_hashes]
    targets = np.column_stack([y, rng.standard_normal(150), np.ones(150)])
    weights = rng.integers(0, 3, 150) * 0.7
    coefficients = NgramEffects(frequencies, targets).coefficients(weights, *RIDGES)
    used = weights > 0
    centred = targets - np.average(targets, axis=0, weights=weights)
    known = frequencies[used], centred[used], weights[used]
    for ridge, effects in zip(
        RIDGES, np.split(coefficients, len(RIDGES), axis=1), strict=True
    ):
        model = Ridge(ridge, fit_intercept=False, solver="sparse_cg").fit(*known)
        np.testing.assert_allclose(effects, model.coef_.T, rtol=1e-6, atol=1e-12)


def test_regressions_on_the_same_rows_are_computed_once(monkeypatch):
    texts, y = make_texts_with_effects(60)
    effects = NgramEffects(ngram_frequencies(texts), y[:, None])
    fitted = []
    plain = NgramEffects._fit
    monkeypatch.setattr(
        NgramEffects,
        "_fit",
        lambda self, *rows: fitted.append(rows) or plain(self, *rows),
    )
    part = np.arange(60) % 3
    weights = np.ones(60)
    ridge = effects.best_ridge(weights, part)
    assert len(fitted) == 3
    for fold in range(3):
        effects.left_out(weights * (part != fold), part, ridge)
    assert len(fitted) == 6  # pairs of parts; single parts are cached


def test_more_than_ten_classes_need_no_ngrams(monkeypatch):
    monkeypatch.delattr(TableReader, "ngrams")
    texts, y = make_texts_with_effects(120)
    X = np.array([texts, y], dtype=object).T
    model = AdaptiveKernelClassifier(members=["linear"], random_state=0)
    model.fit(X, np.arange(120) % 11)
    assert model.columns_[0].kind == "text"
    assert not model.columns_[0].use.endswith("with target encoding")


@pytest.mark.parametrize("classify", [False, True])
def test_target_encoding_improves_on_singular_vectors(classify):
    """There are more words than singular vectors, all equally frequent."""
    n = 700
    texts, y = make_texts_with_effects(n + 500, n_words=250)
    texts[5] = None
    X = np.array([texts, np.random.default_rng(1).standard_normal(n + 500)]).T
    y = (y > 0).astype(int) if classify else y
    flagship = AdaptiveKernelClassifier if classify else AdaptiveKernelRegressor
    model = flagship(members=["linear"], random_state=0).fit(X[:n], y[:n])
    assert model.columns_[0].use.endswith("with target encoding")
    numbers = model.reader_.transform(X)
    linear = LogisticRegression() if classify else Ridge()
    known = np.nan_to_num(numbers[:, : model.reader_.columns_[0].width])
    score_of_vectors = linear.fit(known[:n], y[:n]).score(known[n:], y[n:])
    assert model.score(X[n:], y[n:]) > score_of_vectors + 0.05
    # The out-of-fold score agrees with that of new rows up to the noise of 500 rows.
    assert model.oof_score_ < model.score(X[n:], y[n:]) + 0.1
    assert model.feature_importances_[0] > 0.9


def test_effects_do_not_use_validation_rows():
    texts, y = make_texts_with_effects(300)
    X = texts[:, None]
    fitted = [
        AdaptiveKernelRegressor(members=["linear"], random_state=0).fit(
            X[:200], y[:200], X_val=X[200:], y_val=values
        )
        for values in (y[200:], y[200:] + 50)
    ]
    means = [model.reader_.columns_[0].means for model in fitted]
    np.testing.assert_array_equal(*means)
