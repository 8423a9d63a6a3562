import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    mean_absolute_error,
    r2_score,
)

from adakern.evaluation import GREATER_IS_BETTER, MAIN_METRIC, METRICS, score

labels = arrays(int, 12, elements=st.integers(0, 3))
values = arrays(float, 9, elements=st.floats(-1e3, 1e3).map(lambda v: round(v, 3)))


@given(labels, labels)
def test_classification_scores_are_those_of_scikit_learn(y, f):
    found = score("classification", y, f, labels=[0, 1, 2, 3])
    assert found["accuracy"] == pytest.approx(accuracy_score(y, f))
    if set(f) <= set(y):  # scikit-learn warns otherwise
        expected = balanced_accuracy_score(y, f)
        assert found["balanced_accuracy"] == pytest.approx(expected)
    expected = f1_score(y, f, average="macro", zero_division=0)
    assert found["f1"] == pytest.approx(expected)


def test_binary_f1_is_of_the_greater_label():
    y, f = np.array([-1, -1, 1, 1, 1]), np.array([-1, 1, 1, 1, -1])
    assert score("classification", y, f)["f1"] == pytest.approx(2 / 3)
    words = np.array(["n", "y"])
    assert score("classification", words[(y + 1) // 2], words[(f + 1) // 2])[
        "f1"
    ] == pytest.approx(2 / 3)


def test_labels_say_that_a_part_without_a_class_is_not_binary():
    y = f = np.array([0, 1, 1])
    f = np.array([0, 1, 0])
    macro = f1_score(y, f, average="macro")
    assert score("classification", y, f, labels=[0, 1, 2])["f1"] == pytest.approx(macro)
    assert score("classification", y, f)["f1"] == pytest.approx(f1_score(y, f))


@given(values, values)
def test_regression_scores_are_those_of_scikit_learn_and_of_the_formula(y, f):
    found = score("regression", y, f)
    assert found["r2"] == pytest.approx(r2_score(y, f), rel=1e-9, abs=1e-9)
    assert found["mae"] == pytest.approx(mean_absolute_error(y, f))
    if np.ptp(y):
        formula = sum((f - y) ** 2) / sum((y - sum(y) / len(y)) ** 2)
        assert found["relative_mse"] == pytest.approx(formula)


def test_predicting_the_mean_has_relative_error_one():
    y = np.array([1.0, 4.0, 7.0, 2.0])
    mean = score("regression", y, np.full(4, y.mean()))
    assert mean["relative_mse"] == pytest.approx(1)


def test_a_constant_target_has_a_defined_score():
    y = np.full(5, 0.1)
    assert score("regression", y, y)["relative_mse"] == 0
    assert score("regression", y, y + 1)["relative_mse"] == 1


@pytest.mark.parametrize("task", METRICS)
def test_every_metric_is_declared(task):
    assert set(score(task, [0, 1, 1], [0, 1, 0])) == set(METRICS[task])
    assert set(METRICS[task]) <= set(GREATER_IS_BETTER)
    assert MAIN_METRIC[task] in METRICS[task]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ranking", [1], [1]), "task='ranking'"),
        (("regression", [1, 2], [1]), r"shapes \(2,\) and \(1,\)"),
        (("classification", [], []), "not empty"),
        (("regression", [1.0, 2.0], [1.0, np.nan]), "y_pred holds NaN"),
        (("regression", [[1.0]], [[1.0]]), "one-dimensional"),
    ],
)
def test_wrong_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        score(*arguments)
