import numpy as np
import pytest
from sklearn.datasets import load_wine, make_blobs
from sklearn.svm import SVC, SVR

from adakern.baselines import ClusterwiseClassifier, LogDetKernel


def test_one_cluster_equals_the_classifier():
    X, y = load_wine(return_X_y=True)
    model = ClusterwiseClassifier(SVC(C=2.0), n_clusters=1).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), SVC(C=2.0).fit(X, y).predict(X))


def test_prediction_uses_the_nearest_cluster():
    X, clusters = make_blobs(90, centers=[[0, 0], [50, 0], [0, 50]], random_state=0)
    y = np.where(clusters == 2, "only", np.where(X[:, 1] > 0, "up", "down"))
    model = ClusterwiseClassifier(LogDetKernel(C=100, random_state=0), n_clusters=3)
    model.fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.predict([[0.5, 49.0]]) == "only"


def test_more_clusters_than_distinct_rows():
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    y = np.repeat([0, 1], 5)
    np.testing.assert_array_equal(ClusterwiseClassifier().fit(X, y).predict(X), y)


def test_regressor_raises():
    with pytest.raises(ValueError, match=r"must be a classifier, got SVR\(\)"):
        ClusterwiseClassifier(SVR()).fit([[0.0], [1.0]], [0, 1])


def test_random_state_of_copies():
    X, y = make_blobs(60, centers=[[0, 0], [50, 0]], cluster_std=3.0, random_state=0)
    y = X[:, 1] > 0
    seeds = []
    for seed in (0, 0, 1):
        model = ClusterwiseClassifier(
            LogDetKernel(), n_clusters=2, random_state=seed
        ).fit(X, y)
        seeds.append([copy.random_state for copy in model.estimators_])
    assert seeds[0] == seeds[1]
    assert len({*seeds[0], *seeds[2]}) == 4
