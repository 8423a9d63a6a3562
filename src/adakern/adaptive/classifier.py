"""The adaptive classifier."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import get_scorer
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from adakern._utils.arrays import output_like
from adakern._utils.base import parameters
from adakern.adaptive.base import AdaptiveKernel, check_levels
from adakern.adaptive.blend import Mixture, accuracies, log_loss
from adakern.adaptive.intervals import conformal_quantile, covered
from adakern.adaptive.many_rows import in_blocks
from adakern.adaptive.members.base import FEW_ROWS

#: Metrics by which a threshold can be chosen.
THRESHOLD_METRICS = {
    "accuracy",
    "balanced_accuracy",
    "f1",
    "jaccard",
    "matthews_corrcoef",
}


@parameters
class AdaptiveKernelClassifier(ClassifierMixin, AdaptiveKernel):
    """Classification of tabular data by a weighted blend that needs no tuning.

    The members of the blend are those of :class:`AdaptiveKernelRegressor`: kernel ridge
    regressions on class indicators (from 300 to 4,000 rows also with a single length
    scale for each kernel), logistic regression, support vector machines (from 300 to
    4,000 rows, and from 9,000 to 25,000 rows if no two classes together have more than
    9,000), random forests, gradient boosting (from 300 rows on) and, below 300 rows of
    numbers, regularised discriminant analysis. Each is fitted by cross-validation. On
    the out-of-fold scores, each member is calibrated (by its slope alone below 300
    rows), the weights of the mixture maximise its likelihood, and the mixture is
    calibrated. Kernel members, linear members, support vector machines and discriminant
    analysis are then refitted on all rows; of trees, the mean over the folds is used.

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
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; they multiply ``sample_weight``.
    threshold : {"balanced", "accuracy", "balanced_accuracy", "f1", "jaccard", \
            "matthews_corrcoef"} or None, default=None
        For two classes, the metric that the decision threshold of ``predict`` maximises
        out of fold; "balanced" is short for "balanced_accuracy" and suits a rare class.
        Probabilities are not changed. If None, the more probable class is predicted.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    members_ : list of Member
        Name, weight, out-of-fold accuracy and log loss, and fit time in seconds of each
        member; prints as a table. Dropped members come last, with their accuracy in
        brackets. The suffix ``-ard`` (automatic relevance determination) marks kernels
        with one length scale per feature.
    weights_ : dict
        Weight of each member by name.
    oof_prediction_ : ndarray of shape (n, n_classes)
        Out-of-fold probabilities of the training rows. From 10 to 5,000 rows the
        weights of the blend are nested, that is, found without the fold of the row. NaN
        for rows of zero weight and for rows not drawn because of ``max_rows``.
    oof_score_ : float
        Accuracy of the out-of-fold predictions.
    oof_log_loss_ : float
        Log loss of the out-of-fold probabilities.
    oof_covered_ : ndarray of shape (n,)
        1 if the out-of-fold prediction set with coverage 0.9 contains the true class,
        otherwise 0; NaN as in ``oof_prediction_``.
    constant_score_ : float
        Accuracy of predicting the most frequent class.
    threshold_ : float or None
        Probability from which on the second class is predicted.
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

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from adakern import AdaptiveKernelClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> members = ["laplacian", "linear"]
    >>> model = AdaptiveKernelClassifier(members=members, random_state=0).fit(X, y)
    >>> bool(model.oof_score_ > 0.93)
    True
    """

    class_weight: Any = None
    threshold: str | None = None

    _parameter_constraints = {
        **AdaptiveKernel._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "threshold": [StrOptions({"balanced", *THRESHOLD_METRICS}), None],
    }

    def _unfitted_blend(self, y):
        try:
            check_classification_targets(y)
            classes = np.unique(y)
        except TypeError:
            kinds = sorted({type(label).__name__ for label in y})
            if len(kinds) == 1:  # such as bytes, which scikit-learn does not support
                raise
            raise ValueError(
                f"labels in y must be of one type, got {', '.join(kinds)}"
            ) from None
        if self.threshold is not None and len(classes) > 2:
            raise ValueError(
                f"threshold={self.threshold!r} requires two classes, got "
                f"{len(classes)}; omit it, or predict one class against the rest"
            )
        return Mixture(classes=classes, few_rows=len(y) < FEW_ROWS)

    def _row_weights(self, y, counts):
        """Multiply by class weights; "balanced" ones depend on sample weights."""
        if self.class_weight != "balanced":
            return counts * compute_sample_weight(self.class_weight, y)
        codes = np.unique(y, return_inverse=True)[1]
        counts = counts / (counts.max() or 1.0)
        total = np.bincount(codes, counts)
        share = np.divide(
            counts.sum(), total, out=np.zeros_like(total), where=total > 0
        )
        return counts * (share / np.count_nonzero(total))[codes]

    def _set_out_of_fold(self, problem, blend, proba, from_folds):
        table = problem.table.left_out
        codes = table.Y.argmax(axis=1)
        self.classes_ = blend.classes
        self.oof_log_loss_ = log_loss(np.log(proba), codes, table.weights)
        # One minus the probability of the true class, for prediction sets.
        self._doubts = 1 - from_folds[table.Y > 0]
        self._doubt_weights = table.weights
        (self.oof_score_,) = accuracies(proba[None], codes, table.weights)
        counts = np.bincount(codes, table.weights)
        self.constant_score_ = float(counts.max() / counts.sum())
        self.threshold_ = None
        if self.threshold is not None and len(self.classes_) == 2:
            self.threshold_ = self._best_threshold(proba, codes, table.weights)
        # Every set contains the most probable class.
        within = covered(self._doubts, table.weights).astype(bool)
        return proba, within | (from_folds.argmax(axis=1) == codes)

    def _best_threshold(self, proba, codes, weights):
        """Threshold on the probability of the second class with the best metric."""
        name = "balanced_accuracy" if self.threshold == "balanced" else self.threshold
        metric = partial(get_scorer(name)._score_func, sample_weight=weights)
        candidates = np.unique(np.quantile(proba[:, 1], np.linspace(0, 1, 201)))
        scores = [metric(codes, (proba[:, 1] >= at).astype(int)) for at in candidates]
        return float(candidates[np.argmax(scores)])

    @in_blocks
    def predict_proba(self, X):
        """Predict calibrated class probabilities.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)

        Returns
        -------
        ndarray of shape (n, n_classes)
            In the order of ``classes_``.
        """
        return output_like(self._predicted(X)[1], X)

    @in_blocks
    def predict_set(self, X, coverage=0.9):
        """Predict sets that contain the true class in a fraction ``coverage`` of rows.

        A class belongs to the set if its probability reaches a quantile of the
        out-of-fold probabilities of the true classes; the most probable class always
        belongs to it. Coverage is empirical, without a guarantee.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        coverage : float, default=0.9
            Between 0 and 1.

        Returns
        -------
        ndarray of bool, shape (n, n_classes)
            Whether the class belongs to the set, in the order of ``classes_``.
        """
        check_levels("coverage", coverage)
        _, proba = self._predicted(X)
        most = conformal_quantile(self._doubts, self._doubt_weights, coverage)
        sets = 1 - proba <= most
        sets[np.arange(len(proba)), proba.argmax(axis=1)] = True
        return output_like(sets, X)

    @in_blocks
    def predict(self, X):
        """Predict the most probable class, or use ``threshold_`` if it is set.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
        """
        _, proba = self._predicted(X)
        return output_like(self.predicted_classes(proba), X)

    def predicted_classes(self, proba):
        """Convert probabilities to predicted classes, as :meth:`predict` does.

        Parameters
        ----------
        proba : ndarray of shape (n, n_classes)

        Returns
        -------
        ndarray of shape (n,)
        """
        if self.threshold_ is None:
            return self.classes_[proba.argmax(axis=1)]
        return self.classes_[(proba[:, 1] >= self.threshold_).astype(int)]
