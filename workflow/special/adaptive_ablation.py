"""What each part of the flagship is worth: taken away in turn, from one fit."""

from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon
from sklearn.metrics import accuracy_score, root_mean_squared_error

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern.adaptive import MEMBERS
from adakern.evaluation import GREATER_IS_BETTER, probability_scores
from shared import axes_grid

#: The flagship as it is; the other variants lack something.
WHOLE = "nothing"

#: What members have in common that can be taken away at once.
GROUPS = {
    "scales per feature": [name for name in MEMBERS if name.endswith("-ard")],
    "one scale for all": ["laplacian", "l2-laplacian", "rbf"],
    "trees": ["forest", "extra-trees", "boosting"],
}


def compute(data, seed, *, task):
    """Test losses of the flagship and of what is left without one part of it.

    The members are fitted once, and those that are left weighted and calibrated again;
    what equal rows say of each other is taken from the whole.

    Parameters
    ----------
    data : adakern_bench.records.prepare.Prepared
    seed : int
        Of the flagship.
    task : {"classification", "regression"}

    Returns
    -------
    pandas.DataFrame
        Columns: without, metric, value.
    """
    flagship, losses = TASKS[task]
    model = flagship(random_state=seed).fit(data.X_train, data.y_train)
    return pd.DataFrame(
        [
            {"without": without, "metric": metric, "value": value}
            for without, variant in variants(model)
            for metric, value in losses(variant, data).items()
        ]
    )


class _Kept:
    """A flagship that remembers what it drops once it has its weights."""

    def _keep(self, table, y, position, rng):
        self.before_ = dict(vars(self), refit_=copy(self.refit_))
        self.before_["fold_models_"] = [copy(fold) for fold in self.fold_models_]
        self.table_, self.y_ = table, y
        super()._keep(table, y, position, rng)


class KeptClassifier(_Kept, AdaptiveKernelClassifier):
    """The classifier, with all members and their predictions of rows left out."""


class KeptRegressor(_Kept, AdaptiveKernelRegressor):
    """The regressor, likewise."""


def variants(model):
    """The fitted model and, by name, what is left of it without one part.

    Parameters
    ----------
    model : KeptClassifier or KeptRegressor

    Yields
    ------
    without : str
    variant : KeptClassifier or KeptRegressor
    """
    names = list(model.before_["_oof"])
    yield WHOLE, _with_members(model, names)
    for without, taken in ({name: [name] for name in names} | GROUPS).items():
        left = [name for name in names if name not in taken]
        if left and len(left) < len(names):
            yield without, _with_members(model, left)
    fitted = [member for member in model.members_ if member.name in names]
    best = max(fitted, key=lambda member: member.score).name
    yield "blending", _with_members(model, [best])
    yield "closed-form weights", _with_members(model, names, alone=False)
    without_refit = _with_members(model, names, alone=False)
    without_refit.refit_ = _only(model.refit_, [])
    yield "refit on all rows", without_refit
    without_bagging = _with_members(model, names)
    without_bagging.fold_models_ = without_bagging.fold_models_[:1]
    yield "mean over folds", without_bagging
    without_equals = _with_members(model, names)
    without_equals.equal_rows_ = copy(model.equal_rows_)
    without_equals.equal_rows_.prior_rows_ = np.inf
    yield "targets of equal rows", without_equals


def _with_members(model, names, alone=True):
    """A copy with these members alone, weighted anew.

    By what they predict for rows left out alone, as the flagship does for kernel
    members on few rows, or for those of a whole fold.
    """
    variant, before = copy(model), model.before_
    left_out = before["_oof" if alone else "_of_folds"]
    variant._seconds, variant._left_behind = before["_seconds"], before["_left_behind"]
    variant._oof = {name: left_out[name] for name in names}
    variant._of_folds = {name: before["_of_folds"][name] for name in names}
    variant.fold_models_ = [_only(fold, names) for fold in before["fold_models_"]]
    variant.refit_ = _only(before["refit_"], names)
    variant._weigh(model.table_, model.y_)
    return variant


def _only(fold, names):
    models = {name: m for name, m in fold.models.items() if name in names}
    return replace(fold, models=models)


def _class_losses(model, data):
    chances = model.predict_proba(data.X_test)
    predicted = model.classes_[chances.argmax(axis=1)]
    return {
        "accuracy": accuracy_score(data.y_test, predicted),
        "log_loss": probability_scores(data.y_test, chances, model.classes_)[
            "log_loss"
        ],
    }


def _regression_losses(model, data):
    error = root_mean_squared_error(data.y_test, model.predict(data.X_test))
    return {"rmse": error / np.std(data.y_test)}


TASKS = {
    "classification": (KeptClassifier, _class_losses),
    "regression": (KeptRegressor, _regression_losses),
}


def table(frame):
    """How much worse the rest is, over the data sets where the part can be taken away.

    Parameters
    ----------
    frame : DataFrame
        Columns: dataset, without, metric, value.

    Returns
    -------
    DataFrame
        One row for each metric and part: ``whole`` and ``rest``, the means (geometric
        for errors over the spread of the target, ``rmse``) of the flagship and of what
        is left; on how many sets the rest is ``better`` or ``worse``; and the two-sided
        ``p_value`` of Wilcoxon's signed-rank test, NaN where no set differs.
    """
    rows = []
    for metric, part in frame.groupby("metric"):
        values = part.pivot(index="dataset", columns="without", values="value")
        for without in part["without"].unique():
            if without != WHOLE:
                pairs = values[[WHOLE, without]].dropna()
                rows.append(
                    {"metric": metric, "without": without} | _row(metric, pairs)
                )
    return pd.DataFrame(rows)


def _row(metric, pairs):
    values = np.log(pairs) if metric == "rmse" else pairs
    whole, rest = values.to_numpy().T
    gain = rest - whole if GREATER_IS_BETTER[metric] else whole - rest
    means = np.exp(values.mean()) if metric == "rmse" else values.mean()
    return {
        "n_datasets": len(pairs),
        "whole": means.iloc[0],
        "rest": means.iloc[1],
        "better": int((gain > 0).sum()),
        "worse": int((gain < 0).sum()),
        "p_value": wilcoxon(gain).pvalue if gain.any() else np.nan,
    }


def plot(frame):
    """The loss of the rest less that of the whole, a dot for each part and a panel for
    each metric.

    Parameters
    ----------
    frame : DataFrame
        As for :func:`table`.
    """
    rows = table(frame)
    metrics = list(rows["metric"].unique())
    figure, axes = axes_grid(1, len(metrics), width=5.5, height=5.0)
    for ax, metric in zip(np.atleast_1d(axes), metrics, strict=True):
        part = rows[rows["metric"] == metric]
        sign = -1 if GREATER_IS_BETTER[metric] else 1
        worse = (sign * (part["rest"] - part["whole"])).to_numpy()
        places, clear = np.arange(len(part)), part["p_value"].to_numpy() < 0.05
        ax.axvline(0, color="0.7")
        ax.scatter(worse[clear], places[clear], color="C3", label="p < 0.05")
        ax.scatter(worse[~clear], places[~clear], color="0.5", label="else")
        ax.set_yticks(places, part["without"])
        ax.invert_yaxis()
        ax.set_title(f"{metric}: worse without, by")
    np.atleast_1d(axes)[0].legend(fontsize=8)
    return figure
