"""Summaries of fitted adaptive estimators for terminals and notebooks, and a plot."""

import html

import numpy as np
from sklearn.base import is_classifier

from adakern._utils.wording import count

#: Maximum number of members listed, and length of the longest bar in characters.
MOST_MEMBERS, BAR = 12, 20

#: Maximum number of targets whose scores are listed.
MOST_TARGETS = 20


class Summarised:
    """Mixin for summaries of fitted models; unfitted models show their parameters."""

    def __str__(self):
        is_fitted = self.__sklearn_is_fitted__()
        return "\n".join([repr(self), *(_lines(self) if is_fitted else ())])

    def _repr_html_inner(self):
        summary = _as_html(self) if self.__sklearn_is_fitted__() else ""
        return super()._repr_html_inner() + summary

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs) | {"text/plain": str(self)}
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def plot(self, X=None, y=None):
        """Plot the members, the importances and, if y is given, the errors.

        Needs matplotlib.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d), default=None
            Rows to predict, preferably rows that were not used for fitting.
        y : array-like of shape (n,), default=None
            Targets of X. If given, a third panel shows predicted against true values,
            or the reliability of the probability of the predicted class.

        Returns
        -------
        ndarray of matplotlib Axes
        """
        from matplotlib import pyplot

        from adakern.adaptive.plot import plot_adaptive, plot_errors

        n_axes = 2 if X is None else 3
        size = (5 * n_axes, 4)
        _, axes = pyplot.subplots(1, n_axes, figsize=size, layout="constrained")
        plot_adaptive(self, axes=axes[:2])
        if X is not None:
            plot_errors(self, X, y, axes[2])
        return axes


def _score_line(model):
    name, constant = "R²", "the mean"
    if is_classifier(model):
        name, constant = "accuracy", "the largest class"
    return (
        f"out-of-fold {name} {model.oof_score_:.4f} "
        f"({constant} alone: {model.constant_score_:.4g})"
    )


def _rows_line(model):
    """Line with the numbers of training rows and features."""
    left_out = np.isnan(model.oof_prediction_).reshape(len(model.oof_prediction_), -1)
    n_used = int((~left_out.any(axis=1)).sum())
    return f"{count(n_used, 'row')}, {count(model.n_features_in_, 'feature')}"


def _used(model):
    return [member for member in model.members_ if member.weight > 0][:MOST_MEMBERS]


def _target_lines(model):
    """Yield the score of each target, if there are several."""
    if len(scores := getattr(model, "oof_scores_", ())) > 1:
        pairs = list(zip(model.targets_, scores, strict=True))
        yield from (
            f"  {name!s:18} {score:.4f}" for name, score in pairs[:MOST_TARGETS]
        )
        if len(scores) > MOST_TARGETS:
            yield f"  and {len(scores) - MOST_TARGETS} more targets (oof_scores_)"


def _lines(model):
    yield _rows_line(model)
    yield _score_line(model)
    yield from _target_lines(model)
    for member in _used(model):
        bar = "█" * round(BAR * member.weight / model.members_[0].weight)
        yield f"  {member.name:18} {member.weight:6.1%} {bar}"


def _as_html(model):
    """Format the summary as HTML, with bars that need no script."""
    rows = "".join(
        f"<tr><td style='text-align:left'>{html.escape(member.name)}</td>"
        f"<td>{member.weight:.1%}</td><td><div style='background:#0072b2;height:.8em;"
        f"width:{9 * member.weight / model.members_[0].weight:.2f}em'></div></td></tr>"
        for member in _used(model)
    )
    lines = _rows_line(model), _score_line(model), *_target_lines(model)
    text = "<br>".join(map(html.escape, lines))
    return f"<p>{text}</p><table>{rows}</table>"
