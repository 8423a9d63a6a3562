"""The flagship with one part taken away, against fits that never had it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

import adaptive_ablation as script
from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern_bench.data import Table
from adakern_bench.records.prepare import prepare

MEMBERS = ["linear", "laplacian", "extra-trees", "boosting"]
CASES = {
    "classification": (load_iris, AdaptiveKernelClassifier),
    "regression": (load_diabetes, AdaptiveKernelRegressor),
}


def prepared(task):
    X, y = CASES[task][0](return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:150]
    names = [str(j) for j in range(X.shape[1])]
    made = Table(X, y, "made", task, names)
    return prepare(made, rows[:100], rows[100:], scale="none")


@pytest.fixture(scope="module", params=CASES)
def fitted(request):
    data = prepared(request.param)
    kept, public = script.TASKS[request.param][0], CASES[request.param][1]
    model = kept(members=MEMBERS, random_state=0).fit(data.X_train, data.y_train)
    return data, model, public


def values_of(model, data):
    predict = getattr(model, "predict_proba", model.predict)
    return predict(data.X_test)


@pytest.mark.parametrize("taken", ["boosting", "linear", None])
def test_what_is_left_is_a_fit_that_never_had_the_part(fitted, taken):
    data, model, public = fitted
    left = [name for name in MEMBERS if name != taken]
    expected = public(members=left, random_state=0).fit(data.X_train, data.y_train)
    variant = dict(script.variants(model))[taken or script.WHOLE]
    np.testing.assert_allclose(values_of(variant, data), values_of(expected, data))


def test_without_blending_the_best_member_stands_alone(fitted):
    data, model, public = fitted
    best = max(model.members_, key=lambda member: member.score).name
    expected = public(members=[best], random_state=0).fit(data.X_train, data.y_train)
    variant = dict(script.variants(model))["blending"]
    np.testing.assert_allclose(values_of(variant, data), values_of(expected, data))


def test_without_the_refit_members_answer_by_the_mean_over_folds(fitted):
    data, model, _ = fitted
    variant = dict(script.variants(model))["refit on all rows"]
    read = variant.reader_.transform(data.X_test)
    folds = [fold.predict("laplacian", read) for fold in model.fold_models_]
    np.testing.assert_allclose(variant._scores("laplacian", read), np.mean(folds, 0))


def test_without_targets_of_equal_rows_the_blend_alone_answers():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(60, 2)), 2, axis=0)
    y = np.repeat(rng.normal(size=60), 2)
    model = script.KeptRegressor(members=["linear"], random_state=0).fit(X, y)
    assert np.isfinite(model.equal_rows_.prior_rows_)
    variant = dict(script.variants(model))["targets of equal rows"]
    line = model.refit_.predict("linear", model.reader_.transform(X))[:, 0]
    np.testing.assert_allclose(variant.predict(X), line * model._unit)
    assert np.mean((model.predict(X) - y) ** 2) < np.mean((variant.predict(X) - y) ** 2)


def test_variants_leave_the_model_as_it_was(fitted):
    data, model, _ = fitted
    before = values_of(model, data)
    list(script.variants(model))
    np.testing.assert_array_equal(values_of(model, data), before)


def test_the_table_counts_pairs_and_the_figure_has_a_panel_for_each_metric():
    rows = [
        {"dataset": name, "without": without, "metric": metric, "value": value}
        for name, shift in (("a", 0.1), ("b", -0.02), ("c", 0.05))
        for metric, whole in (("rmse", 0.5), ("accuracy", 0.8))
        for without, value in ((script.WHOLE, whole), ("trees", whole + shift))
    ]
    frame = pd.DataFrame(rows)
    found = script.table(frame).set_index("metric")
    assert found.loc["rmse", "rest"] == pytest.approx((0.6 * 0.48 * 0.55) ** (1 / 3))
    assert tuple(found.loc["rmse", ["better", "worse"]]) == (1, 2)
    assert found.loc["accuracy", "rest"] == pytest.approx(0.8 + 0.13 / 3)
    assert tuple(found.loc["accuracy", ["better", "worse"]]) == (2, 1)
    panels = script.plot(frame).axes
    assert [tick.get_text() for tick in panels[0].get_yticklabels()] == ["trees"]
    assert len(panels) == 2


@pytest.mark.parametrize("task", CASES)
def test_every_part_and_every_loss(task):
    frame = script.compute(prepared(task), 0, task=task)
    assert np.isfinite(frame["value"]).all()
    parts = {*script.MEMBERS, *script.GROUPS, "blending", "refit on all rows"}
    assert parts < set(frame["without"])
    assert not frame.duplicated(["without", "metric"]).any()
