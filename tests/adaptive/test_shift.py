"""New rows beside those that were learned from."""

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


def warned(model, X):
    """The sentences that come with predictions."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.predict(X)
    sentences = [str(warning.message) for warning in found]
    # New categories are told of by the reader, too.
    return [said for said in sentences if "unlike the training rows" in said]


@pytest.mark.parametrize("n", [1, 10, 300])
def test_rows_of_the_same_distribution_bring_no_warning(model, n):
    """One call in a hundred may; three of 30 do once in 300 times."""
    rng = np.random.default_rng(n)
    sentences = [s for _ in range(30) for s in warned(model, draw(rng, n))]
    assert len(sentences) <= 2
    shifted = [model.check(draw(rng, n)).shifted for _ in range(20)]
    # At most 5 % are expected: five of 20 come once in 400 times.
    assert sum(map(bool, shifted)) <= 4


def test_what_is_outside_missing_or_new_is_said_once_with_its_share(model):
    X = draw(np.random.default_rng(1), 40)
    X.loc[:9, "normal"] = 50.0
    X.loc[:19, "count"] = np.nan
    X.loc[:29, "kind"] = "new"
    X["day"] += pd.Timedelta(5000, "D")
    (said,) = warned(model, X)
    assert "40 rows unlike" in said
    assert "normal: 25% outside" in said
    assert "count: 50% missing or in a new category (missing in training: 0%)" in said
    assert "kind: 75% missing or in a new category" in said
    assert "heavy" not in said
    assert "day" not in said  # later rows are what a model is for
    report = model.check(X)
    assert {"normal", "count", "kind", "day"} <= set(report.shifted)
    assert report.outside == 1.0
    by_name = {check.column: check for check in report.columns}
    assert by_name["count"].missing == 0.5
    assert by_name["count"].test == "missing"
    assert by_name["day"].outside == 1.0
    assert "4 of 6 columns differ" in repr(report)


def test_tests_are_those_of_scipy_after_holm(model):
    X = draw(np.random.default_rng(2), 60)
    X["normal"] = np.clip(X["normal"] / 3, -1, 1)
    X["kind"] = np.where(X["kind"] == "a", "b", X["kind"])
    seen, reader = model.ensemble_.seen, model.reader_
    assert len(seen.sample) == 200
    read = reader.transform(X.to_numpy(dtype=object))
    found = {
        check.column: check for check in shift.check_rows(seen, reader, read).columns
    }
    # The training rows, all of them kept here.
    old = draw(np.random.default_rng(0), 200)
    ks = ks_2samp(old["normal"], X["normal"], method="asymp").pvalue
    parts = [part["kind"].value_counts() for part in (old, X)]
    counts = pd.concat(parts, axis=1).fillna(0)
    rare = counts.sum(axis=1) < 10
    counts = np.vstack([counts[~rare], counts[rare].sum()])
    chi = chi2_contingency(counts).pvalue
    assert found["kind"].test == "chi-squared"
    assert found["kind"].p == pytest.approx(min(1, chi * 18))
    assert found["normal"].test == "KS"
    assert found["normal"].p == pytest.approx(ks * 17)
    assert [c.p for c in found.values()] == sorted(c.p for c in found.values())
    assert holm_correction([0.1, 0.2]).tolist() == [0.2, 0.2]


def test_the_range_leaves_out_what_theory_says():
    """Of n rows' range a new one is outside with probability 2 / (n + 1)."""
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


def test_equal_rows_count_as_often_as_they_were_entered():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], [190, 10], axis=0)
    model = AdaptiveKernelClassifier(members=["linear"]).fit(X, X[:, 0] > 1)
    seen = model.ensemble_.seen
    assert seen.n == 200
    assert (seen.sample[:, 0] == 2).sum() == 10
    assert model.check(X).shifted == []
    assert warned(model, X) == []


def test_a_model_that_kept_nothing_says_so_when_asked(model):
    X = draw(np.random.default_rng(1), 3)
    kept, model.ensemble_.seen = model.ensemble_.seen, None
    try:
        assert warned(model, X.assign(normal=1e9)) == []
        with pytest.raises(ValueError, match="fit it again"):
            model.check(X)
    finally:
        model.ensemble_.seen = kept


def test_several_targets_of_classes_are_refused_with_the_way_out():
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6) % 2
    for Y in (np.column_stack([y, y]), pd.DataFrame({"a": y, "b": y}), [[0, 1]] * 6):
        with pytest.raises(ValueError, match=r"y with 2 columns.*OutputClassifier"):
            AdaptiveKernelClassifier().fit(X, Y)


def test_arrays_of_objects_are_read_as_the_frame_was(model):
    """As the maskers of explainers make them: rows, values of other rows in places."""
    X = draw(np.random.default_rng(5), 6)
    rows = X.to_numpy(dtype=object)
    masked = np.where(np.arange(6) % 2 == 0, rows, rows[0])
    frame = X.copy()
    frame.iloc[:, 1::2] = X.iloc[[0] * 6, 1::2].to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(model.predict(masked), model.predict(frame))
