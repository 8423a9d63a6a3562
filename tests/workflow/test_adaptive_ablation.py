"""The flagship without one of its parts, compared with fits that never had it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

import adaptive_ablation as script
from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern.adaptive.blend import fit_blend
from adakern_bench.data.table import Table
from adakern_bench.records.prepare import prepare
from steps import suited

MEMBERS = ["linear", "laplacian", "extra-trees", "boosting"]
CASES = {
    "classification": (load_iris, AdaptiveKernelClassifier),
    "regression": (load_diabetes, AdaptiveKernelRegressor),
}


def prepared(task):
    X, y = CASES[task][0](return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:150]
    table = Table(X, y, "made", task, [str(j) for j in range(X.shape[1])])
    return prepare(table, rows[:100], rows[100:], scale="none")


@pytest.fixture(scope="module", params=CASES)
def fitted(request):
    data, flagship = prepared(request.param), CASES[request.param][1]
    model = flagship(members=MEMBERS, random_state=0)
    return data, script.fitted(model, data.X_train, data.y_train), flagship


@pytest.mark.parametrize("removed", ["linear", None, "blending"])
@pytest.mark.slow
def test_ablation_equals_fit_without_the_part(fitted, removed):
    data, (problem, members), flagship = fitted
    remaining = [name for name in MEMBERS if name != removed]
    if removed == "blending":  # the best member is used alone
        scores = fit_blend(problem, members).scores
        remaining = [members[int(np.argmax(scores))].name]
    variant = dict(script.variants(problem, members))[removed or script.WHOLE]
    actual = variant.predict(problem.reader.transform(data.X_test))
    model = flagship(members=remaining, random_state=0).fit(data.X_train, data.y_train)
    if flagship is AdaptiveKernelRegressor:
        expected = model.predict(data.X_test)[:, None] / variant.blend.unit
    else:
        expected = model.predict_proba(data.X_test)
    np.testing.assert_allclose(actual, expected)


def test_without_refit_members_predict_mean_over_folds(fitted):
    data, (problem, members), _ = fitted
    variant = dict(script.variants(problem, members))["refit on all rows"]
    X = problem.reader.transform(data.X_test)
    for member in variant.members:
        Z = member.view.transform(X)
        folds = [member.predict(Z, k) for k in range(5)]
        np.testing.assert_allclose(member.predict(Z), np.mean(folds, axis=0))


def test_without_equal_rows_only_the_blend_predicts(rng):
    X = np.repeat(rng.normal(size=(60, 2)), 2, axis=0)
    y = np.repeat(rng.normal(size=60), 2)
    model = AdaptiveKernelRegressor(members=["linear"], random_state=0)
    problem, members = script.fitted(model, X, y)
    variants = dict(script.variants(problem, members))
    assert np.isfinite(variants[script.WHOLE].equal_rows.prior_rows_)
    alone = variants["targets of equal rows"]
    linear = members[0].predict(members[0].view.transform(X))
    np.testing.assert_allclose(alone.predict(X), linear)
    assert np.var(variants[script.WHOLE].predict(X)[:, 0] - y) < np.var(
        linear[:, 0] - y
    )


def test_table_counts_pairs_and_figure_has_one_panel_per_metric():
    rows = [
        {"dataset": name, "without": without, "metric": metric, "value": value}
        for name, shift in (("a", 0.1), ("b", -0.02), ("c", 0.05))
        for metric, whole in (("rmse", 0.5), ("accuracy", 0.8))
        for without, value in ((script.WHOLE, whole), ("trees", whole + shift))
    ]
    frame = pd.DataFrame(rows)
    table = script.table(frame).set_index("metric")
    assert table.loc["rmse", "rest"] == pytest.approx((0.6 * 0.48 * 0.55) ** (1 / 3))
    assert tuple(table.loc["rmse", ["better", "worse"]]) == (1, 2)
    assert table.loc["accuracy", "rest"] == pytest.approx(0.8 + 0.13 / 3)
    assert tuple(table.loc["accuracy", ["better", "worse"]]) == (2, 1)
    assert (table["holm_p_value"].isna() == table["p_value"].isna()).all()
    panels = script.plot(frame).axes
    assert [tick.get_text() for tick in panels[0].get_yticklabels()] == ["trees"]
    assert len(panels) == 2


@pytest.mark.parametrize("task", CASES)
@pytest.mark.slow
def test_all_parts_and_metrics_are_computed(task):
    data = prepared(task)
    frame = script.compute(data, 0, task=task)
    assert np.isfinite(frame["value"]).all()
    members = set(suited(*data.X_train.shape, classify=task == "classification"))
    groups = {
        name for name, names in script.GROUPS.items() if members.intersection(names)
    }
    assert members | groups | {"blending", "refit on all rows"} < set(frame["without"])
    assert not frame.duplicated(["without", "metric"]).any()
