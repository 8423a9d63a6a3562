"""
What ``compare`` and ``fit`` infer from a file
==============================================

``adakern compare my.csv --target outcome`` and ``adakern fit`` first infer the kinds of
the columns, and print:
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from adakern.datasets import read_table

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
    table = read_table(path, "outcome")
print("\n".join(table.notes))
print(table.X.dtypes.to_string())
