"""Local models of cells, which are added only if they reduce the error."""

import numpy as np
import pytest

from adakern.adaptive.leave_one_out import Search
from adakern.adaptive.local_models import CELL_ROWS, Cells, LocalModels
from adakern.adaptive.members.base import Setting
from adakern.adaptive.members.kernel_ridge import NystromKernelRidge
from adakern.kernels import gram_matrix


@pytest.mark.parametrize("levels", [2, 10**6])
def test_cells_are_small_and_contain_close_rows(levels):
    X = np.random.default_rng(0).integers(0, levels, (5000, 3)) / levels
    cells = Cells(X)
    place = cells.of(X)
    assert np.bincount(place, minlength=cells.n_cells).max() <= CELL_ROWS
    assert np.mean([X[place == cell].std() for cell in range(cells.n_cells)]) < X.std()
    one = np.zeros((CELL_ROWS + 1, 2))  # indistinguishable rows
    assert Cells(one).n_cells == 1


def test_local_model_equals_ridge_regression_in_its_cell():
    rng = np.random.default_rng(0)
    X, weights = rng.standard_normal((1500, 2)), rng.uniform(1, 2, 1500)
    R, new = np.sin(3 * X), rng.standard_normal((9, 2))
    cells = Cells(X)
    local = LocalModels("laplacian", cells, X, R, weights, 0.1)
    assert 0.9 < local.share <= 1
    place, predicted = cells.of(X), local.predict(new)
    for row, cell in enumerate(cells.of(new)):
        cell_rows = X[place == cell]
        K = gram_matrix(cell_rows, kernel="laplacian", gamma=local.gamma)
        K += np.diag(0.1 / weights[place == cell])
        k = gram_matrix(new[[row]], cell_rows, kernel="laplacian", gamma=local.gamma)
        expected = local.share * k @ np.linalg.solve(K, R[place == cell])
        np.testing.assert_allclose(predicted[[row]], expected, rtol=1e-8, atol=1e-10)


def test_local_models_of_noise_have_small_share():
    rng = np.random.default_rng(0)
    X, R, ones = (
        rng.standard_normal((1500, 2)),
        rng.standard_normal((1500, 1)),
        np.ones(1500),
    )
    local = LocalModels("rbf", Cells(X), X, R, ones, 0.1)
    assert local.share < 0.05


def test_local_models_improve_on_few_centres():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2500, 2))
    Y = np.sin(20 * X[:, :1]) * np.sin(20 * X[:, 1:])
    search = Search(most_rows=500)
    member = NystromKernelRidge(
        kernel="laplacian",
        search=search,
        setting=Setting(max_support=50),
        random_state=0,
    )
    fold = np.arange(2000) % 3
    *folds, whole = member.fit_without_each(X[:2000], Y[:2000], np.ones(2000), fold)
    for model in (*folds, whole):
        error = np.mean((model.predict(X[2000:]) - Y[2000:]) ** 2)
        model.local_.share = 0.0
        assert error < 0.5 * np.mean((model.predict(X[2000:]) - Y[2000:]) ** 2)
