"""The flagship with one part taken away, against fits that never had it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

import adaptive_ablation as script
from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern.adaptive.blend import fit_blend
from adakern_bench.data import Table
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
    made = Table(X, y, "made", task, [str(j) for j in range(X.shape[1])])
    return prepare(made, rows[:100], rows[100:], scale="none")


@pytest.fixture(scope="module", params=CASES)
def fitted(request):
    data, flagship = prepared(request.param), CASES[request.param][1]
    model = flagship(members=MEMBERS, random_state=0)
    return data, script.fitted(model, data.X_train, data.y_train), flagship


@pytest.mark.parametrize("taken", ["linear", None, "blending"])
@pytest.mark.slow
def test_what_is_left_is_a_fit_that_never_had_the_part(fitted, taken):
    data, (problem, members), flagship = fitted
    left = [name for name in MEMBERS if name != taken]
    if taken == "blending":  # the best member stands alone
        scores = fit_blend(problem, members).scores
        left = [members[int(np.argmax(scores))].name]
    variant = dict(script.variants(problem, members))[taken or script.WHOLE]
    found = variant.predict(problem.reader.transform(data.X_test))
    model = flagship(members=left, random_state=0).fit(data.X_train, data.y_train)
    if flagship is AdaptiveKernelRegressor:
        expected = model.predict(data.X_test)[:, None] / variant.blend.unit
    else:
        expected = model.predict_proba(data.X_test)
    np.testing.assert_allclose(found, expected)


def test_without_the_refit_members_answer_by_the_mean_over_folds(fitted):
    data, (problem, members), _ = fitted
    variant = dict(script.variants(problem, members))["refit on all rows"]
    X = problem.reader.transform(data.X_test)
    for member in variant.members:
        Z = member.view.transform(X)
        folds = [member.predict_without(k, Z) for k in range(5)]
        np.testing.assert_allclose(member.predict(Z), np.mean(folds, axis=0))


def test_without_targets_of_equal_rows_the_blend_alone_answers(rng):
    X = np.repeat(rng.normal(size=(60, 2)), 2, axis=0)
    y = np.repeat(rng.normal(size=60), 2)
    model = AdaptiveKernelRegressor(members=["linear"], random_state=0)
    problem, members = script.fitted(model, X, y)
    variants = dict(script.variants(problem, members))
    assert np.isfinite(variants[script.WHOLE].equal_rows.prior_rows_)
    alone = variants["targets of equal rows"]
    line = members[0].predict(members[0].view.transform(X))
    np.testing.assert_allclose(alone.predict(X), line)
    assert np.var(variants[script.WHOLE].predict(X)[:, 0] - y) < np.var(line[:, 0] - y)


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
    assert (found["holm_p_value"].isna() == found["p_value"].isna()).all()
    panels = script.plot(frame).axes
    assert [tick.get_text() for tick in panels[0].get_yticklabels()] == ["trees"]
    assert len(panels) == 2


@pytest.mark.parametrize("task", CASES)
@pytest.mark.slow
def test_every_part_and_every_loss(task):
    data = prepared(task)
    frame = script.compute(data, 0, task=task)
    assert np.isfinite(frame["value"]).all()
    members = set(suited(*data.X_train.shape, classify=task == "classification"))
    groups = {
        name for name, names in script.GROUPS.items() if members.intersection(names)
    }
    assert members | groups | {"blending", "refit on all rows"} < set(frame["without"])
    assert not frame.duplicated(["without", "metric"]).any()
