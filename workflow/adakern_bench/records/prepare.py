"""From a table and a split to the arrays that an estimator sees."""

from dataclasses import dataclass

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

__all__ = ["Prepared", "complete", "prepare"]

SCALERS = {
    "unit": MinMaxScaler,
    "symmetric": lambda: MinMaxScaler(feature_range=(-1, 1)),
    "standard": StandardScaler,
}


@dataclass
class Prepared:
    """Scaled features and targets; ``restore`` takes predictions to target units."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    centre: float = 0.0
    spread: float = 1.0

    @property
    def y_fit(self):
        """Training targets in the units that the estimator is fitted in."""
        if self.centre == 0.0 and self.spread == 1.0:
            return self.y_train
        return (self.y_train - self.centre) / self.spread

    def restore(self, prediction):
        """Predictions in the target's own units (labels pass unchanged)."""
        if self.centre == 0.0 and self.spread == 1.0:
            return prediction
        return prediction * self.spread + self.centre


def prepare(table, train, test, *, scale="unit", scale_fit="train", scale_target="none", clip=None):
    """Complete, clip and scale the features, on statistics of the training part."""
    X = complete(table, train)
    reference = X[train] if scale_fit == "train" else X
    if clip:
        low, high = np.percentile(reference, clip, axis=0)
        X, reference = np.clip(X, low, high), np.clip(reference, low, high)
    X_train, X_test = X[train], X[test]
    if scale != "none":
        scaler = SCALERS[scale]().fit(reference)
        X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    prepared = Prepared(X_train, table.y[train], X_test, table.y[test])
    if scale_target == "standard" and table.task == "regression":
        prepared.centre = float(prepared.y_train.mean())
        prepared.spread = float(prepared.y_train.std()) or 1.0
    return prepared


def complete(table, train):
    """Features with their gaps filled and their words as columns of 0 and 1.

    Medians and words are those of the training part: a word that it does not hold has
    no column, and a gap among words is a word of its own where that part has one.
    """
    X = table.X
    is_word = np.array([name in table.categories for name in table.feature_names])
    if not is_word.any() and np.isfinite(X).all():
        return X
    filler = SimpleImputer(strategy="median", keep_empty_features=True)
    parts = []
    if not is_word.all():
        parts.append(filler.fit(X[train][:, ~is_word]).transform(X[:, ~is_word]))
    if is_word.any():
        words = np.nan_to_num(X[:, is_word], nan=-1.0)
        encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        parts.append(encoder.fit(words[train]).transform(words))
    return np.hstack(parts)
