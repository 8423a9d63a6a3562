"""The members of the flagship, compared with scikit-learn where possible."""

import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVC

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern.adaptive import MEMBERS, choose, fit_all, members, tree_predictions
from adakern.adaptive.members import kernel_ridge, svm
from adakern.adaptive.members.svm import (
    COSTS,
    SCALE_FACTORS,
    _fit_svc,
    _Pairs,
    _scores,
    choose_parameters,
)
from adakern.adaptive.table import Table
from adakern.kernels import gram_matrix
from steps import fitted_members, member, suited


@pytest.mark.parametrize("classify", [True, False])
@pytest.mark.parametrize("n", [30, 500, 5000, 50_000])
@pytest.mark.parametrize("d", [2, 50, 5000])
def test_members_suit_every_table(n, d, classify):
    best, fast = (suited(n, d, classify=classify, fast=fast) for fast in (False, True))
    assert {*fast, *best} <= set(MEMBERS)
    assert len(fast) < len(best)
    assert len(fast) <= 5
    assert any(name.split("-")[-1] in ("laplacian", "rbf", "ard") for name in fast)
    assert ("svm" in best) == (classify and 300 <= n <= 4000)
    by_pairs = suited(n, d, pair=9000, classify=classify)
    assert ("svm" in by_pairs) == (classify and 300 <= n <= 4000)


@pytest.mark.parametrize(
    ("n", "pair", "has"), [(9001, 9000, 1), (25_000, 9000, 1), (9500, 9001, 0)]
)
def test_svm_suits_many_rows_if_pairs_of_classes_are_small(n, pair, has):
    assert ("svm" in suited(n, 6, pair=pair, classify=True)) == has
    assert "svm" not in suited(n, 6, pair=pair)


def make_polynomial_classes(seed=0):
    """A full factorial of four levels in five columns, with a polynomial boundary and
    no noise, split into training and test halves.
    """
    X = np.stack(np.meshgrid(*[np.arange(4.0)] * 5), axis=-1).reshape(-1, 5)
    Z = X - 1.5
    y = (Z[:, 0] * Z[:, 1] + Z[:, 2] ** 2 - Z[:, 3] * Z[:, 4] > 1.1).astype(int)
    order = np.random.default_rng(seed).permutation(len(X))
    return [(X[rows], y[rows]) for rows in np.split(order, 2)]


def test_svm_learns_boundary_without_noise():
    (X, y), (X_new, y_new) = make_polynomial_classes()
    options = {"random_state": 0}
    margin = AdaptiveKernelClassifier(members=["rbf", "svm"], **options).fit(X, y)
    ridge = AdaptiveKernelClassifier(members=["rbf"], **options).fit(X, y)
    assert margin.weights_["svm"] > 0.3
    assert margin.score(X_new, y_new) >= max(0.96, ridge.score(X_new, y_new))


@pytest.mark.parametrize("n", [900, 1200])
def test_svm_parameters_are_chosen_on_first_fold_for_many_rows(n):
    """By log loss, computed with scikit-learn's SVC and Platt scaling."""
    rng = np.random.default_rng(0)
    X, fold = rng.uniform(-1, 1, size=(n, 2)), np.arange(n) % 3
    noise = np.where(
        fold == 0, 0.05, 1.5
    )  # the classes are best separated in the first fold
    y = (X[:, 0] * X[:, 1] + 0.2 * noise * rng.standard_normal(n) > 0).astype(int)
    one = np.ones(n)
    table = Table(X, np.eye(2)[y], one, fold, np.arange(n), one, one, one == 1)
    evaluated, losses = fold <= (0 if n > 1000 else 2), {}
    for factor in SCALE_FACTORS:
        for C in COSTS:
            decision = np.zeros(n)
            for k in range(3):
                model = SVC(C=C, gamma=factor**2).fit(X[fold != k], y[fold != k])
                decision[fold == k] = model.decision_function(X[fold == k])
            Z = decision[evaluated, None]
            p = LogisticRegression(C=1e6).fit(Z, y[evaluated]).predict_proba(Z)
            losses[factor, C] = log_loss(y[evaluated], p)
    kernel, scales, C = choose_parameters(table, {"rbf": (np.ones(2), 1.0)})
    assert kernel == "rbf"
    assert losses[scales[0], C] <= 1.01 * min(losses.values())


@pytest.mark.parametrize(("n", "rows"), [(300, 250), (2000, 500), (4000, 1000)])
def test_fast_preset_searches_on_a_quarter_of_the_rows(n, rows):
    X = np.zeros((n, 10))
    table = SimpleNamespace(X=X, groups=(*range(10),), learns_all=True)
    kernel_member = member("rbf-ard", fast=True).set_up(table, {})
    assert (kernel_member.search.max_iter, kernel_member.search.most_rows) == (15, rows)
    assert kernel_member.fold_search.most_rows <= rows


def test_pairs_equal_one_vs_one_on_the_gram_matrix():
    """Compared with LIBSVM's one-vs-one on all rows; one class of a
    pair may be rare.
    """
    rng = np.random.default_rng(0)
    X, codes = (
        rng.standard_normal((120, 3)),
        rng.permutation(np.repeat([0, 1, 3, 4], [5, 25, 40, 50])),
    )
    weights = rng.uniform(0.5, 2, 120)
    K = rbf_kernel(X, gamma=1.0)
    svc = SVC(C=3, kernel="precomputed", decision_function_shape="ovo", tol=1e-2)
    svc.fit(K, codes, sample_weight=weights)
    pairs = _Pairs(X, codes, weights, "rbf", 3)
    np.testing.assert_array_equal(pairs.classes_, svc.classes_)
    np.testing.assert_allclose(
        pairs.decision_function(X), svc.decision_function(K), atol=1e-9
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_use_scikit_learn_decision_values(n_classes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    codes = np.arange(80) % n_classes
    K = rbf_kernel(X)
    svc = SVC(kernel="precomputed", decision_function_shape="ovo").fit(K, codes)
    decision = svc.decision_function(K)
    if n_classes == 2:
        # With two classes, positive values belong to the second class.
        decision = -decision[:, None]
    public = SimpleNamespace(
        classes_=svc.classes_, decision_function=lambda K: decision
    )
    expected = _scores(public, K, n_classes)
    np.testing.assert_allclose(_scores(svc, K, n_classes), expected, atol=1e-12)


def test_pairwise_coupling_of_price():
    """P_i is proportional to 1 / (sum_j 1 / mu_ij - (k - 2))."""
    F = np.random.default_rng(0).standard_normal((50, 6))
    model = SimpleNamespace(classes_=np.arange(4), decision_function=lambda K: F)
    mu = np.ones((50, 4, 4))
    for f, i, j in zip(F.T, *np.triu_indices(4, 1), strict=True):
        mu[:, i, j], mu[:, j, i] = expit(4 * f), expit(-4 * f)
    p = 1 / ((1 / mu).sum(axis=2) - 1 - (4 - 2))
    np.testing.assert_allclose(np.exp(_scores(model, F, 4, by_odds=True)), p)


def test_scores_are_mean_log_probabilities_against_each_other_class(rng):
    """Also of decision values whose exponentials overflow."""
    decision = rng.normal(size=(9, 3)) * [
        [1],
        [1],
        [1],
        [1],
        [1],
        [1],
        [9],
        [99],
        [999],
    ]
    pairs = SimpleNamespace(
        classes_=np.array([0, 1, 3]), decision_function=lambda rows: decision
    )
    ab, ac, bc = decision.T
    expected = [
        -2 / 3 * sum(np.logaddexp(0, -2 * margin) for margin in margins)
        for margins in ((ab, ac), (-ab, bc), (-ac, -bc))
    ]
    scores = _scores(pairs, decision, 4)
    np.testing.assert_allclose(scores[:, [0, 1, 3]], np.transpose(expected), rtol=1e-12)
    np.testing.assert_array_equal(scores[:, 2], np.min(expected, axis=0) - 1)


@pytest.mark.parametrize("by_odds", [False, True])
def test_decision_values_of_many_pairs_are_computed_in_blocks(monkeypatch, by_odds):
    codes = np.arange(200) % 40
    X = np.random.default_rng(0).normal(size=(200, 3)) + codes[:, None] / 5
    K = gram_matrix(X)
    model = SVC(kernel="precomputed", decision_function_shape="ovo").fit(K, codes)
    whole = _scores(model, K, 40, by_odds=by_odds)
    block_sizes = []

    def decision_function(rows):
        block_sizes.append(len(rows))
        return model.decision_function(rows)

    recording_model = SimpleNamespace(
        classes_=model.classes_, decision_function=decision_function
    )
    monkeypatch.setattr(svm, "by_row_blocks", partial(svm.by_row_blocks, budget=50_000))
    scores = _scores(recording_model, K, 40, by_odds=by_odds)
    assert max(block_sizes) * 8 * 780 <= 50_000 and sum(block_sizes) == 200
    np.testing.assert_array_equal(scores, whole)


@pytest.mark.slow
def test_svm_on_many_rows_starts_from_screened_scales(monkeypatch):
    for module, name, value in (
        *((svm, "SHARED_GRAM_ROWS", 200), (svm, "PAIR_ROWS", 700)),
        (kernel_ridge, "MANY_ROWS", 700),
        *((fit_all, "LEARNERS", 600), (choose, "RISE", -1)),  # no candidate is dropped
    ):
        monkeypatch.setattr(module, name, value)
    X = np.random.default_rng(0).uniform(-1, 1, (900, 2))
    y = np.floor(3 * X[:, 0] + X[:, 1]) % 3
    with pytest.warns(UserWarning, match="svm"):
        model = AdaptiveKernelClassifier(max_support=60, random_state=0)
        problem, members, _ = fitted_members(model, X, y)
    models = {member.name: member.model for member in members}
    kernel, scales, _ = models["svm"].chosen
    assert isinstance(models["svm"].model_, _Pairs)
    assert (
        np.ptp(scales)
        and np.corrcoef(scales, models[f"{kernel}-ard"].scales_)[0, 1] > 0.9
    )
    (svm_member,) = (member for member in members if member.name == "svm")
    codes = problem.table.left_out.Y.argmax(axis=1)
    assert np.mean(svm_member.fits.predicted.argmax(axis=1) == codes) > 0.9


@pytest.mark.parametrize("is_large", [False, True])
def test_score_difference_is_twice_the_decision_value(is_large, rng):
    X = rng.normal(size=(60, 2))
    codes = np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 0, 2, 0)
    K = gram_matrix(X, kernel="rbf", gamma=1.0)
    model = _fit_svc(K, codes, np.ones(60), C=1.0)
    if is_large:
        pairs = _Pairs(X, codes, np.ones(60), "rbf", C=1.0)
        scores = _scores(pairs, X, n_classes=3)
    else:
        scores = _scores(model, K, n_classes=3)
    difference = scores[:, 2] - scores[:, 0]
    decision = model.decision_function(K)
    np.testing.assert_allclose(difference, 2 * decision, rtol=1e-9, atol=1e-12)
    assert (scores[:, 1] < scores[:, [0, 2]].min(axis=1)).all()  # class without rows


@pytest.mark.parametrize("classify", [True, False])
def test_screening_uses_fewer_trees_in_regression(classify):
    setting = {"classify": classify, "is_categorical": np.zeros(1, dtype=bool)}
    X = np.random.default_rng(0).uniform(size=(2500, 1))
    Y, counts = np.hstack([X > 0.5, X <= 0.5]).astype(float)[:, : 1 + classify], []
    for name in ("forest", "boosting"):
        screened = member(name, screening=True, **setting)
        fitted = screened.fit(X, Y, np.ones(2500))
        model = fitted.model_ if name == "forest" else fitted.models_[0]
        counts.append(model.get_params().get("n_estimators") or model.max_iter)
    assert counts == ([60, 750] if classify else [20, 250])


@pytest.mark.parametrize("extra", [False, True])
@pytest.mark.parametrize("classify", [False, True])
def test_forest_predictions_equal_scikit_learn(classify, extra, rng):
    X, y = make_friedman1(150, random_state=0)
    X[::5, 1] = np.nan
    Y = np.eye(3)[np.digitize(y, [12, 17])] if classify else y[:, None]
    name = "extra-trees" if extra else "forest"
    fitted = member(name, classify=classify).fit(X, Y, rng.uniform(size=150))
    trees = fitted.model_
    expected = trees.predict(X)[:, None]
    if classify:
        proba = trees.predict_proba(X)
        expected = np.log((proba * len(trees) + 0.5) / (len(trees) + 1))
    np.testing.assert_array_equal(fitted.predict(X), expected)
    alone = np.vstack([fitted.predict(row[None]) for row in X[:5]])
    np.testing.assert_array_equal(alone, expected[:5])


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.parametrize("most_leaves", [0, 8])
def test_boosting_predictions_equal_scikit_learn(
    n_classes, categories, most_leaves, rng, monkeypatch
):
    """Also for few rows and with tables of leaves, neither with scikit-learn's trees.
    Two models predict together; each knows categories that the other does not.
    """
    monkeypatch.setattr(tree_predictions, "MOST_LEAVES", most_leaves)
    X, y = make_friedman1(260, random_state=0)
    X[:, 0] = np.floor(4 * X[:, 0])
    # Fifty rare categories and two with enough rows for a split.
    X[:, 3] = np.where(X[:, 3] < 0.5, np.floor(100 * X[:, 3]), 60 + (X[:, 3] > 0.75))
    X[::5, 1] = np.nan
    X[::7, 3] = np.nan
    bounds = {0: [], 2: [14], 3: [12, 17]}[n_classes]
    Y = np.eye(n_classes)[np.digitize(y, bounds)] if n_classes else y[:, None]
    is_categorical = np.isin(np.arange(10), (0, 3)) & categories
    setting = {"classify": n_classes > 0, "is_categorical": is_categorical}
    weights = rng.uniform(size=260)
    models = [
        member("boosting", **setting).fit(X[rows], Y[rows], weights[rows])
        for rows in (slice(200), slice(60, 260))
    ]
    if categories:
        assert all(
            np.any(_left_categories(fitted.models_[0]) > 31) for fitted in models
        )
    for model, predicted in zip(models, models[0].predict_each(models, X), strict=True):
        if n_classes:
            expected = np.log(np.maximum(model.models_[0].predict_proba(X), 1e-6))
        else:
            expected = model.models_[0].predict(X)[:, None]
        np.testing.assert_array_equal(predicted, expected)
        np.testing.assert_array_equal(model.predict(X), expected)
        alone = np.vstack([model.predict(row[None]) for row in X[::8]])
        np.testing.assert_array_equal(alone, expected[::8])
    few = models[0].predict_each(models, X[:7])
    many = [predicted[:7] for predicted in models[0].predict_each(models, X)]
    np.testing.assert_array_equal(few, many)


def _left_categories(boosting):
    """Categories that a split of the trees sends to the left."""
    trees = [tree for trees in boosting._predictors for tree in trees]
    bitsets = np.concatenate([tree.raw_left_cat_bitsets for tree in trees])
    return np.flatnonzero(
        np.unpackbits(bitsets.view(np.uint8), axis=1, bitorder="little").any(axis=0)
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_predictions_equal_logistic_regression(n_classes, rng):
    X, y = make_friedman1(150, random_state=0)
    Y = np.eye(n_classes)[np.digitize(y, [12, 17][: n_classes - 1])]
    fitted = member("linear", classify=True).fit(X, Y, np.ones(150))
    expected = np.log(np.maximum(fitted.model_.predict_proba(X), 1e-6))
    # Rounding of a scalar product of ten numbers below 100 and of the logarithm.
    np.testing.assert_allclose(fitted.predict(X), expected, rtol=0, atol=1e-10)


def test_number_of_boosted_trees_is_limited_for_many_classes():
    X, y = make_friedman1(300, random_state=0)
    Y = np.eye(60)[np.argsort(np.argsort(y)) % 60]
    boosting = member(
        "boosting", classify=True, is_categorical=np.zeros(10, dtype=bool)
    )
    boosting.fit(X[:, :10], Y, np.ones(300))
    assert boosting.models_[0].n_iter_ * 60 <= 1500


@pytest.fixture
def neighbours_member(tmp_path, monkeypatch):
    """The package of members with the file shown in CONTRIBUTING.md."""
    page = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (source,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    (tmp_path / "neighbours.py").write_text(source, encoding="utf-8")
    monkeypatch.setattr(members, "__path__", [*members.__path__, str(tmp_path)])
    monkeypatch.setattr(choose, "REGISTRY", members.members_by_name())


def test_member_is_added_by_one_file(neighbours_member):
    """It predicts like scikit-learn's regressor; "auto" selects it
    except with "fast".
    """
    X, y = make_friedman1(90, noise=0.1, random_state=0)
    X_new, _ = make_friedman1(20, random_state=1)
    model = AdaptiveKernelRegressor(members=["neighbours"], random_state=0).fit(X, y)
    (member,) = model.ensemble_.members
    assert len(member.fits.models) == 5
    Z, fold = member.view.transform(X), member.fits.models[0]
    rows = [np.flatnonzero((row == Z).all(axis=1)) for row in fold.index_._fit_X]
    rest = np.concatenate(rows)
    assert len(rest) == 72
    expected = KNeighborsRegressor().fit(Z[rest], y[rest])
    np.testing.assert_allclose(
        fold.predict(member.view.transform(X_new))[:, 0] * model.ensemble_.blend.unit,
        expected.predict(member.view.transform(X_new)),
    )
    for preset, has in (("best", True), ("fast", False)):
        model = AdaptiveKernelRegressor(preset=preset, random_state=0).fit(X, y)
        assert ("neighbours" in model.weights_) == has


def test_added_member_is_blended_in_classification(neighbours_member, rng):
    X = rng.uniform(-1, 1, size=(120, 2))
    y = np.sign(X[:, 0] * X[:, 1])  # not linearly separable
    model = AdaptiveKernelClassifier(members=["linear", "neighbours"], random_state=0)
    assert model.fit(X, y).weights_["neighbours"] > 0.5
    assert model.oof_score_ > 0.8
