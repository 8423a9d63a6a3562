"""Figure 2 of Liu et al. (AAAI 2018): how the pairwise layer changes the boundary."""

from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from adakern.knpl import KNPLClassifier
from plane import over_plane, plot_boundaries, table_of_accuracies
from shared import fit_quietly, tuned


def compute(data, seed, *, multiples=(0.1, 1.0, 10.0, 100.0, 1000.0), n_grid=80):
    """Decision values of the tuned SVM and of KNPL over the plane, and the layer G."""
    X = data.X_train
    y = data.y_train
    svm = tuned(SVC(), X, y)
    grid = {"reg": [multiple * svm.C**2 for multiple in multiples]}
    search = GridSearchCV(KNPLClassifier(C=svm.C, gamma=svm.gamma), grid, cv=5)
    knpl = fit_quietly(search, X, y).best_estimator_
    return over_plane({"svm": svm, "knpl": knpl}, knpl.pairwise_layer_, data, n_grid)


def plot(frame):
    """Plot both boundaries over the training rows, and the entries of G."""
    return plot_boundaries(frame, ["dataset"], "knpl", "G")


def table(frame):
    """Accuracies of both classifiers."""
    return table_of_accuracies(frame, ["dataset"], "knpl")
