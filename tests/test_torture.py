"""A representative part of the campaign; ``make torture`` runs all of it."""

import pytest

from discovery import all_estimators
from torture import cases, judge

#: One of each kind of trouble that was ever found.
CHOSEN = {
    ("scale of X", "1e+200"),
    ("scale of X", "1e+70"),
    ("scale of X", "1e-70"),
    ("scale of y", "1e+70"),
    ("new rows", "1e+300"),
    ("parameters", "C=1e+70"),
    ("parameters", "reg=1e+70"),
    ("parameters", "alpha=1e-70"),
    ("parameters", "bandwidth=1e+70"),
    ("parameters", "learning_rate=1e+70"),
    ("parameters", "tol=1e-70"),
    ("kernel matrices", "asymmetric"),
    ("kernel matrices", "indefinite"),
    ("memory order", "Fortran"),
}
#: Of those whose one fit takes seconds.
CHOSEN_OF_THE_SLOW = {
    ("scale of X", "1e+200"),
    ("new rows", "1e+300"),
    ("parameters", "learning_rate=1e+70"),
}
SLOW = {"ResNetRegressor", "SimpleBlendClassifier", "SimpleBlendRegressor"}
#: Made of many fits each; their members are here themselves.
MADE_OF_OTHERS = {"AdaptiveKernelClassifier", "AdaptiveKernelRegressor"}
ESTIMATORS = [e for e in all_estimators() if e.__name__ not in MADE_OF_OTHERS]


@pytest.mark.parametrize("Estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_extremes_end_in_a_finite_answer_or_a_clear_refusal(Estimator):
    chosen = CHOSEN_OF_THE_SLOW if Estimator.__name__ in SLOW else CHOSEN
    wrong = {
        (category, name): verdict.outcome
        for category, name, case in cases(Estimator)
        if (category, name) in chosen and not (verdict := judge(Estimator, case)).right
    }
    assert not wrong
