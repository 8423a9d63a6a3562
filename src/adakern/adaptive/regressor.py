"""The adaptive regressor."""

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from adakern._utils.arrays import output_like
from adakern.adaptive.base import AdaptiveKernel, check_levels
from adakern.adaptive.blend import WeightedMean, mean_of_known, scores_by_target
from adakern.adaptive.intervals import ErrorModel, covered, fit_error_model, with_blocks
from adakern.adaptive.many_rows import in_blocks
from adakern.adaptive.views import TreeView


class AdaptiveKernelRegressor(MultiOutputMixin, RegressorMixin, AdaptiveKernel):
    """Regression on tabular data by a weighted blend that needs no tuning.

    The members of the blend are kernel ridge regressions with three kernels and a
    length scale per feature, one with a single length scale, a linear model, extremely
    randomised trees and gradient boosting. Each member is fitted by cross-validation.
    Length scales and ridge of a kernel member minimise the closed-form leave-one-out
    error on the training rows of the fold; below 300 rows, length scales per feature
    maximise the marginal likelihood of a Gaussian process instead. Preprocessing does
    not use the targets and is fitted once, on all rows. The weights of the members are
    those of the best convex combination of the out-of-fold predictions. Kernel and
    linear members are then refitted on all rows; of trees, the mean over the folds is
    used.

    Parameters
    ----------
    n_folds : int, default=5
        Number of cross-validation folds, at least 2. If there are fewer distinct rows,
        their number is used.
    max_support : int, default=3000
        Maximum number of Nyström centres of a kernel member, used when
        ``n > 3 * max_support`` (with a warning). The number of centres is five times
        the effective degrees of freedom, up to this maximum. Scales and centres are
        then chosen once, on all rows, and local models of up to a thousand neighbouring
        rows are added if they reduce the error. The matrix of rows by centres is never
        stored.
    max_rows : int, default=200_000
        Maximum number of rows used for fitting; if there are more, a random subsample
        is drawn. The coefficients of Nyström members are nevertheless computed from all
        rows, block by block, so X may be larger than memory.
    members : "auto" or list of str, default="auto"
        Names from ``adakern.adaptive.MEMBERS``. "auto" selects members that suit the
        size of the table (five to seven below 300 rows). On larger tables, members that
        improve the loss by less than 0.2 % are dropped before they are fitted in all
        folds: from 300 to 2,000 rows (5,000 if there are fewer than 100 rows per
        column; only without ``time_limit``) by closed-form leave-one-out predictions of
        the kernel members, above ``max(3 * max_support, 8000)`` rows by screening on a
        subsample of 8,000 rows.
    preset : {"best", "fast"}, default="best"
        "fast" fits only the most important members, in about a quarter of the time.
    categorical_features : array-like of str, int or bool, default=None
        Numeric columns to treat as categorical, given by name, index or mask. String
        columns that hold neither numbers nor dates, and columns of pandas' categorical
        type, are always treated as categorical.
    time_limit : float or None, default=None
        Approximate time limit of ``fit`` in seconds. Members expected to exceed it are
        left out with a warning; the cheapest member is always fitted.
    n_jobs : int or None, default=None
        Number of folds fitted in parallel; -1 means all processors.
    verbose : int, default=0
        If positive, print one line per member, with the estimated remaining time, and
        the table of members at the end.
    random_state : int, RandomState instance or None, default=None
        Controls the folds, the trees and the subsamples. Pass an int for reproducible
        results.

    Attributes
    ----------
    members_ : list of Member
        Name, weight, out-of-fold R² and fit time in seconds of each member; prints as
        a table. Dropped members come last, with their scores in brackets. The suffix
        ``-ard`` (automatic relevance determination) marks kernels with one length scale
        per feature.
    weights_ : dict
        Weight of each member by name; for several targets, the mean over the targets.
    targets_ : ndarray of shape (n_targets,)
        Column names of y if they are strings, otherwise 0, 1, ...
    n_outputs_ : int
        Number of targets.
    oof_prediction_ : ndarray of shape (n,) or (n, n_targets)
        Out-of-fold predictions of the training rows. From 10 to 5,000 rows the weights
        of the blend are nested, that is, found without the fold of the row. NaN for
        rows of zero weight and for rows not drawn because of ``max_rows``.
    oof_score_ : float
        R² of the out-of-fold predictions; for several targets, the mean.
    oof_scores_ : ndarray of shape (n_targets,)
        R² of the out-of-fold predictions of each target.
    oof_covered_ : ndarray of shape (n,) or (n, n_targets)
        1 if the out-of-fold prediction interval with coverage 0.9 contains the target,
        otherwise 0; NaN as in ``oof_prediction_`` and for missing targets.
    constant_score_ : float
        R² of predicting the mean, which is 0.
    feature_importances_ : ndarray of shape (d,)
        Permutation importances on left-out rows, normalised to sum to one.
    equal_rows_ : EqualRows
        Model of the targets of repeated rows; ``prior_rows_`` is infinite if repeated
        rows do not improve predictions.
    ensemble_ : Ensemble
        Members with a positive weight, with their models of each fold and of all rows.
    record_ : dict
        ``defaults_version``, increased whenever a change of the defaults changes the
        fitted models.
    columns_ : AccountTable
        How each column was read and used.
    reader_ : TableReader
        Converts tables to numbers as in training.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features seen during fit. Defined only if X is a data frame whose
        column names are all strings.

    See Also
    --------
    LABRBFRegressor : Kernel regression with locally adaptive bandwidths.

    Notes
    -----
    **Preprocessing.** Numeric columns are standardised, with tails compressed
    logarithmically. Categories are one-hot encoded; dates become elapsed time, year,
    season and weekday; free text becomes up to 60 singular vectors of character n-gram
    frequencies, and a target encoding by a ridge regression on them. Missing values are
    replaced by the median and marked by an indicator.

    **Repeated rows.** Exact duplicates are kept in one fold and counted once. If ten or
    more rows share the same features, they are distributed over the folds. If the
    targets of equal rows predict better than the blend, by two standard errors, a new
    row that equals them is predicted by their mean.

    **Bounds.** No member extrapolates beyond the range of the training targets by more
    than half of that range, nor beyond zero if all targets have the same sign. Bounds
    of intervals and quantiles have that sign as well, so an interval contains its
    prediction. The out-of-fold loss of the blend never exceeds that of its best member.

    **Several targets** share the folds, the length scales and, except in boosting
    (which fits one model per target, for up to four targets), the models: length scales
    and trees minimise the mean loss over the standardised targets. Weights and
    intervals are found for each target. If y has missing values, targets that are known
    in the same rows are learned together, from these rows.

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

    def _unfitted_blend(self, y):
        if y.dtype.kind not in "biuf":
            raise ValueError(
                "y must be numeric; for labels use AdaptiveKernelClassifier"
            )
        # Scaling by a power of two is exact, and allows targets of 1e300 to be squared.
        _, exponent = np.frexp(np.nanmax(np.abs(y.reshape(len(y), -1)), axis=0))
        return WeightedMean(unit=np.ldexp(1.0, np.minimum(exponent, 1023)))

    def _set_out_of_fold(self, problem, blend, predicted, from_folds):
        table = problem.table.left_out
        self._error_view = TreeView(problem.reader.is_categorical).fit(table.X)
        self._errors = fit_error_model(
            self._error_view.transform(table.X),
            from_folds,
            table.Y - from_folds,
            table.weights,
        )
        if table.in_time_order:
            self._errors = with_blocks(self._errors, table.fold)
        (self.oof_scores_,) = scores_by_target([predicted], table)
        self.n_outputs_ = len(self.oof_scores_)
        self.oof_score_ = mean_of_known(self.oof_scores_)
        self.constant_score_ = 0.0
        # If all targets have the same sign, so do the bounds. This includes targets
        # that are never left out: with y_val, all of y.
        seen = problem.table.Y
        self._limits = (
            np.where(np.nanmin(seen, axis=0) >= 0, 0.0, -np.inf)[:, None],
            np.where(np.nanmax(seen, axis=0) <= 0, 0.0, np.inf)[:, None],
        )
        within = covered(np.abs(self._errors.errors), table.weights)
        return blend.decode(predicted), within if self.n_outputs_ > 1 else within[:, 0]

    @in_blocks
    def predict(self, X):
        """Predict the targets.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)

        Returns
        -------
        ndarray of shape (n,) or (n, n_targets)
        """
        _, predicted = self._predicted(X)
        return output_like(self.ensemble_.blend.decode(predicted), X)

    @in_blocks
    def predict_interval(self, X, coverage=0.9):
        """Predict intervals that contain a fraction ``coverage`` of new targets.

        Half the width is a quantile of the normalised out-of-fold errors, times the
        expected error at the new row. Normalised errors are absolute errors divided by
        the error that a forest expects at the row. Coverage is empirical, without a
        guarantee, because the same rows were used for other choices. On 23 development
        tables of 60, 200 and 400 rows, intervals of coverage 0.9 contained 0.90 of the
        new targets on average, and 0.69 to 0.99 on single tables. If all training
        targets have the same sign, so do the bounds.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        coverage : float, default=0.9
            Between 0 and 1.

        Returns
        -------
        ndarray of shape (n, 2) or (n, n_targets, 2)
            Lower and upper bounds; infinite if there are fewer than about
            ``1 / (1 - coverage)`` training rows.
        """
        check_levels("coverage", coverage)
        return self._around(X, ErrorModel.interval, coverage)

    @in_blocks
    def predict_quantiles(self, X, quantiles=(0.1, 0.5, 0.9)):
        """Predict quantiles of the target, from the same errors as the intervals.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        quantiles : sequence of float, default=(0.1, 0.5, 0.9)
            Between 0 and 1.

        Returns
        -------
        ndarray of shape (n, n_quantiles) or (n, n_targets, n_quantiles)
        """
        check_levels("quantiles", quantiles)
        return self._around(X, ErrorModel.quantiles, np.atleast_1d(quantiles))

    def _around(self, X, bounds_of, level):
        """Bounds or quantiles around the predictions, in units of the target."""
        read, predicted = self._predicted(X)
        seen = self._error_view.transform(read)
        bounds = bounds_of(self._errors, seen, predicted, level)
        units = np.reshape(self.ensemble_.blend.unit, (-1, 1))
        bounds = np.clip(bounds, *self._limits) * units
        return output_like(bounds[:, 0] if len(units) == 1 else bounds, X)
