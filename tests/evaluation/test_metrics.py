import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from sklearn import metrics

from adakern.evaluation import quantile_crps, score
from adakern.evaluation.metrics import (
    area_under_curve,
    interval_scores,
    probability_scores,
)
from adakern.evaluation.quantities import (
    GREATER_IS_BETTER,
    MAIN_METRIC,
    METRICS,
    OPTIONAL_METRICS,
)

labels = arrays(int, 12, elements=st.integers(0, 3))
values = arrays(float, 9, elements=st.floats(-1e3, 1e3).map(lambda v: round(v, 3)))


@given(labels, labels)
def test_classification_scores_match_sklearn(y, f):
    scores = score("classification", y, f, labels=[0, 1, 2, 3])
    assert scores["accuracy"] == pytest.approx(metrics.accuracy_score(y, f))
    if set(f) <= set(y):  # scikit-learn warns otherwise
        expected = metrics.balanced_accuracy_score(y, f)
        assert scores["balanced_accuracy"] == pytest.approx(expected)
    expected = metrics.f1_score(y, f, average="macro", zero_division=0)
    assert scores["f1"] == pytest.approx(expected)


def test_binary_f1_positive_label():
    y, f = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 1, 0])
    words, macro = np.array(["n", "y"]), metrics.f1_score(y, f, average="macro")
    assert score("classification", y, f)["f1"] == pytest.approx(2 / 3)
    assert score("classification", words[y], words[f])["f1"] == pytest.approx(2 / 3)
    assert score("classification", y, f, labels=[0, 1, 2])["f1"] == pytest.approx(macro)


@given(values, values)
def test_regression_scores_match_sklearn(y, f):
    scores = score("regression", y, f)
    assert scores["r2"] == pytest.approx(metrics.r2_score(y, f), rel=1e-9, abs=1e-9)
    assert scores["mae"] == pytest.approx(metrics.mean_absolute_error(y, f))
    assert scores["rmse"] == pytest.approx(metrics.root_mean_squared_error(y, f))
    if np.ptp(y):
        formula = sum((f - y) ** 2) / sum((y - sum(y) / len(y)) ** 2)
        assert scores["relative_mse"] == pytest.approx(formula)


def test_constant_target_score():
    y = np.full(5, 0.1)
    assert score("regression", y, y)["relative_mse"] == 0
    assert score("regression", y, y + 1)["relative_mse"] == 1


@pytest.mark.parametrize("task", METRICS)
def test_every_metric_is_declared(task):
    always = set(METRICS[task]) - set(OPTIONAL_METRICS[task])
    assert set(score(task, [0, 1, 1], [0, 1, 0])) == always
    assert MAIN_METRIC[task] in GREATER_IS_BETTER
    if task == "classification":
        optional = {*probability_scores([0, 1], [[0.9, 0.1], [0.4, 0.6]], [0, 1])}
    else:
        optional = {*interval_scores([0.0], [0.0], [1.0]), "crps"}
    assert optional == set(OPTIONAL_METRICS[task])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ranking", [1], [1]), "task='ranking'"),
        (("regression", [1, 2], [1]), r"shapes \(2,\) and \(1,\)"),
        (("classification", [], []), "non-empty"),
        (("regression", [1.0, 2.0], [1.0, np.nan]), "y_pred must not contain NaN"),
        (("regression", [[1.0]], [[1.0]]), "one-dimensional"),
    ],
)
def test_invalid_input_error(arguments, message):
    with pytest.raises(ValueError, match=message):
        score(*arguments)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_probability_scores_match_sklearn(n_classes):
    rng = np.random.default_rng(n_classes)
    classes = np.array(list("abcde"))[:n_classes]
    y = classes[np.arange(60) % n_classes]
    p = rng.dirichlet(np.ones(n_classes), size=60)
    scores = probability_scores(y, p, classes)
    assert scores["log_loss"] == pytest.approx(metrics.log_loss(y, p, labels=classes))
    truth, chance = (y == classes[1], p[:, 1]) if n_classes == 2 else (y, p)
    assert scores["auc"] == pytest.approx(
        metrics.roc_auc_score(truth, chance, multi_class="ovr")
    )
    one_by_one = sum(
        metrics.brier_score_loss(y == c, p[:, k]) for k, c in enumerate(classes)
    )
    assert scores["brier"] == pytest.approx(one_by_one)


def test_calibration_error_known_values():
    """Ten rows of confidence 0.8, of which six are right; ten of 1.0, all right."""
    p = np.array([[0.8, 0.2]] * 10 + [[0.0, 1.0]] * 10)
    y = np.array([0] * 6 + [1] * 4 + [1] * 10)
    assert probability_scores(y, p, [0, 1])["calibration_error"] == pytest.approx(
        0.5 * 0.2
    )


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([[0.5], [0.5]], r"shape \(2, 2\), a column for each class"),
        ([[0.9, 0.9], [0.5, 0.5]], "sums from 1 to 1.8"),
        ([[1.5, -0.5], [0.5, 0.5]], "a least value of -0.5"),
        ([[np.nan, np.nan], [0.5, 0.5]], "a least value of nan"),
    ],
)
def test_invalid_probabilities_are_refused(p, message):
    with pytest.raises(ValueError, match=message):
        probability_scores([0, 1], p, [0, 1])


def test_predicted_label_that_is_no_class_is_refused():
    with pytest.raises(ValueError, match=r"y_pred contains \{7\}"):
        score("classification", np.array([0, 1]), np.array([0, 7]), labels=[0, 1])


def test_predicted_labels_of_type_object():
    labels = np.array([0, 1, 2])
    found = score("classification", labels, labels[[0, 1, 1]].astype(object), labels)
    assert found["accuracy"] == pytest.approx(2 / 3)


def test_probability_scores_unseen_labels():
    scores = probability_scores([0, 2], [[1.0, 0.0], [0.5, 0.5]], [0, 1])
    assert scores["log_loss"] == pytest.approx(-np.log(1e-15) / 2)
    assert scores["brier"] == pytest.approx((0 + 1.5) / 2)
    assert probability_scores([0, 0], [[1.0, 0.0]] * 2, [0, 1])["auc"] is None


@pytest.mark.parametrize("n_classes", [2, 4])
def test_roc_auc_of_decision_function(n_classes, rng):
    y = np.arange(40) % n_classes
    values = rng.normal(size=(40, n_classes)) + (y[:, None] == np.arange(n_classes))
    expected = np.mean(
        [metrics.roc_auc_score(y == k, v) for k, v in enumerate(values.T)]
    )
    assert area_under_curve(y, values, np.arange(n_classes)) == pytest.approx(expected)
    one = values[:, 1]
    binary = area_under_curve(y == 1, one, [False, True])
    assert binary == pytest.approx(metrics.roc_auc_score(y == 1, one))


def test_calibration_error_band():
    rng = np.random.default_rng(1)

    def band(n, off):
        p = rng.uniform(0.5, 1, size=n)
        y = (rng.uniform(size=n) > p - off).astype(int)  # too sure by so much
        scores = probability_scores(y, np.column_stack([p, 1 - p]), [0, 1])
        error, low, high = (
            scores[f"calibration_error{end}"] for end in ("", "_low", "_high")
        )
        assert low <= error <= high and error == pytest.approx(off, abs=4 / np.sqrt(n))
        return low, high

    assert np.diff(band(5000, 0.2)) < 0.5 * np.diff(band(200, 0.2))
    assert np.mean([band(300, 0.0)[0] == 0 for _ in range(40)]) > 0.9


def test_interval_scores_known_values():
    scores = interval_scores([0.0, 1.0, 2.0], [0.0, 1.5, 1.0], [1.0, 2.0, 4.0])
    assert scores == {
        "interval_coverage": pytest.approx(2 / 3),
        "interval_width": pytest.approx(1.5),
        "interval_score": pytest.approx((1 + 0.5 + 20 * 0.5 + 3) / 3),
        "coverage_easy": 0,
        "coverage_middle": 1,
        "coverage_hard": 1,
    }
    small = interval_scores([0.0, 1e-9, 2e-9], [0.0, 1.5e-9, 1e-9], [1e-9, 2e-9, 4e-9])
    assert [small[name] for name in list(scores)[3:]] == [0, 1, 1]
    with pytest.raises(ValueError, match=r"coverage=1 must"):
        interval_scores([0.0], [0.0], [1.0], coverage=1)
    with pytest.raises(ValueError, match="must not contain NaN"):
        interval_scores([0.0], [0.0], [np.nan])
    same = interval_scores([0.0, 1.0, 2.0], [-1.0, 0.0, 1.0], [1.0, 2.0, 3.0])
    assert same["coverage_hard"] is None, "all widths are equal"


@pytest.mark.parametrize(
    ("scores", "arguments", "message"),
    [
        (interval_scores, ([1.0, 2.0], [0.0], [1.0]), r"got \(2,\), \(1,\) and"),
        (interval_scores, ([], [], []), "non-empty"),
        (interval_scores, ([np.nan], [0.0], [1.0]), "y_true, low and high must not"),
        (quantile_crps, ([1.0], [[0.0, 1.0]], [0.9, 0.1]), "levels must increase"),
        (quantile_crps, ([1.0], [[0.0, 1.0]], [0.0, 0.5]), "levels must increase"),
        (quantile_crps, ([1.0], [[0.0, 1.0]], [0.5]), r"\(1, 1\); got \(1, 2\)"),
        (quantile_crps, ([1.0], [[np.nan]], [0.5]), "must not contain NaN"),
    ],
)
def test_invalid_intervals_and_quantiles_raise(scores, arguments, message):
    """Of which the shapes and levels once gave wrong numbers."""
    with pytest.raises(ValueError, match=message):
        scores(*arguments)


def test_interval_score_minimised_by_quantiles():
    y = np.random.default_rng(0).normal(size=20_000)

    def of(z):
        bound = np.full_like(y, z)
        return interval_scores(y, -bound, bound, 0.9)["interval_score"]

    assert of(1.645) < min(of(1.4), of(1.9))


def test_crps_of_quantiles_matches_distribution():
    """Against the closed form for a normal forecast (Gneiting and Raftery 2007)."""
    y, levels = np.array([-1.0, 0.3, 2.5]), (np.arange(2000) + 0.5) / 2000
    quantiles = np.tile(stats.norm.ppf(levels), (3, 1))
    pdf, cdf = stats.norm.pdf(y), stats.norm.cdf(y)
    exact = (y * (2 * cdf - 1) + 2 * pdf - 1 / np.sqrt(np.pi)).mean()
    assert quantile_crps(y, quantiles, levels) == pytest.approx(exact, rel=1e-3)


def test_interval_scores_multioutput(rng):
    y = rng.normal(size=(40, 2)) * [1.0, 1e6] + [0.0, 3.0]
    low, high = y - rng.uniform(-1, 2, y.shape), y + rng.uniform(-1, 2, y.shape)
    levels = [0.1, 0.5, 0.9]
    quantiles = np.stack([low, (low + high) / 2, high], axis=-1)
    each = [interval_scores(*(v[:, i] for v in (y, low, high))) for i in range(2)]
    scores = interval_scores(y, low, high)
    spread = y.std(axis=0)
    for name, value in scores.items():
        unit = spread if name in ("interval_width", "interval_score") else [1.0, 1.0]
        expected = np.mean([each[i][name] / unit[i] for i in range(2)])
        assert value == pytest.approx(expected, rel=1e-12)
    crps = [quantile_crps(y[:, i], quantiles[:, i], levels) for i in range(2)]
    assert quantile_crps(y, quantiles, levels) == pytest.approx(
        np.mean(crps / spread), rel=1e-12
    )
