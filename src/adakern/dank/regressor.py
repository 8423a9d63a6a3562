"""DANK in epsilon support vector regression."""

from numbers import Real

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from adakern._utils.arrays import answer_like, as_numpy, validate_arrays
from adakern._utils.base import Estimator
from adakern._utils.validation import finite_answer
from adakern.dank.base import DANKMixin, shares_parameters
from adakern.kernels import check_square

__all__ = ["DANKRegressor"]


@shares_parameters
class DANKRegressor(DANKMixin, RegressorMixin, Estimator):
    """Epsilon support vector regression with a data-adaptive nonparametric kernel.

    The Gram matrix K of a support vector regression is replaced by F∘K, where the
    positive semidefinite matrix F is learned with the machine: the saddle point of
    ``y'd - epsilon |d|_1 - 1/2 d'(F∘K)d + eta ||F - 11'||_F^2 + tau eta ||F||_*``
    [1]_, solved to a certified duality gap. The dual of a regression with an intercept
    has the constraint 1'd = 0; y'd = 0, as printed in the papers (problem 22), is a
    slip.

    Parameters
    ----------
    <Parameters of DANKMixin>
    epsilon : float, default=0.1
        Half width of the tube without loss, not negative, in units of y.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients d of the decision function.
    intercept_ : ndarray of shape (1,)
    <Attributes of DANKMixin>

    Raises
    ------
    ValueError
        If a parameter is out of range, the data are not finite or the
        kernel is not positive semidefinite.
    MemoryError
        If the Gram matrix of the strategy "exact" does not fit.

    References
    ----------
    .. [1] Liu, F., Huang, X., Gong, C., Yang, J. and Li, L. Learning data-adaptive
       non-parametric kernels. Journal of Machine Learning Research 21, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.dank import DANKRegressor
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = DANKRegressor(C=10.0, epsilon=0.01).fit(X, np.sin(X[:, 0]))
    >>> model.score(X, np.sin(X[:, 0])) > 0.99
    True
    """

    _parameter_constraints = {
        **DANKMixin._parameter_constraints,
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, C=1.0, *, epsilon=0.1, **shared):
        super().__init__(C, **shared)
        self.epsilon = epsilon

    def fit(self, X, y):
        """Fit the regression; see the class for the parameters.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Training rows; the (n, n) Gram matrix when ``kernel="precomputed"``.
        y : array-like of shape (n,)
            Targets.

        Returns
        -------
        self
        """
        self._validate_params()
        X, y = validate_arrays(self, X, y, y_numeric=True)
        X = self._own_arrays(X)
        if self.kernel == "precomputed":
            check_square(X)
        self._resolve_kernel(X)
        self.machine_ = self._fit_machine(X, y)
        self.support_ = np.flatnonzero(self.machine_.dual_coef)
        self.dual_coef_ = self.machine_.dual_coef[None, self.support_]
        self.intercept_ = np.array([self.machine_.intercept])
        self._publish([self.machine_])
        return self

    def predict(self, X):
        """Predicted targets of the rows of X, shape (n,).

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows; kernel values against the training rows where it is precomputed.
        """
        check_is_fitted(self, "machine_")
        X = validate_arrays(self, X)
        answer = self.machine_.decision_function(self._own_arrays(X))
        return answer_like(finite_answer(self, as_numpy(answer)), X)

    def _machines(self):
        return [self.machine_]
