"""What holds for every estimator: scikit-learn's own checks and determinism."""

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import make_classification
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import parametrize_with_checks

from discovery import all_estimators

#: Smaller forests, since each check fits them anew.
QUICK = {
    "SimpleBlendClassifier": {"n_estimators": 20},
    "SimpleBlendRegressor": {"n_estimators": 20},
}


@parametrize_with_checks(
    [estimator(**QUICK.get(estimator.__name__, {})) for estimator in all_estimators()]
)
def test_estimator_follows_scikit_learn(estimator, check):
    """None fails, none is expected to."""
    check(estimator)


@pytest.fixture
def everyones_generator():
    """NumPy's global one, left as it was found."""
    generator = check_random_state(None)
    state = generator.get_state()
    yield generator
    generator.set_state(state)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", all_estimators(), ids=lambda e: e.__name__)
def test_global_random_state_is_neither_used_nor_touched(estimator, everyones_generator):
    X, labels = make_classification(40, n_features=4, random_state=0)
    y = labels if is_classifier(estimator()) else X[:, 0] + np.sin(3 * X[:, 1])
    outputs = []
    for seed in (1, 2):
        everyones_generator.seed(seed)
        drawn_next = everyones_generator.get_state()[1].copy()
        model = estimator()
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        model.fit(X, y)
        use = model.predict if hasattr(model, "predict") else model.transform
        outputs.append(use(X))
        _, words, position, *_ = everyones_generator.get_state()
        np.testing.assert_array_equal(words, drawn_next)
        assert position == 624  # as seeded: nothing was drawn
    np.testing.assert_array_equal(*outputs)
