"""Score of a model of `adakern fit` on left-out rows, and its report."""

import numpy as np
from sklearn.base import clone
from sklearn.metrics import average_precision_score, precision_recall_curve
from sklearn.model_selection import GroupKFold, cross_val_predict

from adakern._utils.printable import as_written
from adakern._utils.warn import note
from adakern.adaptive.coverage import coverage_by, coverage_lines
from adakern.evaluation import probability_scores, score

#: Fraction of the rows, the latest ones, on which a method without out-of-fold
#: predictions is scored if rows have times.
LATEST = 0.2

#: Maximum number of categories of a column for which the model card lists errors. Of
#: groups, it lists at most so many, those with the greatest errors.
FEW_CATEGORIES = 20


def fit_table(pipeline, table):
    """Fit the pipeline, passing times or groups of the rows to the flagship."""
    given = {}
    if hasattr(pipeline[-1], "members"):
        if table.times is not None:
            given = {"model__time": table.times}
        elif table.groups is not None:
            given = {"model__groups": table.groups}
    pipeline.fit(table.X, table.y, **given)


def score_left_out(pipeline, table):
    """Score on left-out rows, or None, with a note, if it cannot be computed."""
    try:
        return _score(table, *_held_out(pipeline, table))
    except ValueError as error:
        note(f"no score on left-out rows, since a fit to part of them failed: {error}")
        return None


def _held_out(pipeline, table):
    """Return positions, predictions and class probabilities (or None) of left-out rows.

    The predictions come from models that were not fitted to these rows.
    """
    rows = np.arange(len(table.y))
    model = pipeline[-1]
    has_its_own = hasattr(model, "oof_prediction_")
    if table.times is not None and not has_its_own:
        rows = np.argsort(table.times.to_numpy(), kind="stable")
        early, late = np.split(rows, [round(len(rows) * (1 - LATEST))])
        first = clone(pipeline).fit(table.X.iloc[early], table.y.iloc[early])
        new = table.X.iloc[late]
        has_classes = hasattr(first, "predict_proba")
        proba = first.predict_proba(new) if has_classes else None
        return late, first.predict(new), proba
    if not has_its_own:
        groups = rows if table.groups is None else table.groups
        folds = GroupKFold(min(5, len(set(groups))), shuffle=True, random_state=0)
        values = cross_val_predict(pipeline, table.X, table.y, groups=groups, cv=folds)
        return rows, values, None
    predicted = model.oof_prediction_
    seen = ~np.isnan(predicted).reshape(len(rows), -1).any(axis=1)
    rows, predicted = rows[seen], predicted[seen]
    if not hasattr(model, "classes_"):
        return rows, predicted, None
    return rows, model.predicted_classes(predicted), predicted


def _score(table, rows, predicted, proba):
    of = f"the {len(rows)} latest rows" if table.times is not None else "rows left out"
    y = table.y.iloc[rows]
    result = {"of": of, **score(table.task, y, predicted)}
    if hasattr(y, "columns"):
        known = y.notna().to_numpy()
        pairs = zip(y.columns, predicted.T, strict=True)
        result["targets"] = {
            name: score(table.task, y[name][rows], target_values[rows])
            for (name, target_values), rows in zip(pairs, known.T, strict=True)
            if rows.any()
        }
    result["by_category"] = errors_by_category(table, rows, predicted)
    if table.task == "classification":
        shares = y.value_counts(normalize=True)
        result["largest_class"] = float(shares.iloc[0])
        if proba is not None and len(shares) == proba.shape[1]:
            result |= probability_scores(y, proba, np.unique(table.y))
            result |= rare_class_scores(y, proba, shares) if len(shares) == 2 else {}
    return result


def errors_by_category(table, rows, predicted):
    """Map columns and their categories or groups to numbers of rows and errors.

    The greatest errors come first. The error is the error rate or the root mean squared
    error. For several targets, errors are in units of each target's standard deviation.
    """
    y = table.y.iloc[rows]
    is_share = table.task == "classification"
    missed = (y != predicted).astype(float) if is_share else (y - predicted) ** 2
    if hasattr(y, "columns"):
        missed = (missed / y.var(ddof=0)).mean(axis=1)
    groups = {}
    for name, values in grouping_columns(table).items():
        of = values.iloc[rows]
        is_group = table.groups is not None and name == str(table.groups.name)
        if is_group or of.nunique() <= FEW_CATEGORIES:
            means = missed.groupby(of.set_axis(missed.index)).agg(["size", "mean"])
            means = means.sort_values("mean", ascending=False)[:FEW_CATEGORIES]
            errors = means["mean"] if is_share else means["mean"] ** 0.5
            groups[name] = {
                str(level): {"rows": int(n), "error": float(error)}
                for level, n, error in zip(
                    means.index, means["size"], errors, strict=True
                )
            }
    return groups


def grouping_columns(table):
    """Columns by which errors are listed: the categorical columns and the groups."""
    kinds = {
        name: table.X[name]
        for name, kind in table.kinds.items()
        if kind == "categorical"
    }
    if table.groups is not None:
        # Group labels such as patient numbers are integers, but are read as floats.
        kinds[str(table.groups.name)] = table.groups.convert_dtypes().astype(str)
    return kinds


def rare_class_scores(y, proba, shares):
    """Average precision of the rarer class, and precision and recall at a threshold.

    The threshold balances precision and recall.
    """
    rare = shares.index[-1]
    p = proba[:, int(rare == max(shares.index))]
    truth = y == rare
    precision, recall, at = precision_recall_curve(truth, p)
    where = np.abs(precision - recall)[:-1].argmin()
    return {
        "rare_class": rare,
        "rare_share": float(shares.iloc[-1]),
        "average_precision": float(average_precision_score(truth, p)),
        "threshold": float(at[where]),
        "precision": float(precision[where]),
        "recall": float(recall[where]),
    }


def coverage_left_out(model, table):
    """Out-of-fold coverage of intervals or sets by category and group, if known."""
    covered = getattr(model, "oof_covered_", [])
    if len(covered) != len(table.y):
        return {}
    kinds = grouping_columns(table)
    if covered.ndim == 1:
        return coverage_by(covered, kinds)
    return {
        f"{target}, by {name}": shares
        for target, target_values in zip(table.y.columns, covered.T, strict=True)
        for name, shares in coverage_by(target_values, kinds).items()
    }


def print_coverage(coverage):
    """Print the coverage of intervals or sets, if it is known."""
    if coverage:
        print("\nCoverage of 90% intervals or sets on rows left out, lowest first:")
        print("\n".join(coverage_lines(coverage)))


def print_result(model, kinds, score):
    """Print the score, the members and the importances of the columns."""
    if score is not None:
        print_score(score)
    if hasattr(model, "members_"):
        if not model.verbose:  # otherwise, fit has printed them
            print(f"\n{model.members_}")
        print("\nPermutation importances:")
        shares = zip(model.feature_importances_, kinds, strict=True)
        for share, name in sorted(shares, reverse=True)[:20]:
            print(f"  {share:6.1%}  {name}")


def print_score(score):
    """Print the score on left-out rows."""
    if "accuracy" in score:
        text = "accuracy {accuracy:.1%} (the largest class alone: {largest_class:.1%})"
        text += ", balanced accuracy {balanced_accuracy:.1%}"
    else:
        text = "R² {r2:.4g} (the mean alone: 0), root mean squared error "
        text += as_written(score["rmse"], 4)
    several = score.get("targets", {})
    if several:
        text = "R² {r2:.4g}, the mean over " + f"{len(several)} targets"
    print(f"\nOn {score['of']}: {text.format(**score)}")
    for name, target_values in several.items():
        error = as_written(target_values["rmse"], 4)
        line = f"R² {target_values['r2']:.4g}, root mean squared error {error}"
        print(f"  {name}: {line}")
    if score.get("auc") is not None:
        line = "  area under the ROC curve {auc:.1%}, Brier score {brier:.4f} (0 to 2)"
        print(line.format(**score))
    if "average_precision" in score:
        line = (
            "  {rare_class!r} ({rare_share:.1%} of the rows): average precision "
            "{average_precision:.1%}; at a probability threshold of {threshold:.3g}, "
            "precision {precision:.1%}, recall {recall:.1%} (--threshold)"
        )
        print(line.format(**score))
