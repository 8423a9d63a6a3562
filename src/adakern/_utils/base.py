"""The base of all estimators: scikit-learn's, with links to adakern's own pages."""

from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin

#: What `make docs` writes, beside a checkout.
BUILT = Path(__file__).resolve().parents[3] / "docs" / "_build" / "html"


class Estimator(BaseEstimator):
    """scikit-learn's base, whose picture in a notebook links to the API page."""

    _doc_link_module = "adakern"

    @property
    def _doc_link_template(self):
        home = documentation()
        return f"{home}/api/{{page}}.html" if home else ""

    def _doc_link_url_param_generator(self):
        # Baselines are imported from their room, all others from adakern itself.
        baseline = type(self).__module__.startswith("adakern.baselines.")
        room = "adakern.baselines" if baseline else "adakern"
        return {"page": f"{room}.{type(self).__qualname__}"}


class ScoreClassifierMixin(ClassifierMixin):
    """A classifier whose ``decision_function`` decides: its sign, or the greatest score."""

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The class of each row of X, shape (n,).

        Parameters
        ----------
        X : array-like of shape (n, d)
        """
        scores = self.decision_function(X)
        codes = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes.astype(int)]


def documentation():
    """Address of the documentation: the one built here, else that of the package."""
    if (BUILT / "index.html").exists():
        return BUILT.as_uri()
    try:
        stated = metadata("adakern").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    urls = dict(line.split(", ", 1) for line in stated)
    return urls.get("Documentation", "").rstrip("/")
