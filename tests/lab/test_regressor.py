"""LABRBFRegressor: algorithm 1, its options, and data that are hard on it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from adakern._utils.arrays import as_numpy
from adakern.lab import AsymmetricKernelRidge, LABRBFRegressor, lab_gram_matrix
from adakern.lab.kernel import PROFILES
from devices import put

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def data():
    """A target whose frequency grows along the first of three features."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(300, 3))
    return X, np.sin(2 * (X[:, 0] + 1) ** 2) + 0.3 * X[:, 1]


@pytest.fixture
def float64(monkeypatch):
    """Training in double precision, to compare the last digits."""
    monkeypatch.setattr("adakern.lab.training.PRECISION", "float64")


def fast_regressor(**parameters):
    """The paper's method in few iterations."""
    defaults = {
        "alpha": 1e-3,
        "bandwidth": "global",
        "variant": "paper",
        "max_support": 30,
    }
    return LABRBFRegressor(
        **(defaults | {"max_iter": 100, "random_state": 0} | parameters)
    )


@pytest.mark.slow
def test_coef_penalty_helps_few_collinear_rows():
    errors = {0.0: [], 1e-3: []}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        latent = rng.uniform(-1, 1, size=(260, 5))
        X = latent @ rng.normal(size=(5, 60)) + 0.05 * rng.normal(size=(260, 60))
        y = np.sin(latent.sum(axis=1)) + 0.05 * rng.normal(size=260)
        sizes = []
        for penalty in errors:
            options = {"max_support": 20, "initial_support": 1.0, "max_iter": 500}
            model = fast_regressor(coef_penalty=penalty, **options).fit(X[:60], y[:60])
            sizes.append(np.linalg.norm(model.dual_coef_))
            errors[penalty].append(1 - model.score(X[60:], y[60:]))
        assert sizes[1] < 0.6 * sizes[0]
    assert np.mean(errors[1e-3]) < 0.8 * np.mean(errors[0.0])


@pytest.mark.parametrize("solver", ["annealed", "adam"])
def test_solvers_lower_loss(data, solver):
    options = {
        "solver": solver,
        "variant": "refitted",
        "initial_support": 1.0,
        "max_iter": 300,
    }
    model = fast_regressor(**options).fit(*data)
    loss = model.history_["validation_loss"]
    assert len(loss) > 1
    assert min(loss) < 0.9 * loss[0] or min(loss) < 0.01
    assert len({len(entries) for entries in model.history_.values()}) == 1
    assert np.all(np.diff(model.history_["time"]) > 0)


def test_fit_matches_asymmetric_ridge_on_support(data, float64):
    X, y = data
    model = fast_regressor().fit(X, y)
    rows, T = model.support_, X[:20]
    assert_allclose(model.support_vectors_, X[rows])
    K = lab_gram_matrix(X[rows], X[rows], model.bandwidths_, "gaussian")
    ridge = AsymmetricKernelRidge("precomputed", alpha=1e-3).fit(
        K, y[rows] - y[rows].mean()
    )
    expected = ridge.predict(lab_gram_matrix(T, X[rows], model.bandwidths_, "gaussian"))
    assert_allclose(model.predict(T), expected + y[rows].mean(), rtol=1e-6, atol=1e-8)


def test_support_grows_by_largest_errors(data):
    X, y = data
    grown = (
        fast_regressor(max_support=20, initial_support=0.5, growth=4).fit(X, y).support_
    )
    assert len(grown) == len(set(grown)) == 20
    ranks = np.argsort(y)[np.linspace(0, 299, 10).round().astype(int)]
    assert_array_equal(grown[:10], ranks)
    # The first growth, by hand: the model of ten support points and its worst rows.
    # (max_iter=0 leaves the bandwidths at their start, a number.)
    options = {"bandwidth": 2.0, "max_iter": 0, "growth": 4}
    start = fast_regressor(max_support=10, initial_support=1.0, **options).fit(X, y)
    errors = np.abs(start.predict(X) - y)
    errors[start.support_] = -1
    grown = fast_regressor(max_support=14, initial_support=10 / 14, **options).fit(X, y)
    assert set(grown.support_[10:]) == set(np.argsort(-errors)[:4])


def test_single_and_double_precision_agree(data, monkeypatch):
    X, y = data
    single = fast_regressor().fit(X, y).score(X, y)
    assert (
        fast_regressor().fit(X.astype(np.float32), y).predict(X.astype("f")).dtype
        == "f"
    )
    monkeypatch.setattr("adakern.lab.training.PRECISION", "float64")
    assert_allclose(fast_regressor().fit(X, y).score(X, y), single, atol=2e-3)


@pytest.mark.parametrize("variant", ["paper", "refitted"])
def test_tensors_match_arrays(data, float64, variant):
    torch = pytest.importorskip("torch")
    X, y = data
    # One step each: rounding differs between the libraries and grows with the steps.
    arrays = fast_regressor(variant=variant, max_iter=2).fit(X, y)
    tensors = fast_regressor(variant=variant, max_iter=2).fit(
        put(torch, X), put(torch, y)
    )
    prediction = tensors.predict(put(torch, X))
    assert isinstance(prediction, torch.Tensor)
    assert isinstance(tensors.bandwidths_, torch.Tensor)
    assert_array_equal(arrays.support_, as_numpy(tensors.support_))
    assert_allclose(as_numpy(prediction), arrays.predict(X), rtol=1e-6, atol=1e-8)
    assert_allclose(tensors.predict(X), as_numpy(prediction), atol=1e-12)
    assert_allclose(as_numpy(arrays.predict(put(torch, X))), arrays.predict(X))


@pytest.mark.parametrize("profile", PROFILES)
def test_duplicated_rows(data, profile):
    X, y = (np.repeat(a[:100], 3, axis=0) for a in data)
    model = fast_regressor(profile=profile).fit(X, y)
    assert model.score(X, y) > 0.95
    rows = X[model.support_]
    assert len(np.unique(rows, axis=0)) == len(rows) == 30
    X, y = X[:30], y[:30]
    interpolant = fast_regressor(profile=profile, alpha=0.0, bandwidth=1.0).fit(X, y)
    assert_allclose(interpolant.predict(X), y, rtol=1e-6)


def test_singular_kernel_matrix_error(data):
    with pytest.raises(ValueError, match="use a larger alpha"):
        fast_regressor(alpha=0.0, bandwidth=1e-70, max_iter=0).fit(*data)


@pytest.mark.parametrize("value", [0.0, -3.0, 1e70])
def test_constant_target(data, value):
    prediction = fast_regressor().fit(data[0], np.full(300, value)).predict(data[0])
    assert_allclose(prediction, value, rtol=1e-12)


@pytest.mark.parametrize("distinct", [1, 2])
def test_nearly_all_rows_equal(data, distinct):
    X = np.zeros((60, 2))
    X[: distinct - 1] = 1
    predicted = (
        LABRBFRegressor(random_state=0, max_iter=3).fit(X, data[1][:60]).predict(X)
    )
    assert_allclose(predicted[1:], data[1][:60].mean(), rtol=0.1)


@pytest.mark.parametrize("n", [1, 2, 7, 31])
def test_fewer_rows_than_support_points(data, n):
    X, y = data[0][:n], data[1][:n]
    model = fast_regressor().fit(X, y)
    assert len(model.support_) == min(n, 30)
    # Theorem 3: on support points the errors are alpha times their coefficients.
    errors = (y - model.predict(X))[model.support_]
    assert_allclose(errors, 1e-3 * model.dual_coef_, atol=1e-6)
    assert n == 1 or model.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("shift", "scale", "atol"),
    [(0.0, 1e-12, 1e-3), (0.0, 1e12, 1e-3), (1e6, 1.0, 2e-2)],
)
@pytest.mark.parametrize("profile", PROFILES)
def test_invariance_to_shift_and_scale(data, shift, scale, profile, atol):
    X, y = data
    expected = fast_regressor(profile=profile).fit(X, y).score(X, y)
    model = fast_regressor(profile=profile).fit(X + shift, y * scale)
    assert_allclose(model.score(X + shift, y * scale), expected, atol=atol)


def test_early_stopping_keeps_best_iteration(data, monkeypatch):
    monkeypatch.setattr("adakern.lab.algorithm.PATIENCE", 2)
    model = fast_regressor(variant="refitted", max_iter=3000).fit(*data)
    assert model.n_iter_ < 3000
    assert model.converged_
    losses = np.array(model.history_["validation_loss"])
    sizes = np.array(model.history_["n_support"])
    last_round = losses[sizes == sizes.max()]
    assert last_round.argmin() == len(last_round) - 3
    without = fast_regressor(max_iter=60).fit(*data).history_["validation_loss"]
    assert without and np.isnan(without).all()


def test_convergence_warning(data):
    with pytest.warns(ConvergenceWarning, match=r"max_iter=3, .* increase max_iter$"):
        fast_regressor(solver="adam", max_iter=3).fit(*data)
    assert fast_regressor(solver="adam", max_iter=0).fit(*data).converged_, (
        "nothing was cut off"
    )
