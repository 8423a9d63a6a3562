"""scikit-learn's own checks, on every estimator: none fails, none is expected to."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from discovery import all_estimators


@parametrize_with_checks([estimator() for estimator in all_estimators()])
def test_estimator_follows_scikit_learn(estimator, check):
    check(estimator)
