"""Weights of the members from their out-of-fold predictions.

The objective is the out-of-fold loss of a convex combination: over b on the simplex,

    min_b  sum_i w_i loss(y_i, sum_j b_j f_ij) + penalty(b),

where f_ij is the prediction of member j for row i, to which it was not fitted, and w_i
is the weight of the row. For squared error, f_ij are predicted values, and the penalty
shrinks b towards weights based on the members' own errors
(:func:`squared_error_weights`). For log loss, they are probabilities, and the penalty
is a Dirichlet prior (:func:`mixture_weights`). Without the penalty, the loss of the
combination could not exceed that of its best member; :func:`no_worse_than_best`
enforces this with the penalty as well, except for classification of few rows.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import lsq_linear, minimize
from scipy.special import log_softmax, logsumexp

#: Members with smaller weights are dropped.
SMALLEST_WEIGHT = 0.01

#: Maximum share of the loss of a row that all members predict badly, so that no single
#: row determines the weights.
LARGEST_SHARE = 0.05

#: Bounds of the log slope of a calibration, which would be unbounded for perfectly
#: separated classes.
SLOPES = (np.log(0.05), np.log(50.0))

#: Ridges of a calibration's slope and shifts. The second pair is for the mixture on few
#: rows, whose members are calibrated by slopes only.
RIDGES = (0.5, 1.0)
RIDGES_OF_FEW = (3.0, 3.0)

#: Prior evidence, in rows, for weights according to the members' own errors.
PRIOR_ROWS_OF_MEAN = 30.0

#: Maximum distance of predictions beyond the range of the training targets, as a
#: fraction of it. Far from the rows, a linear model or a kernel with a small ridge
#: could predict any value.
MARGIN = 0.5

#: Targets whose spread is a smaller fraction of their size are constant up to rounding.
SMALLEST_SPREAD = 1e-12

#: Prior evidence, in rows, that the members are equally good.
PRIOR_ROWS = 10.0

#: Prior evidence, in rows, for the class frequencies as probabilities: after a hundred
#: rows without an error, the next may still be one.
PRIOR_ROWS_OF_CLASSES = 0.2

#: Range of the number of rows for which the weights are nested, that is, fitted without
#: each fold to predict it.
FEWEST_NESTED, MOST_NESTED = 10, 5000


def drop_smallest(weights):
    """Set small weights to zero, and rescale the others."""
    weights = np.where(weights < SMALLEST_WEIGHT, 0.0, weights)
    return weights / weights.sum()


def squared_error_weights(predictions, y, weights, *, prior=1.0):
    """Weights on the simplex that minimise the squared error of the weighted mean.

    They minimise ``sum_i w_i (y_i - sum_j b_j f_ij)^2 + ridge |b - b0|^2``, where b0 is
    proportional to the inverse square of the members' mean squared errors. It is nearly
    equal for good members, but small for a member that is worse than the mean. The
    ridge is the best member's mean squared error times ``prior``, the evidence for b0
    in rows.

    Breiman. Stacked regressions. Machine Learning 24 (1996).
    """
    errors = np.sqrt(weights) * (predictions - y)
    losses = np.sum(errors**2, axis=1)
    least = losses.min()
    m = len(losses)
    if not least > 0:  # at least one member is perfect
        return (losses <= 0) / np.sum(losses <= 0)
    b0 = (least / losses) ** 2
    b0 /= b0.sum()
    # On the simplex, b - b0 = sum_j b_j (e_j - b0), so the objective is a squared norm.
    deviations = np.sqrt(prior * least / weights.sum()) * (np.eye(m) - b0)
    R = np.linalg.qr(np.hstack([errors, deviations]).T, mode="r") / np.sqrt(least)
    # If sum(c) is penalised for differing from 1 instead of fixed, c is the solution up
    # to a factor.
    A = np.vstack([R, np.ones(m)])
    one = np.append(np.zeros(len(R)), 1.0)
    # `nnls` fails on some of these problems in SciPy before 1.15.
    c = np.maximum(
        lsq_linear(A, one, bounds=(0, np.inf), method="bvls", tol=1e-14).x, 0
    )
    return c / c.sum()


def cap_weights(errors, weights):
    """Reduce the weights of rows on which all members have large errors.

    A row's weight is reduced if the smallest squared error of any member on it exceeds
    a twentieth of the best member's loss. ``errors`` has one row per member, shape
    (m, n).
    """
    losses = weights * errors**2
    best = losses[losses.sum(axis=1).argmin()]
    nearest = losses.min(axis=0)
    factors = np.ones_like(nearest)
    for _ in range(20):
        most = LARGEST_SHARE * factors @ best
        factors = np.minimum(1, most / np.maximum(nearest, 1e-300))
    return weights * factors if factors.min() > 0 else weights


def no_worse_than_best(weights, optimum, loss_of):
    """Change the weights as little as needed for a loss not above the best member's.

    They are moved towards ``optimum``, the weights without a penalty, and small ones
    are dropped. If that does not help, the best member alone is used.
    """
    alone = np.eye(len(weights))
    losses = [loss_of(b) for b in alone]
    best = int(np.argmin(losses))
    most = losses[best] * (1 + 1e-12)
    weights = drop_smallest(weights)
    low = 0.0
    high = 1.0
    if loss_of(weights) <= most:
        return weights
    for _ in range(8):
        middle = (low + high) / 2
        if loss_of((1 - middle) * weights + middle * optimum) <= most:
            high = middle
        else:
            low = middle
    weights = drop_smallest((1 - high) * weights + high * optimum)
    return weights if loss_of(weights) <= most else alone[best]


def mixture_weights(likelihoods, weights, *, prior=1.0, max_iter=1000):
    """Weights on the simplex that maximise the likelihood of the mixture.

    In expectation-maximisation, each row is distributed over the members in proportion
    to their contributions to its probability; ``prior`` rows are distributed evenly in
    advance. ``likelihoods`` (m, n) are the positive probabilities that each member
    assigns to the true classes.

    Dempster, Laird, Rubin. Maximum likelihood from incomplete data via the EM
    algorithm. JRSS B 39 (1977).
    """
    m = len(likelihoods)
    b = np.full(m, 1 / m)
    for _ in range(max_iter):
        new = b * (likelihoods @ (weights / (b @ likelihoods))) + prior / m
        new /= new.sum()
        moved = np.abs(new - b).max()
        b = new
        if moved < 1e-7:
            break
    return b


@dataclass
class Calibration:
    """``softmax(slope * scores + shift)``, fitted by log loss on left-out rows.

    There is one slope for all classes, shrunk towards ``start`` by a ridge. With
    ``shifts``, there is also one shift per class, shrunk towards zero. ``ridges`` are
    those of the slope and the shifts.

    Guo, Pleiss, Sun, Weinberger. On calibration of modern neural networks. ICML 2017.
    """

    start: float = 1.0
    shifts: bool = True
    ridges: tuple = RIDGES

    def fit(self, scores, codes, weights):
        """Fit to scores (n, k), class codes (n,) and weights (n,)."""
        k = scores.shape[1]
        rows = np.arange(len(codes))

        def objective(p):
            # In place, since new memory takes as long as the rest for many classes.
            slope = np.exp(p[0])
            log_proba = slope * scores
            log_proba += p[1:]
            log_proba -= log_proba.max(axis=1, keepdims=True)
            log_proba -= np.log(np.exp(log_proba).sum(axis=1, keepdims=True))
            value = -weights @ log_proba[rows, codes]
            slack = np.exp(log_proba, out=log_proba)
            slack[rows, codes] -= 1
            slack *= weights[:, None]
            gradient = np.append(slope * np.sum(slack * scores), slack.sum(axis=0))
            deviation = p - start
            return value + ridge @ deviation**2 / 2, gradient + ridge * deviation

        start = np.append(np.log(self.start), np.zeros(k))
        ridge = np.repeat(self.ridges, (1, k))
        bounds = [SLOPES, *[(-10, 10) if self.shifts else (0, 0)] * k]
        how = {"jac": True, "method": "L-BFGS-B", "options": {"maxiter": 100}}
        result = minimize(objective, start, bounds=bounds, **how)
        self.slope_ = float(np.exp(result.x[0]))
        self.shift_ = result.x[1:]
        return self


def log_probabilities(calibrations, scores):
    """Log probabilities (m, n, k) by each calibration, from the scores of each."""
    slopes = np.array([c.slope_ for c in calibrations])[:, None, None]
    shifts = np.array([c.shift_ for c in calibrations])[:, None]
    return log_softmax(slopes * scores + shifts, axis=2)


def mix(log_proba, weights):
    """Logarithm of the weighted mean of probabilities over members, the first axis."""
    used = weights > 0
    return logsumexp(log_proba[used] + np.log(weights[used])[:, None, None], axis=0)


def log_loss(log_proba, codes, weights):
    """Weighted mean of the negative log probability of the true class."""
    picked = log_proba[np.arange(len(codes)), codes]
    return float(-np.average(picked, weights=weights))


@dataclass
class WeightedMean:
    """Weighted mean of the members, or the mean target if there are none.

    ``weights`` (m, t) and ``mean`` (t,) have one column or entry per target; ``unit``
    (t,) is the unit of each target.
    """

    classify = False

    weights: np.ndarray = field(default_factory=lambda: np.empty(0))
    scores: list = field(default_factory=list)
    mean: Any = 0.0
    unit: Any = 1.0

    def encode(self, y):
        """Convert targets to the units used by the fit, shape (n, t)."""
        return y.reshape(len(y), -1) / self.unit

    def decode(self, predicted):
        """Convert predictions to the units of the targets; (n,) for a single target."""
        values = predicted * self.unit
        return values[:, 0] if values.shape[1] == 1 else values

    def standardised(self, table):
        """Return the blend and the targets, both in units of each target's spread."""
        known = ~np.isnan(table.Y)
        mass = table.mass[:, None] * known
        Y = np.where(known, table.Y, 0.0)
        mean = np.sum(mass * Y, axis=0) / mass.sum(axis=0)
        spread = np.sqrt(np.sum(mass * (Y - mean) ** 2, axis=0) / mass.sum(axis=0))
        spread = np.where(spread > SMALLEST_SPREAD, spread, 1.0)
        return replace(self, unit=self.unit * spread), table.Y / spread

    def bounds(self, Y):
        """Lower and upper bounds (t,) of the members' predictions.

        If all values of a target have the same sign, so do its bounds, and therefore
        the blend.
        """
        low = np.nanmin(Y, axis=0)
        high = np.nanmax(Y, axis=0)
        margin = MARGIN * (high - low)
        return (
            np.where(low >= 0, np.maximum(low - margin, 0.0), low - margin),
            np.where(high <= 0, np.minimum(high + margin, 0.0), high + margin),
        )

    def fit(self, values, slopes, table):
        """Return the blend fitted by squared error to the members' predictions."""
        targets = list(_by_target(values, table))
        mean = np.array([np.average(y, weights=w) for _, y, w in targets])
        if not values:
            return replace(self, mean=mean)
        weights = np.transpose([_best_weights(*target) for target in targets])
        scores = list(map(mean_of_known, scores_by_target(values, table)))
        return replace(self, weights=weights, scores=scores, mean=mean)

    def only(self, used):
        """Return the blend of the ``used`` members only."""
        return replace(self, weights=self.weights[used])

    def combine(self, values, X):
        """Combine the members' predictions for the rows X, shape (n, t)."""
        total = np.zeros((len(X), np.size(self.mean)))
        for weight, value in zip(self.weights, values, strict=True):
            total += weight * value
        return total if len(values) else total + self.mean

    def losses(self, predicted, Y):
        """Squared error of each row, summed over the targets."""
        return np.nansum((predicted - Y) ** 2, axis=1)

    def judge(self, values, slopes, table):
        """Return the loss as a function of a subset of members, and each one's R²."""
        targets = list(_by_target(values, table))
        capped = [cap_weights(f - y, weights) for f, y, weights in targets]

        def loss_of(some):
            losses = []
            for (f, y, _), weights in zip(targets, capped, strict=True):
                b = squared_error_weights(f[some], y, weights, prior=PRIOR_ROWS_OF_MEAN)
                losses.append(weights @ (b @ (f[some] - y)) ** 2 / weights.sum())
            return np.mean(losses)

        return loss_of, map(mean_of_known, scores_by_target(values, table))


def _by_target(values, table):
    """Yield predictions (m, n), targets (n,) and weights of known cells by target.

    A target without any known cell is replaced by two rows of zeros.
    """
    for j, y in enumerate(table.Y.T):
        known = ~np.isnan(y)
        if known.any():
            f = np.array([value[known, j] for value in values])
            yield f, y[known], table.weights[known]
        else:
            yield np.zeros((len(values), 2)), np.zeros(2), np.ones(2)


def _best_weights(predictions, y, weights):
    """Weights of the members for one target."""
    errors = predictions - y
    capped = cap_weights(errors, weights)
    return no_worse_than_best(
        squared_error_weights(predictions, y, capped, prior=PRIOR_ROWS_OF_MEAN),
        squared_error_weights(predictions, y, weights, prior=0.0),
        lambda b: weights @ (b @ errors) ** 2,
    )


def scores_by_target(values, table):
    """R² of each member and target, shape (m, t)."""
    return np.transpose([r_squared(*target) for target in _by_target(values, table)])


def r_squared(predictions, y, weights):
    """R² (m,) of predictions (m, n), as in scikit-learn; NaN for fewer than two rows.

    It is computed here because scikit-learn's input checks take longer than a whole
    nested blend.
    """
    if len(y) < 2:
        return np.full(len(predictions), np.nan)
    residual = (predictions - y) ** 2 @ weights
    total = (y - np.average(y, weights=weights)) ** 2 @ weights
    if total > 0:
        return 1 - residual / total
    return (residual == 0).astype(float)


def mean_of_known(scores):
    """Mean of the scores that are not NaN, or NaN if there are none."""
    known = [score for score in scores if score == score]
    return float(np.mean(known)) if known else np.nan


@dataclass
class Mixture:
    """Calibrated mixture of the calibrated probabilities of the members.

    Without members, it predicts the class frequencies.
    """

    classify = True
    unit = 1.0

    weights: np.ndarray = field(default_factory=lambda: np.empty(0))
    scores: list = field(default_factory=list)
    calibrations: list = field(default_factory=list)
    final: Calibration | None = None
    log_prior: np.ndarray | None = None
    nearer: float = 0.0
    classes: np.ndarray | None = None
    few_rows: bool = False
    log_losses: list = field(default_factory=list)

    def encode(self, y):
        """Class indicators, shape (n, k)."""
        if unknown := sorted({str(label) for label in y[~np.isin(y, self.classes)]}):
            raise ValueError(
                f"y_val has labels that are not in y: {', '.join(unknown)}"
            )
        return (y[:, None] == self.classes).astype(float)

    def bounds(self, Y):
        """Lower and upper bounds of the members' predictions."""
        return -np.inf, np.inf

    def fit(self, values, slopes, table):
        """Return the blend fitted by log loss to the members' scores."""
        codes = table.Y.argmax(axis=1)
        row_weights = table.weights
        k = table.Y.shape[1]
        # Laplace's rule: no class is impossible, even one without any rows.
        counts = np.bincount(codes, row_weights, minlength=k)
        log_prior = np.log((counts + 1 / k) / (counts.sum() + 1))
        nearer = PRIOR_ROWS_OF_CLASSES / (PRIOR_ROWS_OF_CLASSES + counts.sum())
        blend = replace(self, log_prior=log_prior, nearer=nearer)
        mixed = np.tile(log_prior, (len(codes), 1))
        if values:
            calibrated = self._calibrated(values, slopes, codes, row_weights)
            calibrations, log_proba, likelihoods = calibrated
            weights = mixture_weights(likelihoods, row_weights, prior=PRIOR_ROWS)
            if self.few_rows:  # too few to identify the best member reliably
                weights = drop_smallest(weights)
            else:
                weights = no_worse_than_best(
                    weights,
                    mixture_weights(likelihoods, row_weights, prior=0.0),
                    lambda b: blend._calibrate_mixture(mix(log_proba, b), b, table)[1],
                )
            blend = replace(
                blend,
                weights=weights,
                scores=accuracies(log_proba, codes, row_weights),
                log_losses=[log_loss(each, codes, row_weights) for each in log_proba],
                calibrations=calibrations,
            )
            mixed = mix(log_proba, weights)
        return blend._calibrate_mixture(mixed, blend.weights, table)[0]

    def _calibrated(self, values, slopes, codes, row_weights):
        """Calibrate the scores of each member.

        Return the calibrations, and log probabilities (m, n, k) and likelihoods (m, n)
        by member.
        """
        calibrations = [
            Calibration(slope, shifts=not self.few_rows).fit(scores, codes, row_weights)
            for slope, scores in zip(slopes, values, strict=True)
        ]
        log_proba = log_probabilities(calibrations, values)
        true = log_proba[:, np.arange(len(codes)), codes]
        return calibrations, log_proba, np.exp(true)

    def _calibrate_mixture(self, mixed, weights, table):
        """Return the blend with a calibration of the mixture, and its loss.

        A mixture is underconfident unless calibrated; a single member is calibrated
        already.
        """
        codes = table.Y.argmax(axis=1)
        blend = self
        if np.count_nonzero(weights) > 1:
            ridges = RIDGES_OF_FEW if self.few_rows else RIDGES
            final = Calibration(ridges=ridges).fit(mixed, codes, table.weights)
            blend = replace(self, final=final)
        return blend, log_loss(blend._log_proba(mixed), codes, table.weights)

    def _log_proba(self, mixed):
        """Log probabilities of a mixture, shrunk a little towards class frequencies."""
        if self.final is not None:
            (mixed,) = log_probabilities([self.final], [mixed])
        nearer = np.log(self.nearer) + self.log_prior
        return np.logaddexp(np.log1p(-self.nearer) + mixed, nearer)

    def only(self, used):
        """Return the blend of the ``used`` members only."""
        calibrations = [
            c for c, counts in zip(self.calibrations, used, strict=True) if counts
        ]
        return replace(self, weights=self.weights[used], calibrations=calibrations)

    def combine(self, values, X):
        """Combine the members' scores for the rows X to probabilities (n, k)."""
        if len(values):
            mixed = mix(log_probabilities(self.calibrations, values), self.weights)
        else:
            mixed = np.tile(self.log_prior, (len(X), 1))
        proba = np.exp(self._log_proba(mixed))
        return proba / proba.sum(axis=1, keepdims=True)

    def losses(self, predicted, Y):
        """Log loss of each row."""
        return -np.log(predicted[np.arange(len(Y)), Y.argmax(axis=1)])

    def judge(self, values, slopes, table):
        """Return the loss as a function of a subset, and each member's accuracy."""
        codes = table.Y.argmax(axis=1)
        row_weights = table.weights
        calibrated = self._calibrated(values, slopes, codes, row_weights)
        _, log_proba, likelihoods = calibrated

        def loss_of(some):
            weights = mixture_weights(likelihoods[some], row_weights, prior=PRIOR_ROWS)
            return log_loss(mix(log_proba[some], weights), codes, row_weights)

        return loss_of, accuracies(log_proba, codes, row_weights)


def accuracies(log_proba, codes, row_weights):
    right = log_proba.argmax(axis=2) == codes
    return np.average(right, axis=1, weights=row_weights).tolist()


def fit_blend(problem, members, by="left_out"):
    """Fit the blend to the members' predictions for left-out rows."""
    values = [getattr(member.fits, by) for member in members]
    slopes = [member.slope for member in members]
    return problem.blend.fit(values, slopes, problem.table.left_out)


def predict_left_out(problem, members, blend):
    """Predict left-out rows by blends whose weights were fitted without their fold.

    Return predictions for both kinds of values in :class:`adakern.adaptive.model.Fits`,
    ``left_out`` and ``predicted``. If there are too few rows to split, or enough to
    determine the weights well, ``blend`` is used, which is fitted to all rows.
    """
    table = problem.table.left_out
    slopes = [m.slope for m in members]
    left_out = [m.fits.left_out for m in members]
    kinds = left_out, [m.fits.predicted for m in members]
    fold = table.fold if table.n_folds > 1 else np.arange(len(table.X)) % 5
    if not FEWEST_NESTED <= len(fold) <= MOST_NESTED:
        return [blend.combine(values, table.X) for values in kinds]
    predicted = np.empty((2, *table.Y.shape))
    for k in range(fold.max() + 1):
        rest = fold != k
        rows = fold == k
        part = [values[rest] for values in left_out]
        blend = problem.blend.fit(part, slopes, table.take(rest))
        for values, blended in zip(kinds, predicted, strict=True):
            blended[rows] = blend.combine([v[rows] for v in values], table.X[rows])
    return predicted
