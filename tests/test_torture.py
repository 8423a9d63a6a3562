"""A representative part of the campaign; ``make torture`` runs all of it."""

import pytest

from discovery import all_estimators
from torture import cases, judge

#: One of each kind of trouble that was ever found, quick enough to run often.
CHOSEN = {
    ("scale of X", "1e+200"),
    ("scale of X", "1e-200"),
    ("scale of y", "1e+300"),
    ("new rows", "1e+300"),
    ("parameters", "C=1e+300"),
    ("parameters", "reg=1e+300"),
    ("parameters", "learning_rate=1e+300"),
    ("parameters", "tol=1e-300"),
    ("parameters", "bandwidth=1e+300"),
    ("kernel matrices", "asymmetric"),
    ("kernel matrices", "indefinite"),
    ("memory order", "Fortran"),
}
#: Made of many fits each; their members are here themselves.
SLOW = ("AdaptiveKernelClassifier", "AdaptiveKernelRegressor")


@pytest.mark.torture
@pytest.mark.parametrize(
    "Estimator",
    [e for e in all_estimators() if e.__name__ not in SLOW],
    ids=lambda e: e.__name__,
)
def test_extremes_end_in_a_finite_answer_or_a_clear_refusal(Estimator):
    wrong = {
        (category, name): verdict.outcome
        for category, name, case in cases(Estimator)
        if (category, name) in CHOSEN and not (verdict := judge(Estimator, case)).right
    }
    assert not wrong
