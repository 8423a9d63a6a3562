"""The adaptive regressor."""

from numbers import Real

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils._param_validation import Interval, validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from adakern._utils.arrays import answer_like, computing_where, from_foreign
from adakern.adaptive.base import AdaptiveKernel
from adakern.adaptive.intervals import cv_plus
from adakern.adaptive.weights import squared_error_weights, without_outlying

__all__ = ["AdaptiveKernelRegressor"]

#: Evidence, in rows, that the members are as good as they seem one by one.
PRIOR_ROWS = 30.0


class AdaptiveKernelRegressor(RegressorMixin, AdaptiveKernel):
    """Regression for those who bring a table and do not want to choose.

    Kernel ridge regressions with three profiles, each with one scale for all features
    and with one per feature, a linear model, forests and boosting are fitted in every
    fold on the other folds' rows. Everything is chosen there: scales and ridge by the
    closed-form leave-one-out error, how columns are scaled and words encoded. What the
    members predict for the rows left out decides how much each counts. The prediction
    is their weighted mean, of kernel and linear members refitted on all rows and of the
    mean of the folds' trees.

    Parameters
    ----------
    n_folds : int, default=5
        At least 2; as many as there are different rows if those are fewer.
    max_support : int, default=3000
        Centres of the kernel members where rows exceed three times as many (the Nyström
        form); a warning then says so. Rows times centres are never stored. Scales,
        centres and the encoding of columns are learned once on such tables, not in
        every fold.
    members : "auto" or list of str, default="auto"
        Names from ``adakern.adaptive.MEMBERS``; "auto" takes all. On more rows than
        three times ``max_support``, and than 8,000, a race on 8,000 of them decides
        which learn from all: those without which the loss would be more than 0.2 %
        greater, and trees that so many more rows may bring up to the others.
    time_limit : float or None, default=None
        Seconds for ``fit``; members that would exceed it are left out, with a warning.
    n_jobs : int or None, default=None
        Folds fitted at the same time; -1 for all processors.
    verbose : int, default=0
        Above 0, a line for each member.
    random_state : int, RandomState instance or None, default=None
        Draws folds, forests and subsamples.

    Attributes
    ----------
    members_ : list of Member
        Name, weight, out-of-fold R² and seconds of each; prints as a table. Those
        that a race left behind come last, with their score there and an even share
        of its time.
    weights_ : dict
        Weight of each member by name.
    oof_prediction_ : ndarray of shape (n,)
        For each training row the prediction without it; NaN for weight zero.
    oof_score_ : float
        R² of these.
    feature_importances_ : ndarray of shape (d,)
    equal_rows_ : EqualRows
        What targets of equal training rows say; ``prior_rows_`` is infinite if nothing.
    fold_models_ : list
        What was learned in each fold.
    refit_ : object
        The members refitted on all rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had names of type str.

    See Also
    --------
    LABRBFRegressor : Locally adaptive bandwidths.

    Notes
    -----
    A numeric column is standardised with its tails bent to a logarithm; words become
    indicators; gaps take the median with an indicator of their own. Equal rows are
    never on both sides of a fold, and count as one row of their summed weight; where
    their targets agree, a new row that equals them gets these instead of the blend. No
    member predicts farther beyond the range of the training targets than half of it.

    Examples
    --------
    >>> import numpy as np
    >>> from adakern import AdaptiveKernelRegressor
    >>> X = np.linspace(0, 3, 60)[:, None]
    >>> model = AdaptiveKernelRegressor(members=["rbf", "linear"], random_state=0)
    >>> model = model.fit(X, np.sin(2 * X[:, 0]))
    >>> model.predict([[0.5]]).round(2)
    array([0.84])
    >>> low, high = model.predict_interval([[0.5]], coverage=0.9)[0]
    >>> bool(low <= model.predict([[0.5]])[0] <= high)
    True
    """

    _classifies = False

    def fit(self, X, y, sample_weight=None):
        """Learn from a table.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Numbers, words and gaps (None, NaN). On PyTorch tensors the kernel members
            compute in PyTorch, on their device; all else is NumPy's. Answers are of the
            kind of the rows that are asked about.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), default=None
            A weight of 2 is a repeated row, a weight of 0 none.

        Returns
        -------
        self
        """
        self._validate_params()
        rows, y = self._validated(X, y, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        # A power of two changes no digit, and lets targets of 1e300 be squared.
        _, exponent = np.frexp(np.abs(y).max())
        self._unit = float(np.ldexp(1.0, int(exponent)))
        y = y / self._unit
        with computing_where(X):
            self._fit(rows, y, from_foreign(sample_weight))
        self.oof_prediction_ = self.oof_prediction_ * self._unit
        return self

    def _targets(self, y):
        return y[:, None]

    def _weigh(self, table, y):
        self.intercept_ = float(np.average(y, weights=table.weights))
        predictions = np.array([oof[:, 0] for oof in self._oof.values()])
        scores = [r2_score(y, p, sample_weight=table.weights) for p in predictions]
        weights = np.empty(0)
        if len(predictions):
            weights = squared_error_weights(
                predictions, y, table.weights, prior=PRIOR_ROWS
            )
        self._set_members(weights, scores)
        self._merged_oof = oof = self._blended(self._oof, y)
        self._residuals = np.abs(y - self._blended(self._of_folds, y))
        self._fold_of_row = table.fold
        self.oof_score_ = (
            float(r2_score(y, oof, sample_weight=table.weights))
            if len(y) > 1
            else np.nan
        )

    def _judged(self, models, values, Y, weights):
        """The loss of a blend of some members, and the R² of each."""
        y, predictions = Y[:, 0], values[:, :, 0]
        errors = without_outlying(np.sqrt(weights) * (predictions - y))

        def loss_of(members):
            some = errors[members]
            blend = squared_error_weights(some, np.zeros_like(y), prior=PRIOR_ROWS)
            return np.mean((blend @ some) ** 2)

        return loss_of, [r2_score(y, p, sample_weight=weights) for p in predictions]

    def _keep(self, table, y, position, rng):
        super()._keep(table, y, position, rng)
        used = position >= 0
        self.oof_prediction_ = np.full(len(position), np.nan)
        self.oof_prediction_[used] = self._merged_oof[position[used]]
        self._residuals = self._residuals[position[used]]
        self._fold_of_row = self._fold_of_row[position[used]]
        del self._merged_oof, self._position

    def _losses(self, predicted, y):
        return (predicted - y) ** 2

    def _fold_prediction(self, fold, X):
        """What the members of one fold predict together, in units of the fit."""
        return self._blended({name: fold.predict(name, X) for name in fold.models}, X)

    def _blended(self, values, X):
        """Weighted mean of members' values (n, 1); the training mean of none."""
        total = np.zeros(len(X))
        for name, value in values.items():
            total += self.weights_[name] * value[:, 0]
        return total if values else total + self.intercept_

    def predict(self, X):
        """Predictions of shape (n,) for the rows X (n, d).

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        """
        read = self._read(X)
        with computing_where(X):
            values = {name: self._scores(name, read) for name in self._used}
        predicted = self._adjusted(read, self._blended(values, read))
        return answer_like(predicted * self._unit, X)

    def _adjusted(self, read, predicted):
        return self.equal_rows_.adjust(read, predicted[:, None])[:, 0]

    def predict_interval(self, X, coverage=0.9):
        """Intervals that hold new targets with a given probability.

        By CV+: see :func:`adakern.adaptive.intervals.cv_plus`.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        coverage : float, default=0.9
            Between 0 and 1.

        Returns
        -------
        ndarray of shape (n, 2)
            Lower and upper bounds, infinite where there were fewer than about
            ``1 / (1 - coverage)`` training rows.
        """
        check_is_fitted(self)
        validate_parameter_constraints(
            {"coverage": [Interval(Real, 0, 1, closed="neither")]},
            {"coverage": coverage},
            caller_name="predict_interval",
        )
        read = self._read(X)
        with computing_where(X):
            predictions = np.array(
                [
                    self._adjusted(read, self._fold_prediction(fold, read))
                    for fold in self.fold_models_
                ]
            )
        bounds = cv_plus(predictions, self._residuals, self._fold_of_row, coverage)
        return answer_like(bounds * self._unit, X)
