"""LABRBFRegressor: algorithm 1, its options, and data that are hard on it."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score

from adakern.lab import AsymmetricKernelRidge, LABRBFRegressor, lab_gram_matrix
from adakern.lab.algorithm import largest_errors, spread_over_ranks
from adakern.lab.kernel import PROFILES

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def data():
    """A target whose frequency grows along the first of three features."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 3))
    return X, np.sin(2 * (X[:, 0] + 1) ** 2) + 0.3 * X[:, 1]


#: The method of the paper: interpolation, trained on all rows as they are.
PAPER = {
    "alpha": 1e-3,
    "bandwidth": "global",
    "refit": False,
    "standardize": False,
    "early_stopping": False,
}


def quick(**parameters):
    """The paper's method in few iterations."""
    defaults = PAPER | {"max_support": 30, "growth_iter": 10, "max_iter": 100, "random_state": 0}
    return LABRBFRegressor(**(defaults | parameters))


@pytest.mark.parametrize("profile", PROFILES)
def test_training_the_bandwidths_helps(data, profile):
    X, y = data
    train, test = slice(0, 200), slice(200, None)
    untrained = quick(profile=profile, growth_iter=0, max_iter=0)
    before = untrained.fit(X[train], y[train]).score(X[test], y[test])
    after = quick(profile=profile).fit(X[train], y[train]).score(X[test], y[test])
    assert 1 - after < 0.5 * (1 - before)


def test_small_coefficients_predict_better_from_few_collinear_rows():
    errors = np.array([penalty_on_collinear_rows(seed) for seed in range(4)])
    free, penalized = errors.mean(axis=0)
    assert penalized < 0.8 * free


def penalty_on_collinear_rows(seed):
    """1 - R2 on other rows without and with a penalty, which shrinks coefficients."""
    rng = np.random.default_rng(seed)
    latent = rng.uniform(-1, 1, size=(260, 5))
    X = latent @ rng.normal(size=(5, 60)) + 0.05 * rng.normal(size=(260, 60))
    y = np.sin(latent.sum(axis=1)) + 0.05 * rng.normal(size=260)
    free, penalized = (
        quick(max_support=20, max_iter=500, coef_penalty=penalty).fit(X[:60], y[:60])
        for penalty in (0.0, 1e-3)
    )
    assert np.linalg.norm(penalized.dual_coef_) < 0.6 * np.linalg.norm(free.dual_coef_)
    return [1 - model.score(X[60:], y[60:]) for model in (free, penalized)]


@pytest.mark.parametrize("solver", ["annealed", "adam"])
def test_every_solver_lowers_the_loss(data, solver):
    model = quick(solver=solver, initial_support=1.0, max_iter=300, early_stopping=True).fit(*data)
    loss = model.history_["validation_loss"]
    assert len(loss) > 1
    assert min(loss) < 0.9 * loss[0] or min(loss) < 0.01
    assert len({len(entries) for entries in model.history_.values()}) == 1
    assert np.all(np.diff(model.history_["time"]) > 0)


def test_what_is_fitted_is_asymmetric_ridge_regression_on_the_support_data(data):
    X, y = data
    model = quick(precision="float64").fit(X, y)
    rows = model.support_
    assert_allclose(model.support_vectors_, X[rows])
    K = lab_gram_matrix(X[rows], X[rows], model.bandwidths_, "gaussian")
    T = X[:20]
    ridge = AsymmetricKernelRidge("precomputed", alpha=1e-3)
    ridge.fit(K, y[rows] - y[rows].mean())
    expected = ridge.predict(lab_gram_matrix(T, X[rows], model.bandwidths_, "gaussian"))
    assert_allclose(model.predict(T), expected + y[rows].mean(), rtol=1e-6, atol=1e-8)


def test_untrained_is_kernel_ridge_on_the_support_data(data):
    X, y = data
    model = quick(bandwidth=1.5, growth_iter=0, max_iter=0).fit(X, y)
    rows = model.support_
    ridge = KernelRidge(kernel="rbf", gamma=1.5**2, alpha=1e-3)
    ridge.fit(X[rows], y[rows] - y[rows].mean())
    assert_allclose(model.predict(X), ridge.predict(X) + y[rows].mean(), atol=1e-7)


def test_support_grows_by_the_largest_errors_and_never_repeats(data):
    X, y = data
    first = quick(max_support=20, initial_support=0.5, growth=4, early_stopping=False)
    grown = first.fit(X, y).support_
    assert len(grown) == len(set(grown)) == 20
    ranks = np.argsort(y)[np.linspace(0, 299, 10).round().astype(int)]
    assert_array_equal(grown[:10], ranks)
    # The first growth, by hand: the model of ten support points and its worst rows.
    # (growth_iter=0 leaves the bandwidths at their start, a number.)
    parameters = {
        "bandwidth": 2.0,
        "growth_iter": 0,
        "max_iter": 0,
        "growth": 4,
        "early_stopping": False,
    }
    start = quick(max_support=10, initial_support=1.0, **parameters).fit(X, y)
    errors = np.abs(start.predict(X) - y)
    errors[start.support_] = -1
    grown = quick(max_support=14, initial_support=10 / 14, **parameters).fit(X, y)
    assert set(grown.support_[10:]) == set(np.argsort(-errors)[:4])
    assert_array_equal(largest_errors(np.array([1.0, 3, 3]), np.arange(3), 2), [1, 2])


def test_initial_support_has_no_repetition(data):
    rows = np.arange(10, 300)
    chosen = spread_over_ranks(data[1], rows, 60)
    assert len(set(chosen)) == 60
    assert set(chosen) <= set(rows)


@pytest.mark.parametrize("solver", ["annealed", "adam"])
def test_same_seed_same_model(data, solver):
    X, y = data
    one, two = (quick(solver=solver, early_stopping=True).fit(X, y) for _ in range(2))
    assert_array_equal(one.bandwidths_, two.bandwidths_)
    assert_array_equal(one.predict(X), two.predict(X))
    other = quick(solver=solver, early_stopping=True, random_state=1).fit(X, y)
    assert not np.array_equal(one.support_, other.support_)


def test_shared_bandwidths_give_an_anisotropic_symmetric_kernel(data):
    X, y = data
    model = quick(locality="shared").fit(X, y)
    assert_array_equal(model.bandwidths_, np.tile(model.bandwidths_[:1], (30, 1)))
    theta = model.bandwidths_[0]
    assert theta[0] > 2 * theta[2]  # the target does not depend on the last feature
    S = model.support_vectors_
    K = lab_gram_matrix(S, S, model.bandwidths_, "gaussian")
    assert_allclose(K, K.T, atol=1e-12)


def test_float32_and_float64_agree(data):
    X, y = data
    scores = [
        quick(precision=precision).fit(X, y).score(X, y) for precision in ("float32", "float64")
    ]
    assert_allclose(*scores, atol=2e-3)
    assert quick().fit(X.astype(np.float32), y).predict(X.astype("f")).dtype == "f"


def test_tensors_give_the_model_of_the_arrays(data):
    torch = pytest.importorskip("torch")
    X, y = data
    # One step each: rounding differs between the libraries and grows with the steps.
    parameters = {"precision": "float64", "growth_iter": 2, "max_iter": 2}
    arrays = quick(**parameters).fit(X, y)
    tensors = quick(**parameters).fit(torch.as_tensor(X), torch.as_tensor(y))
    prediction = tensors.predict(torch.as_tensor(X))
    assert isinstance(prediction, torch.Tensor)
    assert isinstance(tensors.bandwidths_, torch.Tensor)
    assert_array_equal(arrays.support_, tensors.support_)
    assert_allclose(prediction.numpy(), arrays.predict(X), rtol=1e-6, atol=1e-8)
    assert_allclose(tensors.predict(X), prediction.numpy(), atol=1e-12)
    assert_allclose(arrays.predict(torch.as_tensor(X)).numpy(), arrays.predict(X))
    with pytest.raises(ValueError, match="NaN or infinity"):
        quick().fit(torch.full((5, 2), torch.nan), torch.zeros(5))
    with pytest.raises(ValueError, match="one target"):
        quick().fit(torch.zeros(5, 2), torch.zeros(4))
    with pytest.raises(ValueError, match="expecting 3 features"):
        tensors.predict(torch.zeros(5, 2))


class TestHardData:
    """The right answer where a careless implementation has none."""

    def test_duplicated_rows(self, data):
        X, y = (np.repeat(a[:100], 3, axis=0) for a in data)
        for profile in PROFILES:
            model = quick(profile=profile).fit(X, y)
            assert model.score(X, y) > 0.95

            rows = X[model.support_]
            assert len(np.unique(rows, axis=0)) == len(rows) == 30

    def test_duplicated_rows_need_no_ridge(self, data):
        X, y = (np.repeat(a[:10], 2, axis=0) for a in data)
        model = quick(alpha=0.0, bandwidth=1.0).fit(X, y)
        assert_allclose(model.predict(X), y, rtol=1e-6)

    def test_a_singular_kernel_matrix_is_an_error(self, data):
        X, y = data
        with pytest.raises(ValueError, match="use a larger alpha"):
            quick(alpha=0.0, bandwidth=1e-70, growth_iter=0, max_iter=0).fit(X, y)

    def test_a_constant_feature_changes_nothing(self, data):
        X, y = data
        with_constant = np.column_stack([X, np.full(len(X), 7.0)])
        parameters = {"precision": "float64", "growth_iter": 2, "max_iter": 2}
        expected = quick(**parameters).fit(X, y).predict(X)
        given = quick(**parameters).fit(with_constant, y).predict(with_constant)
        assert_allclose(given, expected, rtol=1e-6, atol=1e-8)

    @pytest.mark.parametrize("value", [0.0, -3.0, 1e70])
    def test_a_constant_target(self, data, value):
        X, _ = data
        prediction = quick().fit(X, np.full(len(X), value)).predict(X)
        assert_allclose(prediction, value, rtol=1e-12)

    @pytest.mark.parametrize("n", [1, 2, 7, 31])
    def test_fewer_rows_than_support_data(self, data, n):
        X, y = data[0][:n], data[1][:n]
        model = quick().fit(X, y)
        assert len(model.support_) == min(n, 30)
        # Theorem 3: on support points the errors are alpha times their coefficients.
        errors = (y - model.predict(X))[model.support_]
        assert_allclose(errors, 1e-3 * model.dual_coef_, atol=1e-6)
        assert n == 1 or model.score(X, y) > 0.9

    @pytest.mark.parametrize("scale", [1e-12, 1e12])
    def test_the_unit_of_the_target_does_not_matter(self, data, scale):
        X, y = data
        expected = quick().fit(X, y).score(X, y)
        given = quick().fit(X, y * scale).score(X, y * scale)
        assert_allclose(given, expected, atol=1e-3)

    def test_features_far_from_the_origin(self, data):
        X, y = data
        for profile in PROFILES:
            score = quick(profile=profile).fit(X, y).score(X, y)
            far = quick(profile=profile).fit(X + 1e6, y)
            assert_allclose(far.score(X + 1e6, y), score, atol=2e-2)


def test_early_stopping_keeps_the_best_on_the_rows_set_aside(data, monkeypatch):
    X, y = data
    monkeypatch.setattr("adakern.lab.algorithm.PATIENCE", 2)
    model = quick(early_stopping=True, max_iter=3000).fit(X, y)
    assert model.n_iter_ < 3000
    assert model.converged_
    losses = np.array(model.history_["validation_loss"])
    sizes = np.array(model.history_["n_support"])
    last_round = losses[sizes == sizes.max()]
    assert last_round.argmin() == len(last_round) - 3
    without = quick(max_iter=5).fit(X, y)
    assert np.isnan(without.history_["validation_loss"]).all()


def test_a_cut_off_training_says_so(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=r"max_iter=3 .* raise max_iter"):
            quick(solver="adam", max_iter=3, early_stopping=False).fit(*data)


def test_prediction_in_blocks(data, monkeypatch):
    X, y = data
    model = quick(max_iter=5).fit(X, y)
    whole = model.predict(X)
    monkeypatch.setattr(
        "adakern.lab.regressor.row_blocks", lambda n, _: [slice(k, k + 37) for k in range(0, n, 37)]
    )
    assert_allclose(model.predict(X), whole)
    assert r2_score(y, whole) > 0.5
