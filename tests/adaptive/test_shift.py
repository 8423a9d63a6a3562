"""Comparison of new rows with the training rows."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency, ks_2samp

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern.adaptive import shift
from adakern.evaluation import holm_correction


def draw(rng, n):
    """Rows of numbers, heavy tails, counts, categories, missing values and dates."""
    kinds = rng.choice(
        list("abcdefgh"), n, p=[0.5, 0.2, 0.1, 0.1, 0.04, 0.03, 0.02, 0.01]
    )
    days = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D")
    return pd.DataFrame(
        {
            "normal": rng.normal(size=n),
            "heavy": rng.standard_cauchy(n),
            "count": rng.poisson(3, n).astype(float),
            "gaps": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "kind": kinds,
            "day": days,
        }
    )


@pytest.fixture(scope="module")
def model():
    X = draw(np.random.default_rng(0), 200)
    return AdaptiveKernelRegressor(members=["linear"], random_state=0).fit(
        X, X["normal"]
    )


def shift_warnings(model, X):
    """Warnings about shifted rows in predict."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict(X)
    sentences = [str(warning.message) for warning in caught]
    # The reader also warns about new categories.
    return [
        sentence for sentence in sentences if "unlike the training rows" in sentence
    ]


@pytest.mark.parametrize("n", [1, 10, 300])
def test_no_warning_for_rows_of_the_same_distribution(model, n):
    """One call in a hundred may warn; three of 30 have a probability of 1/300."""
    rng = np.random.default_rng(n)
    sentences = [s for _ in range(30) for s in shift_warnings(model, draw(rng, n))]
    assert len(sentences) <= 2
    shifted = [model.check(draw(rng, n)).shifted for _ in range(20)]
    # At most 5 % are expected; five of 20 have a probability of 1/400.
    assert sum(map(bool, shifted)) <= 4


def test_warning_lists_outside_missing_and_new_values(model):
    X = draw(np.random.default_rng(1), 40)
    X.loc[:9, "normal"] = 50.0
    X.loc[:19, "count"] = np.nan
    X.loc[:29, "kind"] = "new"
    X["day"] += pd.Timedelta(5000, "D")
    (message,) = shift_warnings(model, X)
    assert "40 rows unlike" in message
    assert "normal: 25% outside" in message
    assert (
        "count: 50% missing or in a new category (missing in training: 0%)" in message
    )
    assert "kind: 75% missing or in a new category" in message
    assert "heavy" not in message
    assert "day" not in message  # later rows are expected
    report = model.check(X)
    assert {"normal", "count", "kind", "day"} <= set(report.shifted)
    assert report.outside == 1.0
    by_name = {check.column: check for check in report.columns}
    assert by_name["count"].missing == 0.5
    assert by_name["count"].test == "missing"
    assert by_name["day"].outside == 1.0
    assert "4 of 6 columns differ" in repr(report)


def test_p_values_equal_scipy_after_holm(model):
    X = draw(np.random.default_rng(2), 60)
    X["normal"] = np.clip(X["normal"] / 3, -1, 1)
    X["kind"] = np.where(X["kind"] == "a", "b", X["kind"])
    seen, reader = model.ensemble_.seen, model.reader_
    assert len(seen.sample) == 200
    numbers = reader.transform(X.to_numpy(dtype=object))
    checks = {
        check.column: check for check in shift.check_rows(seen, reader, numbers).columns
    }
    # All training rows are stored.
    old = draw(np.random.default_rng(0), 200)
    ks = ks_2samp(old["normal"], X["normal"], method="asymp").pvalue
    parts = [part["kind"].value_counts() for part in (old, X)]
    counts = pd.concat(parts, axis=1).fillna(0)
    rare = counts.sum(axis=1) < 10
    counts = np.vstack([counts[~rare], counts[rare].sum()])
    chi = chi2_contingency(counts).pvalue
    assert checks["kind"].test == "chi-squared"
    assert checks["kind"].p == pytest.approx(min(1, chi * 18))
    assert checks["normal"].test == "KS"
    assert checks["normal"].p == pytest.approx(ks * 17)
    assert [c.p for c in checks.values()] == sorted(c.p for c in checks.values())
    assert holm_correction([0.1, 0.2]).tolist() == [0.2, 0.2]


def test_probability_outside_the_range():
    """A new row is outside the range of n rows with probability 2 / (n + 1)."""
    rng, outside = np.random.default_rng(0), []
    for _ in range(2000):
        old, new = rng.normal(size=(19, 1)), rng.normal(size=(1, 1))
        none = np.zeros(1)
        seen = shift.Seen(19, old.min(axis=0), old.max(axis=0), none, none, old)
        beyond, _, p = shift._compare(seen, new)
        outside.append(beyond[0, 0])
        assert p[0, 0] == pytest.approx(0.1 if beyond[0, 0] else 1)
    # Standard error 0.0067.
    assert np.mean(outside) == pytest.approx(0.1, abs=0.025)


def test_repeated_rows_are_counted_with_multiplicity():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], [190, 10], axis=0)
    model = AdaptiveKernelClassifier(members=["linear"]).fit(X, X[:, 0] > 1)
    seen = model.ensemble_.seen
    assert seen.n == 200
    assert (seen.sample[:, 0] == 2).sum() == 10
    assert model.check(X).shifted == []
    assert shift_warnings(model, X) == []


def test_check_without_stored_rows_raises(model):
    X = draw(np.random.default_rng(1), 3)
    kept, model.ensemble_.seen = model.ensemble_.seen, None
    try:
        assert shift_warnings(model, X.assign(normal=1e9)) == []
        with pytest.raises(ValueError, match="fit it again"):
            model.check(X)
    finally:
        model.ensemble_.seen = kept


def test_multioutput_classification_raises():
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6) % 2
    for Y in (np.column_stack([y, y]), pd.DataFrame({"a": y, "b": y}), [[0, 1]] * 6):
        with pytest.raises(ValueError, match=r"y with 2 columns.*OutputClassifier"):
            AdaptiveKernelClassifier().fit(X, Y)


def test_object_array_equals_data_frame(model):
    """Explainers create such arrays by mixing the values of several rows."""
    X = draw(np.random.default_rng(5), 6)
    rows = X.to_numpy(dtype=object)
    masked = np.where(np.arange(6) % 2 == 0, rows, rows[0])
    frame = X.copy()
    frame.iloc[:, 1::2] = X.iloc[[0] * 6, 1::2].to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(model.predict(masked), model.predict(frame))
