"""
A rare class
============

4 % of these rows belong to the class of interest. The most probable class is then
nearly always the other one, although the probabilities are informative:
``threshold="balanced"`` predicts the rare class from a lower probability on, without
changing the probabilities.
"""

from sklearn.datasets import make_classification
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split

from adakern import AdaptiveKernelClassifier

X, y = make_classification(
    800, 8, n_informative=4, weights=[0.96], class_sep=0.7, random_state=3
)
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
settings = {"members": ["rbf", "linear"], "random_state": 0}
for threshold in (None, "balanced"):
    model = AdaptiveKernelClassifier(threshold=threshold, **settings).fit(X, y)
    counts = confusion_matrix(y_test, model.predict(X_test)).ravel().tolist()
    of_others, false_alarms, missed, found = counts
    print(f"{threshold}: {found} found, {missed} missed, {false_alarms} false alarms")

# %%
# Summary of the model, and its plots; the third shows held-out rows.
print(model)
model.plot(X_test, y_test)
