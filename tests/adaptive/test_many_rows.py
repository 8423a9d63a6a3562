"""Tables of which a fit takes a sample, and sums over blocks of all rows."""

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
#: More rows than max_rows, and fewer blocks than one for each.
X, y = make_friedman1(2500, n_features=5, noise=0.5, random_state=0)

pytestmark = pytest.mark.filterwarnings("ignore:.*distinct rows. kernel members use")


def fitted(estimator=BOTH[0], X=X, y=y, fit_params=(), **options):
    return estimator(**OPTIONS | {"max_rows": 600} | options).fit(
        X, y, **dict(fit_params)
    )


def labels():
    return np.array(["low", "middle", "high"])[np.digitize(y, [12, 18])]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(many_rows, "BYTES_PER_NUMBER", 2**16)


def test_coefficients_are_those_of_all_rows(small_blocks):
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    large = 8e307 * weight  # whose sum overflows
    model = fitted(fit_params={"sample_weight": large}, members=["laplacian"])
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
    # Targets have one sign, and so has what is predicted.
    assert y.min() >= 0
    predicted = np.maximum(unit * (K @ coef + whole.intercept_), 0)
    np.testing.assert_allclose(model.predict(X), predicted, rtol=1e-6)
    assert np.isfinite(model.oof_prediction_).sum() == 600


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize("kind", ["array", "frame"])
@pytest.mark.slow
def test_dask_collections_give_the_same(estimator, kind, small_blocks):
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    rows, target = X, labels() if estimator is BOTH[1] else y
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
    expected = fitted(estimator, rows, target)
    model = fitted(estimator, lazy, lazy_target)
    asked = {
        "predict",
        "predict_set",
        "predict_proba",
        "predict_interval",
        "predict_quantiles",
    }
    for name in asked & {*dir(model)}:
        answer = getattr(model, name)(lazy)
        assert isinstance(answer, da.Array)
        want = getattr(expected, name)(rows)
        if want.dtype.kind == "f":
            np.testing.assert_allclose(answer.compute(), want, rtol=0, atol=1e-8)
        else:
            np.testing.assert_array_equal(answer.compute(), want)


def test_dask_rows_that_fit_into_the_sample_are_a_table_in_memory():
    da = pytest.importorskip("dask.array")
    model = fitted(X=da.from_array(X[:500], chunks=100), y=y[:500])
    np.testing.assert_array_equal(
        model.predict(X), fitted(X=X[:500], y=y[:500]).predict(X)
    )
    assert np.isfinite(model.oof_prediction_).all()


@pytest.mark.slow
def test_rows_of_a_file_larger_than_what_is_held(tmp_path):
    shape = 60_000, 300
    table = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float64, shape)
    rng = np.random.default_rng(0)
    for start in range(0, len(table), 10_000):
        table[start : start + 10_000] = rng.normal(size=(10_000, shape[1]))
    y = table[:, 0] + table[:, 1]
    table.flush()
    rows = np.load(tmp_path / "X.npy", mmap_mode="r")
    tracemalloc.start()
    predicted = fitted(X=rows, y=y, members=["rbf"], max_rows=300).predict(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.75 * table.nbytes
    assert np.corrcoef(predicted, y)[0, 1] > 0.3


def test_every_class_is_in_the_sample():
    few = labels()
    few[:2] = "rare"
    model = fitted(BOTH[1], y=few, max_rows=100)
    assert "rare" in model.classes_
    weights = (few != "rare").astype(float)  # nor is one without weight looked for
    model = fitted(BOTH[1], y=few, max_rows=100, fit_params={"sample_weight": weights})
    assert "rare" not in model.classes_


def test_without_time_for_all_rows_those_of_the_sample_decide(monkeypatch):
    monkeypatch.setattr(many_rows, "time", SimpleNamespace(perf_counter=lambda: 1e12))
    with pytest.warns(UserWarning, match="too short for sums over all 2500 rows"):
        model = fitted(members=["rbf"], time_limit=1e6)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("y", np.nan, "y contains NaN"),
        ("X", np.inf, "infinity"),
        ("sample_weight", -1, "egative"),
    ],
)
def test_a_wrong_value_is_found_wherever_it_is(place, value, message):
    given = {"X": X.copy(), "y": y.copy(), "sample_weight": np.ones(len(y))}
    outside = np.flatnonzero(np.isnan(fitted().oof_prediction_))[0]
    given[place][outside] = value
    model = AdaptiveKernelRegressor(**OPTIONS | {"members": ["rbf"]}, max_rows=600)
    with pytest.raises(ValueError, match=message):
        model.fit(**given)
    assert not hasattr(model, "ensemble_")
    given["sample_weight"][outside] *= place == "sample_weight"
    with pytest.raises(ValueError, match=message):  # where the row has no weight, too
        model.fit(**given)


def test_groups_and_rows_held_out(small_blocks):
    groups = np.arange(len(y)) // 5
    model = fitted(fit_params={"groups": groups})
    assert np.isfinite(model.oof_prediction_).sum() == 600
    model = fitted(
        X=X[:2000], y=y[:2000], fit_params={"X_val": X[2000:], "y_val": y[2000:]}
    )
    assert model.oof_prediction_.shape == (500,)
    assert model.oof_score_ > 0.9
    of_sample = model.ensemble_.members[0].fits.models[0]
    assert (
        model.ensemble_.members[0].fits.whole.dual_coef_ != of_sample.dual_coef_
    ).all()
