"""A subset of the campaign of extreme inputs; ``make torture`` runs all of it."""

import pytest

from torture import ESTIMATORS, cases, judge

#: One case of each kind of failure found so far.
CHOSEN = {
    "scale of X": ["1e+200", "1e+70", "1e-70"],
    "scale of y": ["1e+70"],
    "new rows": ["1e+300"],
    "parameters": [
        *("C=1e+70", "reg=1e+70", "alpha=1e-70"),
        *("bandwidth=1e+70", "learning_rate=1e+70", "tol=1e-70"),
    ],
    "kernel matrices": ["asymmetric", "indefinite"],
    "memory order": ["Fortran"],
}
#: Cases for estimators whose fits take seconds.
FEWER = {
    "scale of X": ["1e+200"],
    "new rows": ["1e+300"],
    "parameters": ["learning_rate=1e+70"],
}
SLOW = {"ResNetRegressor", "SimpleBlendClassifier", "SimpleBlendRegressor"}


@pytest.mark.parametrize("Estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_extreme_input_gives_finite_output_or_clear_error(Estimator):
    chosen = FEWER if Estimator.__name__ in SLOW else CHOSEN
    wrong = {
        (category, name): verdict.outcome
        for category, name, case in cases(Estimator)
        if name in chosen.get(category, ())
        and not (verdict := judge(Estimator, case)).right
    }
    assert not wrong
