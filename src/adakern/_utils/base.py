"""What estimators have in common, in addition to scikit-learn's base classes."""

from dataclasses import dataclass
from typing import Any, dataclass_transform

from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils import get_tags

from adakern._utils.arrays import as_numpy, output_like


@dataclass_transform()
def parameters(estimator):
    """Class decorator: the fields of an estimator are its parameters."""
    return dataclass(estimator, eq=False, repr=False)


def takes_several(estimator):
    """Whether an estimator supports several targets, and so do all steps of a pipeline
    that use them; a pipeline's own tags are those of its last step.
    """
    steps = [step for _, step in getattr(estimator, "steps", [("", estimator)])]
    tags = [get_tags(step).target_tags for step in steps if hasattr(step, "fit")]
    return all(of_y.multi_output or not of_y.required for of_y in tags)


class ScoreClassifierMixin(ClassifierMixin):
    """Mixin for classifiers that predict by the sign or maximum of decision values."""

    def predict(self, X: ArrayLike) -> Any:
        """Predict the class of each row of X, shape (n,).

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, m) if the kernel is precomputed
        """
        scores = as_numpy(self.decision_function(X))
        codes = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return output_like(self.classes_[codes.astype(int)], X)
