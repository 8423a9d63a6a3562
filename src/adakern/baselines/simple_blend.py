"""The simple blend, a baseline: a stack of kernel ridge regressions and forests."""

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn import ensemble
from sklearn.base import ClassifierMixin
from sklearn.metrics import mean_squared_error
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from adakern._utils.arrays import encode_classes
from adakern._utils.base import parameters
from adakern._utils.constraints import AT_LEAST_ONE, constraints
from adakern.baselines.base import Baseline, BaselineRegressor
from adakern.baselines.loo_ridge import (
    LOOKernelRidgeClassifier,
    LOOKernelRidgeRegressor,
)

KERNELS = ("laplacian", "l2-laplacian", "rbf")
FORESTS = {"min_samples_leaf": 2, "bootstrap": True, "oob_score": True}
STEPS = 25

#: Maximum number of random training rows for the kernel members.
MAX_KERNEL_ROWS = 10_000

#: Lower bound of probabilities, so that a single row does not decide the weights.
SMALLEST_PROBABILITY = 1e-6


def greedy_weights(predictions, loss, steps=STEPS):
    """Weights of members by greedy ensemble selection, multiples of 1 / ``steps``.

    Each step adds the member that lowers the loss of the out-of-sample predictions most
    (Caruana et al., ICML 2004).

    >>> import numpy as np
    >>> from adakern.baselines.simple_blend import greedy_weights
    >>> members = [np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([3.0, 3.0])]
    >>> greedy_weights(members, lambda f: ((f - 0.5) ** 2).sum(), steps=4)
    array([0.5, 0.5, 0. ])
    """
    counts = np.zeros(len(predictions))
    total = np.zeros_like(predictions[0])
    for step in range(1, steps + 1):
        losses = [loss((total + member) / step) for member in predictions]
        best = int(np.argmin(losses))
        counts[best] += 1
        total = total + predictions[best]
    return counts / steps


def _log_loss(probabilities, codes):
    chosen = probabilities[np.arange(len(codes)), codes]
    return -np.log(np.maximum(chosen, SMALLEST_PROBABILITY)).mean()


@parameters
class _SimpleBlend:
    """Base class of the regressor and the classifier."""

    _: KW_ONLY
    n_estimators: int = 300
    n_jobs: int | None = None
    random_state: Any = None

    _parameter_constraints = constraints(
        "n_jobs", "random_state", n_estimators=AT_LEAST_ONE
    )

    def _fit(self, X, y):
        """Fit the members and their weights."""
        y = self._encoded(y)
        n = len(X)
        rng = check_random_state(self.random_state)
        self._scaler = StandardScaler().fit(X)
        seeds = iter(rng.randint(2**31, size=len(KERNELS) + len(self._forests)))
        rows = np.arange(n)
        if n > MAX_KERNEL_ROWS:
            rows = np.sort(rng.choice(n, MAX_KERNEL_ROWS, replace=False))
        Z = self._scaler.transform(X)
        self.members_ = {}
        left_out = []
        for kernel in KERNELS:
            ridge = self._ridge(kernel, random_state=next(seeds)).fit(Z[rows], y[rows])
            self.members_[f"kernel ridge, {kernel}"] = ridge
            left_out.append(self._complete(ridge, getattr(ridge, self._leave_one_out)))
        for forest in self._forests:
            trees = forest(
                self.n_estimators,
                n_jobs=self.n_jobs,
                random_state=next(seeds),
                **FORESTS,
            ).fit(Z, y)
            self.members_[forest.__name__] = trees
            left_out.append(
                self._complete(trees, getattr(trees, self._out_of_bag)[rows])
            )
        weights = greedy_weights(left_out, lambda f: self._loss(f, y[rows]))
        self.weights_ = dict(zip(self.members_, weights.tolist(), strict=True))

    def _blend(self, method, X):
        """Weighted mean of the output of a method of the members."""
        Z = self._scaler.transform(X)
        pairs = zip(self.members_.values(), self.weights_.values(), strict=True)
        return sum(
            weight * self._complete(member, getattr(member, method)(Z))
            for member, weight in pairs
            if weight
        )


class SimpleBlendRegressor(_SimpleBlend, BaselineRegressor):
    """Blend of three kernel ridge regressions, a random forest and extra trees.

    The scale and ridge of the kernel members (L1 and L2 Laplacian, Gaussian) are chosen
    by leave-one-out error; the weights are chosen greedily on the leave-one-out and
    out-of-bag predictions.

    Parameters
    ----------
    n_estimators : int, default=300
        Number of trees of each forest.
    n_jobs : int or None, default=None
        Number of threads of the forests.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    members_ : dict of str to estimator
    weights_ : dict of str to float
        Sum to 1.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from adakern.baselines import SimpleBlendRegressor
    >>> X, y = make_friedman1(100, random_state=0)
    >>> model = SimpleBlendRegressor(random_state=0).fit(X, y)
    >>> model.score(*make_friedman1(random_state=1)) > 0.8
    True
    """

    _ridge = LOOKernelRidgeRegressor
    _forests = ensemble.RandomForestRegressor, ensemble.ExtraTreesRegressor
    _leave_one_out, _out_of_bag = "loo_prediction_", "oob_prediction_"
    _loss = staticmethod(mean_squared_error)

    def _encoded(self, y):
        return y

    def _complete(self, member, prediction):
        return prediction

    def _values(self, X):
        return self._blend("predict", X)


class _RidgeOnCodes(LOOKernelRidgeClassifier):
    """Probabilities from scores, by a temperature fitted to leave-one-out scores."""

    def _fit(self, X, y):
        super()._fit(X, y)
        codes = np.searchsorted(self.classes_, y)

        def loss(t):
            return _log_loss(softmax(np.exp(t) * self.loo_prediction_, 1), codes)

        self.sharpness_ = np.exp(
            minimize_scalar(loss, bounds=(-2.0, 5.0), method="bounded").x
        )
        self.loo_probabilities_ = softmax(
            self.sharpness_ * self.loo_prediction_, axis=1
        )

    def predict_proba(self, X):
        return softmax(self.sharpness_ * self._values(X), axis=1)


class SimpleBlendClassifier(_SimpleBlend, ClassifierMixin, Baseline):
    """Blend of three kernel ridge classifiers and two forests.

    Like :class:`SimpleBlendRegressor`, but with the log loss. The scores of kernel
    members are converted to probabilities by a softmax whose temperature minimises the
    log loss of the leave-one-out scores.

    Parameters
    ----------
    n_estimators, n_jobs, random_state
        As in :class:`SimpleBlendRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    members_ : dict of str to estimator
    weights_ : dict of str to float
        Sum to 1.
    """

    _ridge = _RidgeOnCodes
    _forests = ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier
    _leave_one_out, _out_of_bag = "loo_probabilities_", "oob_decision_function_"
    _loss = staticmethod(_log_loss)

    def _encoded(self, y):
        self.classes_, codes = encode_classes(self, y)
        return codes

    def _complete(self, member, probabilities):
        """Probabilities with a column for every class, including unseen ones."""
        complete = np.zeros((len(probabilities), len(self.classes_)))
        complete[:, member.classes_] = np.nan_to_num(probabilities)
        return complete

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like of shape (m, d)
        """
        return self._blend("predict_proba", self._rows(X))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the most probable classes.

        Parameters
        ----------
        X : array-like of shape (m, d)
        """
        chosen = self.predict_proba(X).argmax(axis=1)  # raises NotFittedError
        return self.classes_[chosen]
