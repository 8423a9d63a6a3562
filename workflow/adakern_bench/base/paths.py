"""Paths of the repository and of an experiment's files.

Rules state their own inputs and outputs; these are the files that other code uses.
"""

import json
import os
import sys
from pathlib import Path

#: The repository, which contains the Snakefile, ``conf/`` and ``methods/``.
ROOT = Path(__file__).resolve().parents[3]
CONF = ROOT / "conf"
SCRIPTS = ROOT / "workflow" / "scripts"
#: Modules with computations, figures and tables of particular experiments.
SPECIAL = ROOT / "workflow" / "special"
#: Templates of the report.
TEMPLATES = ROOT / "workflow" / "adakern_bench" / "report" / "templates"
#: Tables of published numbers.
PUBLISHED = Path("data/published")
#: Environment variable that names the mirror if the configuration does not.
MIRROR_VARIABLE = "ADAKERN_DATA_MIRROR"
#: Suffix of the marker file beside a result that must be computed again, even if parts
#: of it are kept.
AGAIN = ".again"

# YAML files name modules in these two folders: methods.mine.Mine, dank_boundary.plot.
sys.path += [path for path in (str(ROOT), str(SPECIAL)) if path not in sys.path]


def results_of(config):
    """Folder of an experiment's results."""
    return Path(config.results) / config.name


def columns_of(cache, name):
    """File that lists how the columns of a user's table were read, until its entry is
    edited; the report takes the title from its name.
    """
    return Path(cache) / "raw" / name / "how_columns_were_read.csv"


def raw_folders(data):
    """Folders with the files of data sets: that of the cache and any mirror."""
    mirror = data.mirror or os.environ.get(MIRROR_VARIABLE)
    return [Path(data.cache) / "raw", *map(Path, filter(None, [mirror]))]


def listed(paths):
    """Yield result files, replacing the file of a group by the files that it lists."""
    for path in map(Path, paths):
        is_group = path.suffix in (".tables", ".cells")
        yield from map(Path, json.loads(path.read_text())) if is_group else [path]


def kept_model(results, record):
    """Folder of a record's model; None if it has none."""
    cell = Path(results) / "models" / record["dataset"] / record["method"]
    files = cell.glob(f"*/{record['repeat']}/MLmodel")
    return next((file.parent for file in files), None)


def repeats_of(path):
    """Repeats in a file named after its batch.

    >>> from adakern_bench.base.paths import repeats_of
    >>> list(repeats_of("results/quickstart/records/heart/svm-cv/2-4.json"))
    [2, 3, 4]
    """
    first, last = Path(path).stem.split("-")
    return range(int(first), int(last) + 1)
