"""Wheels of a method whose pinned versions conflict with the workflow's."""

import zipfile
from pathlib import Path

import numpy as np

#: An old package, and a method that needs it.
OLD = {"sklearn/__init__.py": '__version__ = "0.1"\n'}
TINY = {
    "tiny/__init__.py": """\
import numpy as np
import sklearn

assert sklearn.__version__ == "0.1"


class Centres:
    def __init__(self, shrink=0.0, random_state=None):
        self.shrink, self.random_state = shrink, random_state

    def fit(self, X, y):
        if self.shrink > 5:
            raise ValueError("shrink is too large")
        print("a line that is no answer")
        self.classes_ = np.unique(y)
        means = np.array([X[y == label].mean(axis=0) for label in self.classes_])
        self.centres_ = means * (1 - self.shrink) + X.mean(axis=0) * self.shrink
        return self

    def predict_proba(self, X):
        far = ((X[:, None] - self.centres_) ** 2).sum(axis=2)
        near = np.exp(far.min(axis=1, keepdims=True) - far)
        return near / near.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Means:
    def fit(self, X, y):
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)
"""
}


def wheel(folder, name, number, files, needs=()):
    """Write a wheel with these files."""
    stem = f"{name.replace('-', '_')}-{number}"
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n"
    about += "".join(f"Requires-Dist: {need}\n" for need in needs)
    tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    info = f"{stem}.dist-info"
    files = files | {f"{info}/METADATA": about, f"{info}/WHEEL": tags}
    listed = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as archive:
        for path, text in (files | {f"{info}/RECORD": listed}).items():
            archive.writestr(path, text)


def write_wheels(folder, name="tiny", versions=("1.5",)):
    """Write wheels of the method, an old scikit-learn, and a link to NumPy."""
    wheel(folder, "scikit-learn", "0.1", OLD)
    for number in versions:
        needs = ["scikit-learn==0.1", "of-the-workflow"]
        files = {path.replace("tiny", name): text for path, text in TINY.items()}
        wheel(folder, name, number, files, needs)
    # NumPy; the environment of a real method has it from its lock file.
    place = str(Path(np.__file__).parents[1])
    wheel(folder, "of-the-workflow", "1.0", {"of_the_workflow.pth": f"{place}\n"})
    return folder
