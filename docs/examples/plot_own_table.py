"""
What is seen in a table of one's own
====================================

``adakern compare my.csv --target outcome`` looks at the file first. It sees this:
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from adakern_bench.data.infer import inferred_yaml

rng = np.random.default_rng(0)
frame = pd.DataFrame(
    {
        "patient_id": rng.permutation(60) + 1000,
        "dose": rng.normal(size=60).round(2),
        "ward": rng.choice(["north", "south"], size=60),
        "admitted": pd.date_range("2025-01-01", periods=60, freq="3D").astype(str),
    }
)
frame["outcome"] = np.where(frame["dose"] > 0, "ill", "well")
frame.loc[3, "dose"] = np.nan
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "my.csv"
    frame.to_csv(path, sep=";", decimal=",")
    text, _ = inferred_yaml("my-table", path, "my-table/my.csv", "outcome")
print(text)
