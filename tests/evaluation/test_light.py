"""Evaluation works where only the library's own dependencies are installed."""

import subprocess
import sys

CODE = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "scikit_posthocs", "mlflow", "matplotlib", "jinja2"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from adakern.evaluation import compare_methods, rank_methods, score
scores = {"a": [0.8, 0.9, 0.7], "b": [0.7, 0.85, 0.7], "c": [0.6, 0.7, 0.5]}
assert len(compare_methods(scores, n_train=6, n_test=4)) == 3
assert rank_methods(list(zip(*scores.values()))).n_datasets == 3
assert score("classification", [0, 1], [0, 1])["f1"] == 1
"""


def test_plain_arrays_need_no_pandas():
    subprocess.run([sys.executable, "-c", CODE], check=True)
