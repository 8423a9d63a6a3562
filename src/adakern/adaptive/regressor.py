"""The adaptive regressor."""

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from adakern._utils.arrays import output_like
from adakern.adaptive.base import AdaptiveKernel, check_levels
from adakern.adaptive.blend import WeightedMean, mean_of_known, scores_by_target
from adakern.adaptive.intervals import ErrorModel, fit_error_model
from adakern.adaptive.many_rows import in_blocks
from adakern.adaptive.views import TreeView


class AdaptiveKernelRegressor(MultiOutputMixin, RegressorMixin, AdaptiveKernel):
    """Regression for those who bring a table and do not want to choose.

    Kernel ridge regressions with three profiles and a scale for each feature, one with
    a single scale, a linear model, extremely randomised trees and boosting are fitted
    in every fold on the other folds' rows. Scales and ridge have the least leave-one-
    out error there, in closed form, or scales per feature of less than 300 rows the
    greatest evidence (the marginal likelihood of a Gaussian process); how columns are
    scaled and categories encoded, which no target decides, is learned from all rows.
    What the members predict for the rows left out decides how much each counts. The
    prediction is their weighted mean, of kernel and linear members refitted on all rows
    and of the mean of the folds' trees.

    Parameters
    ----------
    n_folds : int, default=5
        At least 2; as many as there are different rows if those are fewer.
    max_support : int, default=3000
        Most centres of the kernel members where rows exceed three times as many (the
        Nyström form; a warning then says so): five for each effective degree of
        freedom. Rows times centres are never stored. Models of cells of a thousand near
        rows are added where they help. Scales and centres are then those of all rows in
        every fold.
    max_rows : int, default=200_000
        Most rows that are learned from, drawn at random. The coefficients of kernel
        members on centres come from all rows, block by block, so that X need not be in
        memory.
    members : "auto" or list of str, default="auto"
        Names from ``adakern.adaptive.MEMBERS``; "auto" takes those that suit the
        table (five to seven of less than 300 rows), of many rows those without which
        the loss would be more than 0.2 % greater: on 300 to 2,000 rows (up to 5,000
        where there are less than 100 a column; without ``time_limit``) by what kernel
        members predict, in closed form, for rows left out, on more rows than three
        times ``max_support``, and than 8,000, by a screening on 8,000 of them. Trees
        that so many more rows may bring up to the others are tried in one fold.
    preset : {"best", "fast"}, default="best"
        "fast" has the members that matter most, in about a quarter of the time.
    categorical_features : array-like of str, int or bool, default=None
        Columns of numbers that are codes of categories. Columns of strings that are
        neither numbers nor dates, and of a data frame's categorical type, are
        categorical anyway.
    time_limit : float or None, default=None
        Seconds for ``fit``, about: members that would exceed it are left out, with a
        warning, but never the cheapest one.
    n_jobs : int or None, default=None
        Folds fitted at the same time; -1 for all processors.
    verbose : int, default=0
        Above 0, a line for each member, with the time of those to come, and the table
        of them.
    random_state : int, RandomState instance or None, default=None
        Draws folds, forests and subsamples.

    Attributes
    ----------
    members_ : list of Member
        Name, weight, out-of-fold R² and seconds of each; prints as a table. Those that
        were dropped come last, their scores in brackets. A kernel named
        ``-ard`` has one scale for each feature (automatic relevance determination).
    weights_ : dict
        Weight of each member by name, of several targets the mean.
    targets_ : ndarray of shape (n_targets,)
        Names of the columns of y where these are strings, else numbers from 0.
    n_outputs_ : int
        Number of targets.
    oof_prediction_ : ndarray of shape (n,) or (n, n_targets)
        For each training row the prediction without it, by weights found without its
        fold (from 10 to 5,000 rows); NaN for weight zero and for rows beyond
        ``max_rows``.
    oof_score_ : float
        R² of these, of several targets the mean.
    oof_scores_ : ndarray of shape (n_targets,)
        R² of each target.
    oof_covered_ : ndarray of shape (n,) or (n, n_targets)
        1 where the interval of coverage 0.9 by models without the row contains its
        target, else 0; NaN as in ``oof_prediction_``, and where the target is missing.
    constant_score_ : float
        What the mean alone would reach.
    feature_importances_ : ndarray of shape (d,)
    equal_rows_ : EqualRows
        What targets of equal training rows say; ``prior_rows_`` is infinite if nothing.
    ensemble_ : Ensemble
        The members that count, with their models of each fold and of all rows.
    record_ : dict
        ``defaults_version``, which rises whenever the defaults lead to other models.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had names of type str.

    See Also
    --------
    LABRBFRegressor : Locally adaptive bandwidths.

    Notes
    -----
    A numeric column is standardised with its tails bent to a logarithm; categories
    become indicators, dates elapsed time, year, season and weekday, texts of several
    words up to 60 singular vectors of the frequencies of pieces of words; missing
    values take the median with an indicator of their own. A row entered again is never
    on both sides of a fold and counts once, but where there are ten rows or more with
    the same features they are dealt out over the folds. Where targets of equal rows
    agree, and tell more than the blend by twice the standard error, a new row that
    equals them gets these. No member predicts farther beyond the range of the training
    targets than half of it, nor beyond zero where all of them have one sign; bounds of
    intervals and quantiles have that sign too, so that an interval contains its
    prediction. The blend's out-of-fold loss is never greater than its best member's.

    Several targets share folds, scales and, but for boosting, which has a model for
    each of up to four, the models: scales and forests have the least mean loss over the
    targets in units of their spread. Each has its own weights of the members and
    intervals. Where cells of y are missing, targets known in the same rows are learned
    together, from these rows.

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
                "y holds no numbers; for labels use AdaptiveKernelClassifier"
            )
        # A power of two changes no digit, and lets targets of 1e300 be squared.
        _, exponent = np.frexp(np.nanmax(np.abs(y.reshape(len(y), -1)), axis=0))
        return WeightedMean(unit=np.ldexp(1.0, np.minimum(exponent, 1023)))

    def _set_out_of_fold(self, problem, blend, predicted, of_folds):
        table = problem.table.left_out
        self._error_view = TreeView(problem.reader.is_categorical).fit(table.X)
        self._errors = fit_error_model(
            self._error_view.transform(table.X),
            of_folds,
            table.Y - of_folds,
            table.weights,
            table.fold if table.in_time_order else None,
        )
        self.oof_scores_ = scores_by_target(predicted, table)
        self.n_outputs_ = len(self.oof_scores_)
        self.oof_score_ = mean_of_known(self.oof_scores_)
        self.constant_score_ = 0.0
        # Of targets of one sign no bound has the other. Those that are never left out
        # count as well: with y_val, all of y.
        seen = problem.table.Y
        self._limits = (
            np.where(np.nanmin(seen, axis=0) >= 0, 0.0, -np.inf)[:, None],
            np.where(np.nanmax(seen, axis=0) <= 0, 0.0, np.inf)[:, None],
        )
        surprise = np.abs(self._errors.errors)
        return surprise if self.n_outputs_ > 1 else surprise[:, 0]

    @in_blocks
    def predict(self, X):
        """Predictions of shape (n,), or (n, n_targets), for the rows X (n, d).

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        """
        _, predicted = self._predicted(X)
        return output_like(self.ensemble_.blend.decode(predicted), X)

    @in_blocks
    def predict_interval(self, X, coverage=0.9):
        """Intervals that contain ``coverage`` of new targets, wider where errors are
        larger.

        Half the width is a quantile of the errors of out-of-fold predictions, each
        divided by how large errors near its row are, times how large they are near the
        new row. There is no guarantee, since the same rows decided other things: the
        coverage is empirical. On 23 development tables of 60, 200 and 400 rows 0.9 held
        0.90 of the new targets on average, and 0.69 to 0.99 on single
        tables. Where all targets have one sign, bounds have it too.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        coverage : float, default=0.9
            Between 0 and 1.

        Returns
        -------
        ndarray of shape (n, 2) or (n, n_targets, 2)
            Lower and upper bounds, infinite where there were fewer than about
            ``1 / (1 - coverage)`` training rows.
        """
        check_levels("coverage", coverage)
        return self._around(X, ErrorModel.interval, coverage)

    @in_blocks
    def predict_quantiles(self, X, quantiles=(0.1, 0.5, 0.9)):
        """Quantiles of the target, from the same errors as intervals.

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
        """What an error model says around the predictions, in units of the target."""
        read, predicted = self._predicted(X)
        seen = self._error_view.transform(read)
        bounds = bounds_of(self._errors, seen, predicted, level)
        units = np.reshape(self.ensemble_.blend.unit, (-1, 1))
        found = np.clip(bounds, *self._limits) * units
        return output_like(found[:, 0] if len(units) == 1 else found, X)
