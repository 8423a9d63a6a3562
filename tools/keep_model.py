"""Store model files of this version, which later versions must read.

``python tools/keep_model.py`` fits small models to a fixed table and writes them to
tests/models, with rows to predict and their predictions. It is a step of RELEASING.md;
run it again before a release if the classes of a model have changed.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from adakern._version import __version__
from adakern.model_file import load_model

#: Folder of the files.
FOLDER = Path(__file__).parents[1] / "tests" / "models"

#: Name of a model -> options of ``adakern fit``.
MODELS = {
    "adaptive": ["--preset", "fast"],
    "dank": ["--method", "adakern.DANKRegressor(C=10)"],
}


def table():
    """Return sixty rows of a number, a category, a date and the target."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "dose": rng.uniform(size=60).round(3),
            "ward": rng.choice(["north", "south"], size=60),
            "day": pd.date_range("2025-01-01", periods=60).strftime("%Y-%m-%d"),
        }
    )
    return rows.assign(cost=(rows["dose"] + (rows["ward"] == "north")).round(3))


def main():
    """Write the models of this version."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        table().to_csv(path, index=False)
        for name, options in MODELS.items():
            kept = FOLDER / f"{__version__}-{name}.skops"
            command = [Path(sys.executable).with_name("adakern"), "fit", str(path)]
            command += ["--target", "cost", "--output", str(kept), *options]
            subprocess.run(command, check=True)
            rows = table().drop(columns="cost").head(5)
            model, _ = load_model(kept)
            told = {
                "rows": rows.to_dict("list"),
                "predicted": np.ravel(model.predict(rows)).tolist(),
            }
            kept.with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
