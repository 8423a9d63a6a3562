"""The adaptive classifier."""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from adakern._utils.arrays import answer_like, computing_where, from_foreign
from adakern.adaptive.base import AdaptiveKernel
from adakern.adaptive.calibration import Calibration, log_loss, mix
from adakern.adaptive.weights import mixture_weights

__all__ = ["AdaptiveKernelClassifier"]

#: Evidence, in rows, that the members are equally good.
PRIOR_ROWS = 10.0


class AdaptiveKernelClassifier(ClassifierMixin, AdaptiveKernel):
    """Classification for those who bring a table and do not want to choose.

    The members of :class:`AdaptiveKernelRegressor`, fitted in every fold on the other
    folds' rows: kernel ridge regressions on indicators of the classes, logistic
    regression, forests and boosting. Each member's scores are calibrated, and the
    members weighted by the likelihood of their mixture, on the rows left out. What is
    predicted is the mixture of kernel and linear members refitted on all rows, and of
    the means over folds of the trees.

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
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; they multiply ``sample_weight``.
    n_jobs : int or None, default=None
        Folds fitted at the same time; -1 for all processors.
    verbose : int, default=0
        Above 0, a line for each member.
    random_state : int, RandomState instance or None, default=None
        Draws folds, forests and subsamples.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    members_ : list of Member
        Name, weight, out-of-fold accuracy and seconds of each; prints as a table.
        Those that a race left behind come last, with their score there and an even
        share of its time.
    weights_ : dict
        Weight of each member by name.
    oof_prediction_ : ndarray of shape (n, n_classes)
        For each training row the probabilities without it; NaN for weight zero.
    oof_score_ : float
        Accuracy of these.
    oof_log_loss_ : float
    feature_importances_ : ndarray of shape (d,)
    equal_rows_ : EqualRows
        What targets of equal training rows say; ``prior_rows_`` is infinite if nothing.
    fold_models_ : list
        What was learned in each fold.
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

    _classifies = True

    _parameter_constraints = {
        **AdaptiveKernel._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        n_folds=5,
        max_support=3000,
        members="auto",
        time_limit=None,
        class_weight=None,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        super().__init__(
            n_folds=n_folds,
            max_support=max_support,
            members=members,
            time_limit=time_limit,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )
        self.class_weight = class_weight

    def fit(self, X, y, sample_weight=None):
        """Learn from a table.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Numbers, words and gaps (None, NaN). On PyTorch tensors the kernel members
            compute in PyTorch, on their device; all else is NumPy's. Answers are of the
            kind of the rows that are asked about.
        y : array-like of shape (n,)
            Labels of two to some hundred classes. One class alone is predicted always.
        sample_weight : array-like of shape (n,), default=None
            A weight of 2 is a repeated row, a weight of 0 none.

        Returns
        -------
        self
        """
        self._validate_params()
        rows, y = self._validated(X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        sample_weight = from_foreign(sample_weight)
        weights = _check_sample_weight(sample_weight, rows, dtype=np.float64)
        class_weights = self._class_weights(y, weights)
        with computing_where(X):
            return self._fit(
                rows, codes, weights, codes=codes, class_weights=class_weights
            )

    def _class_weights(self, y, weights):
        """Of each row; "balanced" counts a row as often as it weighs."""
        if self.class_weight != "balanced":
            return compute_sample_weight(self.class_weight, y)
        codes = np.searchsorted(self.classes_, y)
        total = np.bincount(codes, weights, minlength=len(self.classes_))
        share = np.divide(
            weights.sum(), total, out=np.zeros_like(total), where=total > 0
        )
        return (share / np.count_nonzero(total))[codes]

    def _targets(self, codes):
        return np.eye(len(self.classes_))[codes]

    def _weigh(self, table, codes):
        k, weights = table.Y.shape[1], table.weights
        # Laplace's rule: no class is impossible, the prior also where nothing is known.
        counts = np.bincount(codes, weights, minlength=k)
        self._log_prior = np.log((counts + 1 / k) / (counts.sum() + 1))
        self._calibrations = {
            name: Calibration(self.fold_models_[0].models[name].slope).fit(
                scores, codes, weights
            )
            for name, scores in self._oof.items()
        }
        log_chances = np.array(
            [self._calibrations[n].log_probabilities(s) for n, s in self._oof.items()]
        )
        blend = np.empty(0)
        if len(log_chances):
            blend = _blend(log_chances, codes, weights)
        accuracies = _accuracies(log_chances, codes, weights)
        blend = self._set_members(blend, accuracies)
        if len(log_chances):
            mixed = mix(log_chances, blend)
        else:
            mixed = np.tile(self._log_prior, (len(codes), 1))
        self._final = Calibration().fit(mixed, codes, weights)
        mixed = self._final.log_probabilities(mixed)
        self.oof_log_loss_ = log_loss(mixed, codes, weights)
        self.oof_score_ = float(
            accuracy_score(codes, mixed.argmax(axis=1), sample_weight=weights)
        )
        self._merged_oof = np.exp(mixed)

    def _judged(self, models, values, Y, weights):
        """The loss of a mixture of some members, and the accuracy of each."""
        codes = Y.argmax(axis=1)
        log_chances = np.array(
            [
                Calibration(model.slope).fit(s, codes, weights).log_probabilities(s)
                for model, s in zip(models, values, strict=True)
            ]
        )

        def loss_of(members):
            blend = _blend(log_chances[members], codes, weights)
            return log_loss(mix(log_chances[members], blend), codes, weights)

        return loss_of, _accuracies(log_chances, codes, weights)

    def _keep(self, table, codes, position, rng):
        super()._keep(table, codes, position, rng)
        used = position >= 0
        self.oof_prediction_ = np.full((len(position), len(self.classes_)), np.nan)
        self.oof_prediction_[used] = self._merged_oof[position[used]]
        del self._merged_oof, self._position

    def _losses(self, log_chances, codes):
        return -log_chances[np.arange(len(codes)), codes]

    def _fold_prediction(self, fold, X):
        """Logarithms of the probabilities of one fold, shape (n, k)."""
        return self._blended({name: fold.predict(name, X) for name in fold.models}, X)

    def _blended(self, scores, X):
        """Logarithm of the mixture of members' probabilities; the prior of none."""
        if not scores:
            return np.tile(self._log_prior, (len(X), 1))
        log_chances = [
            self._calibrations[name].log_probabilities(score)
            for name, score in scores.items()
        ]
        blend = np.array([self.weights_[name] for name in scores])
        return self._final.log_probabilities(mix(np.array(log_chances), blend))

    def predict_proba(self, X):
        """Calibrated probabilities of shape (n, n_classes) for the rows X (n, d).

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        """
        return answer_like(self._chances(X), X)

    def _chances(self, X):
        read = self._read(X)
        with computing_where(X):
            scores = {name: self._scores(name, read) for name in self._used}
        chances = np.exp(self._blended(scores, read))
        chances /= chances.sum(axis=1, keepdims=True)
        return self.equal_rows_.adjust(read, chances)

    def predict(self, X):
        """The most probable class of each of the rows X (n, d).

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        """
        codes = self._chances(X).argmax(axis=1)
        return answer_like(self.classes_[codes], X)


def _blend(log_chances, codes, weights):
    """Weights of the members' mixture."""
    picked = log_chances[:, np.arange(len(codes)), codes]
    return mixture_weights(np.exp(picked), weights, prior=PRIOR_ROWS)


def _accuracies(log_chances, codes, weights):
    return [
        accuracy_score(codes, chances.argmax(axis=1), sample_weight=weights)
        for chances in log_chances
    ]
