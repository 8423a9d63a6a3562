"""The adaptive classifier."""

from functools import partial

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import get_scorer
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from adakern._utils.arrays import output_like
from adakern.adaptive.base import AdaptiveKernel, check_levels
from adakern.adaptive.blend import Mixture, accuracies, log_loss
from adakern.adaptive.intervals import conformal_quantile
from adakern.adaptive.many_rows import in_blocks
from adakern.adaptive.members.base import FEW_ROWS

#: What a threshold can be chosen by.
THRESHOLD_METRICS = {"accuracy", "balanced_accuracy", "f1", "jaccard"}
THRESHOLD_METRICS |= {"matthews_corrcoef"}


class AdaptiveKernelClassifier(ClassifierMixin, AdaptiveKernel):
    """Classification for those who bring a table and do not want to choose.

    The members of :class:`AdaptiveKernelRegressor`, fitted in every fold on the other
    folds' rows: kernel ridge regressions on indicators of the classes (from 300 to
    4,000 rows with one scale for each of the three profiles too), logistic regression,
    support vector machines (up to 4,000 rows, and from 9,000 to 25,000 where no two
    classes have more than 9,000), both kinds of forests, and boosting. Each member's
    scores are calibrated (by a slope alone of less than 300 rows), the members weighted
    by the likelihood of their mixture, and that is calibrated, on the rows left out.
    What is predicted is the mixture of kernel and linear members refitted on all rows,
    and of the means over folds of the trees.

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
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; they multiply ``sample_weight``.
    threshold : "balanced", str or None, default=None
        Of two classes, ``predict`` takes the second where its probability is at least
        the threshold that is best by this metric out of fold ("accuracy",
        "balanced_accuracy", "f1", "jaccard" or "matthews_corrcoef"); "balanced" stands
        for "balanced_accuracy", for a class that is rare. Probabilities stay as they
        are. None: the more probable class.
    n_jobs : int or None, default=None
        Folds fitted at the same time; -1 for all processors.
    verbose : int, default=0
        Above 0, a line for each member, with the time of those to come, and the table
        of them.
    random_state : int, RandomState instance or None, default=None
        Draws folds, forests and subsamples.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    members_ : list of Member
        Name, weight, out-of-fold accuracy and seconds of each; prints as a table.
        Those that were dropped come last, their scores in brackets. A
        kernel named ``-ard`` has one scale for each feature (automatic relevance
        determination).
    weights_ : dict
        Weight of each member by name.
    oof_prediction_ : ndarray of shape (n, n_classes)
        For each training row the probabilities without it, by weights found without
        its fold (from 10 to 5,000 rows); NaN for weight zero and for rows beyond
        ``max_rows``.
    oof_score_ : float
        Accuracy of these.
    oof_log_loss_ : float
    oof_covered_ : ndarray of shape (n,)
        1 where the set of coverage 0.9 by models without the row contains its
        target, else 0; NaN as in ``oof_prediction_``.
    constant_score_ : float
        Accuracy of the largest class alone.
    threshold_ : float or None
        Probability of the second class from which on it is predicted.
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

    _parameter_constraints = {
        **AdaptiveKernel._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "threshold": [StrOptions({"balanced", *THRESHOLD_METRICS}), None],
    }

    def __init__(
        self,
        n_folds=5,
        max_support=3000,
        max_rows=200_000,
        members="auto",
        preset="best",
        categorical_features=None,
        time_limit=None,
        class_weight=None,
        threshold=None,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        rows, choice = (
            (n_folds, max_support, max_rows),
            (members, preset, categorical_features),
        )
        super().__init__(*rows, *choice, time_limit, n_jobs, verbose, random_state)
        self.class_weight = class_weight
        self.threshold = threshold

    def _unfitted_blend(self, y):
        try:
            check_classification_targets(y)
            classes = np.unique(y)
        except TypeError:
            kinds = sorted({type(label).__name__ for label in y})
            raise ValueError(
                f"y holds labels of the types {', '.join(kinds)}; make them one type"
            ) from None
        if self.threshold is not None and len(classes) > 2:
            raise ValueError(
                f"threshold={self.threshold!r} is for two classes, and y has "
                f"{len(classes)}; leave it out, or predict one class against the rest"
            )
        return Mixture(classes=classes, few_rows=len(y) < FEW_ROWS)

    def _row_weights(self, y, counts):
        """Times those of classes; "balanced" counts a row as often as it weighs."""
        if self.class_weight != "balanced":
            return counts * compute_sample_weight(self.class_weight, y)
        codes, counts = (
            np.unique(y, return_inverse=True)[1],
            counts / (counts.max() or 1.0),
        )
        total = np.bincount(codes, counts)
        share = np.divide(
            counts.sum(), total, out=np.zeros_like(total), where=total > 0
        )
        return counts * (share / np.count_nonzero(total))[codes]

    def _set_out_of_fold(self, problem, blend, proba, of_folds):
        table = problem.table.left_out
        codes = table.Y.argmax(axis=1)
        self.classes_ = blend.classes
        self.oof_log_loss_ = log_loss(np.log(proba), codes, table.weights)
        # How little was given to the class that came true, for prediction sets.
        self._doubts = 1 - of_folds[table.Y > 0]
        self._doubt_weights = table.weights
        (self.oof_score_,) = accuracies(proba[None], codes, table.weights)
        counts = np.bincount(codes, table.weights)
        self.constant_score_ = float(counts.max() / counts.sum())
        self.threshold_ = self._best_threshold(proba, codes, table.weights)
        return self._doubts

    def _best_threshold(self, proba, codes, weights):
        """The threshold of the second class's probability that is best out of fold."""
        if self.threshold is None or proba.shape[1] != 2:
            return None
        name = "balanced_accuracy" if self.threshold == "balanced" else self.threshold
        metric = partial(get_scorer(name)._score_func, sample_weight=weights)
        candidates = np.unique(np.quantile(proba[:, 1], np.linspace(0, 1, 201)))
        scores = [metric(codes, (proba[:, 1] >= at).astype(int)) for at in candidates]
        return float(candidates[np.argmax(scores)])

    @in_blocks
    def predict_proba(self, X):
        """Calibrated probabilities of shape (n, n_classes) for the rows X (n, d).

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        """
        return output_like(self._predicted(X)[1], X)

    @in_blocks
    def predict_set(self, X, coverage=0.9):
        """Sets that contain the true class for ``coverage`` of new rows.

        A class is in the set if its probability is not below a quantile of what
        out-of-fold predictions gave to the classes that came true; the most probable
        class always is. The coverage is empirical, without a guarantee.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        coverage : float, default=0.9
            Between 0 and 1.

        Returns
        -------
        ndarray of bool, shape (n, n_classes)
            Whether the set has the class, in the order of ``classes_``.
        """
        check_levels("coverage", coverage)
        _, proba = self._predicted(X)
        most = conformal_quantile(self._doubts, self._doubt_weights, coverage)
        sets = 1 - proba <= most
        sets[np.arange(len(proba)), proba.argmax(axis=1)] = True
        return output_like(sets, X)

    @in_blocks
    def predict(self, X):
        """The most probable class of each of the rows X (n, d), or that of `threshold`.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        """
        _, proba = self._predicted(X)
        return output_like(self.predicted_classes(proba), X)

    def predicted_classes(self, proba):
        """The classes that are predicted where these are the probabilities.

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
