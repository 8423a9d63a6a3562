"""Ablation of the flagship: each part is removed in turn from one fit."""

from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, root_mean_squared_error
from sklearn.utils import check_random_state

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern.adaptive.blend import fit_blend
from adakern.adaptive.choose import choose
from adakern.adaptive.fit_all import Limits, fit_all
from adakern.adaptive.members import REGISTRY
from adakern.adaptive.model import EqualRows, make_model
from adakern.adaptive.prepare import prepare
from adakern.adaptive.views import TreeView
from adakern.evaluation import GREATER_IS_BETTER, probability_scores
from adakern.evaluation.significance import compare_over_sets, holm_correction
from adakern_bench.report.figures import grid

#: The unmodified flagship; other variants lack a part.
WHOLE = "nothing"

#: Groups of members that are removed together: kernels with one scale per feature
#: (True) or a single scale (False), and trees.
SCALES = {m.name: getattr(m, "per_feature", None) for m in REGISTRY.values()}
GROUPS = {
    "scales per feature": [name for name in REGISTRY if SCALES[name] is True],
    "one scale for all": [name for name in REGISTRY if SCALES[name] is False],
    "trees": [name for name, m in REGISTRY.items() if m.view is TreeView],
}


def compute(data, seed, *, task):
    """Test losses of the flagship, and of the flagship without each of its parts.

    The members are fitted once; the blend is fitted again for each subset of them.
    Returns a DataFrame with the columns `without`, `metric` and `value`.
    """
    flagship, losses = TASKS[task]
    problem, members = fitted(flagship(random_state=seed), data.X_train, data.y_train)
    X = problem.reader.transform(data.X_test)
    return pd.DataFrame(
        [
            {"without": without, "metric": metric, "value": value}
            for without, ensemble in variants(problem, members)
            for metric, value in losses(ensemble, X, data.y_test).items()
        ]
    )


def fitted(flagship, X, y):
    """Return the prepared problem of a flagship and its fitted members."""
    rng = check_random_state(flagship.random_state)
    problem = prepare(flagship, X, y, rng=rng)
    members = choose(flagship.members, problem.shape, problem.setting, rng)
    limits = Limits(may_drop=flagship.members == "auto")
    return problem, fit_all(problem, members, limits, rng)[0]


def variants(problem, everyone):
    """Yield the name of each part, and a model without it."""

    def model(members, blend):
        return make_model(problem, members, blend, np.random.RandomState(0))

    members = {member.name: member for member in everyone}
    blend = fit_blend(problem, everyone)
    whole = model(everyone, blend)
    best = max(zip(blend.scores, members, strict=True))[1]
    taken = {name: [name] for name in members} | GROUPS
    taken["blending"] = [name for name in members if name != best]
    yield WHOLE, whole
    for without, names in taken.items():
        left = [member for name, member in members.items() if name not in names]
        if left and len(left) < len(members):
            yield without, model(left, fit_blend(problem, left))
    by_folds = fit_blend(problem, everyone, by="predicted")
    yield "closed-form weights", model(everyone, by_folds)
    folds_alone = [_with_fits(member, whole=None) for member in everyone]
    yield "refit on all rows", model(folds_alone, by_folds)
    one_fold = [_with_fits(m, models=m.fits.models[:1]) for m in everyone]
    yield "mean over folds", model(one_fold, blend)
    yield "targets of equal rows", replace(whole, equal_rows=EqualRows())


def _with_fits(member, **changes):
    return replace(member, fits=replace(member.fits, **changes))


def _class_losses(ensemble, X, y):
    proba = ensemble.predict(X)
    classes = ensemble.blend.classes
    return {
        "accuracy": accuracy_score(y, classes[proba.argmax(axis=1)]),
        "log_loss": probability_scores(y, proba, classes)["log_loss"],
    }


def _regression_losses(ensemble, X, y):
    predicted = ensemble.predict(X)[:, 0] * ensemble.blend.unit
    return {"rmse": root_mean_squared_error(y, predicted) / np.std(y)}


TASKS = {
    "classification": (AdaptiveKernelClassifier, _class_losses),
    "regression": (AdaptiveKernelRegressor, _regression_losses),
}


def table(frame):
    """Loss without each part, over the data sets where the part can be removed.

    There is one row per metric and part, with the mean losses of the flagship
    (``whole``) and of the flagship without the part (``rest``), which for ``rmse``, the
    error relative to the target's standard deviation, are geometric means; the number
    of data sets on which the rest is ``better`` or ``worse``; the two-sided ``p_value``
    of Wilcoxon's signed-rank test, NaN if no data set differs; and the same after
    Holm's correction over all parts of a metric.
    """
    rows = []
    for metric, part in frame.groupby("metric"):
        relative = metric == "rmse"
        values = part.pivot(index="dataset", columns="without", values="value")
        values = np.log(values) if relative else values
        for without in values.columns.drop(WHOLE):
            whole, rest = values[[WHOLE, without]].dropna().to_numpy().T
            found = compare_over_sets(
                rest, whole, greater_is_better=GREATER_IS_BETTER[metric]
            )
            means = np.array([whole.mean(), rest.mean()])
            means = np.exp(means) if relative else means
            rows.append(
                {
                    "metric": metric,
                    "without": without,
                    "n_datasets": found.n_datasets,
                    "whole": means[0],
                    "rest": means[1],
                    "better": found.better,
                    "worse": found.worse,
                    "p_value": found.pvalue,
                }
            )
    rows = pd.DataFrame(rows)
    return rows.assign(
        holm_p_value=rows.groupby("metric")["p_value"].transform(holm_correction)
    )


def plot(frame):
    """Plot the change of the mean loss without each part, with a panel per metric."""
    panels = list(table(frame).groupby("metric"))
    figure, axes = grid(1, len(panels), 5.5, 5.0)
    for ax, (metric, rows) in zip(axes[0], panels, strict=True):
        sign = -1 if GREATER_IS_BETTER[metric] else 1
        ax.axvline(0, color="0.7")
        for sure, style in ((True, "C3o"), (False, "C7o")):
            here = rows[(rows["holm_p_value"] < 0.05) == sure]
            label = "p < 0.05 after Holm" if sure else "else"
            ax.plot(
                sign * (here["rest"] - here["whole"]),
                here["without"],
                style,
                label=label,
            )
        ax.invert_yaxis()
        ax.set_title(f"{metric}: worse without, by")
    figure.axes[0].legend(fontsize=8)
    return figure
