"""What holds for every estimator: scikit-learn's own checks and determinism."""

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_wine, make_classification
from sklearn.preprocessing import minmax_scale
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import parametrize_with_checks

from adakern._utils import memory
from adakern.baselines import BayesianMKLClassifier, KernelSVC, KernelSVR
from adakern.kernels import gram_matrix
from adakern.knpl import KNPLClassifier
from discovery import all_estimators

#: Smaller forests, since each check fits them anew.
QUICK = {name: {"n_estimators": 20} for name in ("SimpleBlendClassifier", "SimpleBlendRegressor")}


@parametrize_with_checks([e(**QUICK.get(e.__name__, {})) for e in all_estimators()])
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


@pytest.mark.parametrize("model", [KernelSVC(), KernelSVR(), KNPLClassifier(reg=20.0)])
def test_a_precomputed_kernel_gives_the_same_model(model):
    X, y = load_wine(return_X_y=True)
    X = minmax_scale(X)
    expected = model.set_params(gamma=0.5).fit(X[::2], y[::2]).predict(X[1::2])
    model.set_params(kernel="precomputed").fit(gram_matrix(X[::2], gamma=0.5), y[::2])
    found = model.predict(gram_matrix(X[1::2], X[::2], gamma=0.5))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("model", [KNPLClassifier(), BayesianMKLClassifier()])
def test_too_little_memory_names_the_way_out(model, monkeypatch):
    X, y = make_classification(50, random_state=0)
    monkeypatch.setattr(memory, "_physical_memory", lambda: 8 * 50**2)
    with pytest.raises(MemoryError, match="ClusterwiseClassifier"):
        model.fit(X, y)
