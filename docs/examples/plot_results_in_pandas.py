"""
Results of a run in pandas
==========================

A published run is a folder of plain files. This example reads accuracies and ranks.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

results = Path.cwd().parent / "results"  # an example runs in its own folder
summary = pd.read_csv(results / "dank_uci" / "summary.csv.gz")
scores = summary[(summary["split"] == "test") & (summary["metric"] == "accuracy")]
table = scores.pivot(index="dataset", columns="method", values="mean")
print((100 * table).round(1).to_string())

ranks = pd.read_csv(results / "dank_uci" / "ranks.csv").sort_values("average_rank")
plt.barh(ranks["method"], ranks["average_rank"])
plt.xlabel("average rank over ten data sets")
