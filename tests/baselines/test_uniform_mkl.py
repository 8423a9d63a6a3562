import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.svm import SVC, SVR

from adakern._utils import memory
from adakern.baselines import KernelBank, UniformMKLClassifier, UniformMKLRegressor


def random_rows(n=30, d=4, seed=0):
    return np.random.default_rng(seed).uniform(size=(n, d))


def test_bank_matches_scikit_learn_kernels():
    X, Y = random_rows(), random_rows(n=7, seed=1)
    bank = KernelBank(gammas=(0.1, 3.0), degrees=(1, 3))
    grams = bank.stack(X, Y)

    def normalised(degree):
        def poly(A, B):
            return polynomial_kernel(A, B, degree=degree, gamma=1, coef0=1)

        scale = np.sqrt(np.outer(np.diag(poly(X, X)), np.diag(poly(Y, Y))))
        return poly(X, Y) / scale

    np.testing.assert_allclose(grams[0], rbf_kernel(X, Y, gamma=0.1), atol=1e-12)
    np.testing.assert_allclose(grams[1], rbf_kernel(X, Y, gamma=3.0), atol=1e-12)
    np.testing.assert_allclose(grams[2], normalised(1), atol=1e-12)
    np.testing.assert_allclose(grams[3], normalised(3), atol=1e-12)


def test_every_kernel_of_a_bank_is_one_on_the_diagonal_and_psd():
    for K in KernelBank((0.5, 8.0), (1, 2)).grams(random_rows()):
        np.testing.assert_allclose(np.diag(K), 1)
        assert np.linalg.eigvalsh(K)[0] > -1e-10


def test_combine_is_the_weighted_sum_of_the_stack():
    X, bank = random_rows(), KernelBank((0.1, 1.0, 10.0), (2,))
    weights = np.array([0.2, 0.0, 0.5, 0.3])
    expected = np.einsum("m,mij->ij", weights, bank.stack(X))
    np.testing.assert_allclose(bank.combine(X, weights=weights), expected)


@pytest.mark.parametrize(
    ("gammas", "degrees", "named"),
    [((), (), "both empty"), ((-1.0,), (), "gammas"), ((1.0,), (0.5,), "degrees")],
)
def test_bank_names_the_wrong_parameter(gammas, degrees, named):
    with pytest.raises(ValueError, match=named):
        KernelBank(gammas, degrees)


def test_stack_names_the_way_out_of_too_little_memory(monkeypatch):
    monkeypatch.setattr(memory, "_physical_memory", lambda: 2 * 8 * 30**2 - 1)
    KernelBank((1.0,)).stack(random_rows())
    with pytest.raises(MemoryError, match="ClusterwiseClassifier"):
        KernelBank((1.0, 2.0)).stack(random_rows())


def test_classifier_equals_svc_on_the_mean_gram_matrix():
    X, y = load_wine(return_X_y=True)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    train, test = np.arange(0, 178, 2), np.arange(1, 178, 2)
    model = UniformMKLClassifier(C=2.0, degrees=(2,)).fit(X[train], y[train])

    def mean_gram(A, B):
        return np.mean(model.bank_.stack(A, B), axis=0)

    svc = SVC(kernel="precomputed", C=2.0, decision_function_shape="ovo")
    svc.fit(mean_gram(X[train], X[train]), y[train])
    K = mean_gram(X[test], X[train])
    np.testing.assert_array_equal(model.predict(X[test]), svc.predict(K))
    # SVC orders a pair the other way round: positive for the first class.
    np.testing.assert_allclose(-model._pair_decisions(X[test]), svc.decision_function(K), atol=5e-3)


def test_one_kernel_is_the_plain_model():
    X, y = load_iris(return_X_y=True)
    model = UniformMKLClassifier(C=3.0, gammas=[0.4]).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), SVC(C=3.0, gamma=0.4).fit(X, y).predict(X))
    target = X[:, 0] + np.sin(X[:, 2])
    regressor = UniformMKLRegressor(C=3.0, epsilon=0.05, gammas=[0.4]).fit(X, target)
    plain = SVR(C=3.0, epsilon=0.05, gamma=0.4).fit(X, target)
    np.testing.assert_allclose(regressor.predict(X), plain.predict(X), atol=1e-3)
