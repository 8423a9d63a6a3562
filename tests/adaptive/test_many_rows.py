"""Fits to a sample of a large table, with sums over blocks of all rows."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern.adaptive import many_rows
from adakern.kernels import gram_matrix

BOTH = [AdaptiveKernelRegressor, AdaptiveKernelClassifier]
OPTIONS = {
    "members": ["rbf", "linear", "extra-trees"],
    "max_support": 60,
    "random_state": 0,
}
#: More rows than max_rows, and fewer blocks than rows.
X, y = make_friedman1(2500, n_features=5, noise=0.5, random_state=0)

pytestmark = pytest.mark.filterwarnings("ignore:.*distinct rows. kernel members use")


def fit_model(estimator=BOTH[0], X=X, y=y, fit_params=(), **options):
    return estimator(**OPTIONS | {"max_rows": 600} | options).fit(
        X, y, **dict(fit_params)
    )


def make_labels():
    return np.array(["low", "middle", "high"])[np.digitize(y, [12, 18])]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(many_rows, "BYTES_PER_NUMBER", 2**16)


def test_coefficients_equal_those_of_all_rows(small_blocks):
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    large = 8e307 * weight  # the sum overflows
    model = fit_model(fit_params={"sample_weight": large}, members=["laplacian"])
    (member,) = model.ensemble_.members
    whole, unit = member.fits.whole, model.ensemble_.blend.unit
    whole.local_.share = 0.0
    Z, centres = member.view.transform(X) * whole.scales_, whole.support_
    K, G = (
        gram_matrix(Z, centres, kernel="laplacian"),
        gram_matrix(centres, kernel="laplacian"),
    )
    w = weight / weight.mean()
    right = K.T @ (w * (y / unit - whole.intercept_))
    coef = np.linalg.solve((K.T * w) @ K + whole.alpha_ * G, right)
    np.testing.assert_allclose(whole.dual_coef_[:, 0], coef, rtol=1e-6)
    # Predictions have the sign of the targets.
    assert y.min() >= 0
    predicted = np.maximum(unit * (K @ coef + whole.intercept_), 0)
    np.testing.assert_allclose(model.predict(X), predicted, rtol=1e-6)
    assert np.isfinite(model.oof_prediction_).sum() == 600


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize("kind", ["array", "frame"])
@pytest.mark.slow
def test_dask_collections_give_the_same_model(estimator, kind, small_blocks):
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    rows, target = X, make_labels() if estimator is BOTH[1] else y
    lazy, lazy_target = (
        da.from_array(X, chunks=(700, 2)),
        da.from_array(target, chunks=900),
    )
    if kind == "frame":
        rows = pd.DataFrame(X, columns=list("abcde")).assign(
            f=np.where(X[:, 0] > 0.5, "x", "z")
        )
        lazy, lazy_target = dd.from_pandas(rows, npartitions=4), pd.Series(target)
        lazy = dd.concat([lazy, lazy.loc[:-1], lazy.loc[9999:]])  # two empty partitions
    expected = fit_model(estimator, rows, target)
    model = fit_model(estimator, lazy, lazy_target)
    methods = {
        "predict",
        "predict_set",
        "predict_proba",
        "predict_interval",
        "predict_quantiles",
    }
    for name in methods & {*dir(model)}:
        actual = getattr(model, name)(lazy)
        assert isinstance(actual, da.Array)
        expected_values = getattr(expected, name)(rows)
        if expected_values.dtype.kind == "f":
            np.testing.assert_allclose(
                actual.compute(), expected_values, rtol=0, atol=1e-8
            )
        else:
            np.testing.assert_array_equal(actual.compute(), expected_values)


def test_dask_array_smaller_than_the_sample():
    da = pytest.importorskip("dask.array")
    model = fit_model(X=da.from_array(X[:500], chunks=100), y=y[:500])
    np.testing.assert_array_equal(
        model.predict(X), fit_model(X=X[:500], y=y[:500]).predict(X)
    )
    assert np.isfinite(model.oof_prediction_).all()


@pytest.mark.slow
def test_memory_mapped_rows_are_not_loaded(tmp_path):
    shape = 60_000, 300
    table = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float64, shape)
    rng = np.random.default_rng(0)
    for start in range(0, len(table), 10_000):
        table[start : start + 10_000] = rng.normal(size=(10_000, shape[1]))
    y = table[:, 0] + table[:, 1]
    table.flush()
    rows = np.load(tmp_path / "X.npy", mmap_mode="r")
    tracemalloc.start()
    predicted = fit_model(X=rows, y=y, members=["rbf"], max_rows=300).predict(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.75 * table.nbytes
    assert np.corrcoef(predicted, y)[0, 1] > 0.3


def test_every_class_is_in_the_sample():
    few = make_labels()
    few[:2] = "rare"
    model = fit_model(BOTH[1], y=few, max_rows=100)
    assert "rare" in model.classes_
    weights = (few != "rare").astype(float)  # a class without weight is not sampled
    model = fit_model(
        BOTH[1], y=few, max_rows=100, fit_params={"sample_weight": weights}
    )
    assert "rare" not in model.classes_


def test_time_limit_skips_sums_over_all_rows(monkeypatch):
    monkeypatch.setattr(many_rows, "time", SimpleNamespace(perf_counter=lambda: 1e12))
    with pytest.warns(UserWarning, match="too short for sums over all 2500 rows"):
        model = fit_model(members=["rbf"], time_limit=1e6)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("y", np.nan, "y contains NaN"),
        ("X", np.inf, "infinity"),
        ("sample_weight", -1, "egative"),
    ],
)
def test_invalid_value_outside_the_sample_raises(place, value, message):
    data = {"X": X.copy(), "y": y.copy(), "sample_weight": np.ones(len(y))}
    outside = np.flatnonzero(np.isnan(fit_model().oof_prediction_))[0]
    data[place][outside] = value
    model = AdaptiveKernelRegressor(**OPTIONS | {"members": ["rbf"]}, max_rows=600)
    with pytest.raises(ValueError, match=message):
        model.fit(**data)
    assert not hasattr(model, "ensemble_")
    data["sample_weight"][outside] *= place == "sample_weight"
    with pytest.raises(ValueError, match=message):  # also if the row has no weight
        model.fit(**data)


def test_groups_and_validation_rows(small_blocks):
    groups = np.arange(len(y)) // 5
    model = fit_model(fit_params={"groups": groups})
    assert np.isfinite(model.oof_prediction_).sum() == 600
    model = fit_model(
        X=X[:2000], y=y[:2000], fit_params={"X_val": X[2000:], "y_val": y[2000:]}
    )
    assert model.oof_prediction_.shape == (500,)
    assert model.oof_score_ > 0.9
    sample_model = model.ensemble_.members[0].fits.models[0]
    assert (
        model.ensemble_.members[0].fits.whole.dual_coef_ != sample_model.dual_coef_
    ).all()
