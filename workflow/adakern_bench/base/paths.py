"""Paths of the parts of the repository and of the files of an experiment.

What a rule reads and writes is stated in the rule; here are the files that other code
looks for.
"""

import json
import os
import sys
from pathlib import Path

#: The repository: the Snakefile, ``conf/`` and ``methods/`` belong together.
ROOT = Path(__file__).resolve().parents[3]
CONF = ROOT / "conf"
SCRIPTS = ROOT / "workflow" / "scripts"
#: Special computations, figures and tables of the experiments, each a module.
SPECIAL = ROOT / "workflow" / "special"
#: Of the report's page.
TEMPLATES = ROOT / "workflow" / "adakern_bench" / "report" / "templates"
#: Tables of published numbers.
PUBLISHED = Path("data/published")
#: Names the mirror if the configuration has none.
MIRROR_VARIABLE = "ADAKERN_DATA_MIRROR"
#: Ending of the mark beside a result that is computed again, whatever is kept of it.
AGAIN = ".again"

# YAML files name modules of these two folders: methods.mine.Mine, dank_boundary.plot.
sys.path += [path for path in (str(ROOT), str(SPECIAL)) if path not in sys.path]


def results_of(config):
    """Folder of one experiment's results."""
    return Path(config.results) / config.name


def columns_of(cache, name):
    """File of how the columns of a user's table were read, until its entry is edited;
    the report shows it under this title.
    """
    return Path(cache) / "raw" / name / "how_columns_were_read.csv"


def raw_folders(data):
    """Folders with the files of data sets: in the cache, and the mirror, if any."""
    mirror = data.mirror or os.environ.get(MIRROR_VARIABLE)
    return [Path(data.cache) / "raw", *map(Path, filter(None, [mirror]))]


def listed(paths):
    """Yield files of results; the file of a group stands for those that it lists."""
    for path in map(Path, paths):
        is_group = path.suffix in (".tables", ".cells")
        yield from map(Path, json.loads(path.read_text())) if is_group else [path]


def kept_models(results, record):
    """Files of a record's model by their path in its folder; {} if it has none."""
    cell = Path(results) / "models" / record["dataset"] / record["method"]
    return {
        path.relative_to(folder).as_posix(): path
        for folder in cell.glob(f"*/{record['repeat']}")
        for path in folder.rglob("*")
        if path.is_file()
    }


def repeats_of(path):
    """Range of the repeats in a file that is named after its batch.

    >>> from adakern_bench.base.paths import repeats_of
    >>> list(repeats_of("results/quickstart/records/heart/svm-cv/2-4.json"))
    [2, 3, 4]
    """
    first, last = Path(path).stem.split("-")
    return range(int(first), int(last) + 1)
