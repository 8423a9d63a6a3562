"""Decision thresholds, and text and plots of a fitted model."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score, f1_score, log_loss
from sklearn.model_selection import TunedThresholdClassifierCV

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern.adaptive import blend
from adakern.adaptive.model import Member, MemberTable

FEW = {"members": ["linear"], "random_state": 0}


@pytest.fixture(scope="module")
def rare_class():
    return make_classification(
        250, 6, weights=[0.93], class_sep=0.6, flip_y=0.03, random_state=0
    )


@pytest.mark.parametrize(
    ("threshold", "metric"),
    [("balanced", balanced_accuracy_score), ("f1", f1_score)],
)
def test_threshold_maximises_out_of_fold_score(rare_class, threshold, metric):
    X, y = rare_class
    plain = AdaptiveKernelClassifier(**FEW).fit(X, y)
    model = AdaptiveKernelClassifier(threshold=threshold, **FEW).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    p = model.oof_prediction_[:, 1]
    score = metric(y, p >= model.threshold_)
    assert score > metric(y, p >= 0.5)
    # Only every second probability is a candidate.
    best = max(metric(y, p >= threshold_value) for threshold_value in p)
    assert score >= best - 0.02
    expected = model.predict_proba(X)[:, 1] >= model.threshold_
    np.testing.assert_array_equal(model.predict(X), expected.astype(int))
    assert plain.threshold_ is None


def test_threshold_requires_two_classes():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = AdaptiveKernelClassifier(threshold="balanced", **FEW)
    with pytest.raises(
        ValueError, match=r"threshold='balanced' requires two classes, got 3"
    ):
        model.fit(X, np.arange(30) % 3)
    with pytest.raises(ValueError, match="'rmse'"):
        AdaptiveKernelClassifier(threshold="rmse", **FEW).fit(X, np.arange(30) % 2)


def test_tuned_threshold_classifier_cv(rare_class):
    X, y = rare_class
    tuned = TunedThresholdClassifierCV(AdaptiveKernelClassifier(**FEW), cv=2)
    tuned.fit(X, y)
    assert 0 < tuned.best_threshold_ < 0.5
    by_half = tuned.estimator_.predict(X)
    scores = [balanced_accuracy_score(y, p) for p in (tuned.predict(X), by_half)]
    assert scores[0] > scores[1]


def test_str_of_fitted_model(rare_class):
    X, y = rare_class
    model = AdaptiveKernelClassifier(members=["linear", "rbf"], random_state=0)
    assert str(model) == repr(model)
    model.fit(X, y)
    parameters, rows, score, *members = str(model).splitlines()
    assert parameters == repr(model)
    assert rows.startswith("250 rows, 6 features")
    assert f"{max(y.mean(), 1 - y.mean()):.4g}" in score
    shown = {line.split()[0]: line.split()[1] for line in members}
    assert shown == {m.name: f"{m.weight:.1%}" for m in model.members_ if m.weight}
    assert members[0].count("█") == 20
    bundle = model._repr_mimebundle_()
    assert bundle["text/plain"] == str(model)
    assert bundle["text/html"].endswith("</table>") and rows in bundle["text/html"]


def test_scores_of_dropped_members_are_marked():
    used, dropped = Member("linear", 1.0, 0.5, 0.1), Member("rbf", 0.0, 0.6, 0.1, True)
    _, first, second, *note = repr(MemberTable([used, dropped])).splitlines()
    assert first.split() == ["linear", "1.000", "0.5000", "0.10"]
    assert second.split() == ["rbf", "dropped", "(0.6000)", "0.10"]
    assert "cannot be compared" in " ".join(note)
    assert len(repr(MemberTable([used])).splitlines()) == 2


def test_member_table_shows_log_loss(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] + 2 * rng.normal(size=400) > 4.4).astype(int)
    names = ["linear", "rbf", "forest"]
    model = AdaptiveKernelClassifier(members=names, random_state=0).fit(X, y)
    scores, losses = zip(*((m.score, m.log_loss) for m in model.members_), strict=True)
    assert len({*scores}) == 1
    assert len({*losses}) == 3
    heading, *lines = repr(model.members_).splitlines()
    assert "log loss" in heading
    for line, loss in zip(lines, losses, strict=True):
        assert line.split()[3] == f"{loss:.4f}"
    # Unless its weights are nested, the blend of a single member is that member.
    monkeypatch.setattr(blend, "MOST_NESTED", 0)
    alone = AdaptiveKernelClassifier(members=["linear"], random_state=0).fit(X, y)
    (member,) = alone.members_
    by_scikit_learn = log_loss(y, alone.oof_prediction_)
    assert member.log_loss == pytest.approx(by_scikit_learn, rel=1e-3)


def test_dollar_signs_in_names_are_not_mathematics():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    names = ["US$ and A$", "$x_1$", "$\\frac{1}$"]
    X = np.random.default_rng(0).normal(size=(60, 3))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=names)
    model = AdaptiveKernelRegressor(**FEW).fit(frame, X[:, 0])
    _, right = model.plot()
    right.figure.canvas.draw()  # fails on an invalid formula
    boxes = [label.get_window_extent() for label in right.get_yticklabels()]
    assert min(box.width for box in boxes) > 0
    assert {
        label.get_text().replace("\\$", "$") for label in right.get_yticklabels()
    } == {*names}
    pyplot.close(right.figure)


def test_plot():
    pytest.importorskip("matplotlib").use("Agg")
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = AdaptiveKernelRegressor(**FEW).fit(X[:40], X[:40, 0])
    assert len(model.plot()) == 2
    *_, errors = model.plot(X[40:], X[40:, 0])
    np.testing.assert_array_equal(errors.lines[0].get_ydata(), X[40:, 0])
    np.testing.assert_array_equal(errors.lines[0].get_xdata(), model.predict(X[40:]))
    assert "0" in str(model).splitlines()[2]  # the score of the mean
