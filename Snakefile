# The whole workflow at a glance:
#
#   table -> split -> search -> solve -> compare -> figures -> report
#                                   \-> track (MLflow)
#
# snakemake --cores 4 --config experiment=dank_uci
# snakemake --cores 4 --config experiment=dank_uci \
#     overrides="protocol.repeats=3 dataset=[heart,sonar]"
#
# One result alone, with all that it needs (--force: again):
# snakemake --cores 4 --config experiment=dank_uci -- \
#     results/dank_uci/records/heart/dank/0-9.json
import sys
import time

from snakemake.exceptions import WorkflowError

# The project's own modules, as _target_ and figures name them, lie beside this file.
sys.path.append(workflow.basedir)

from adakern.bench.config import settings
from adakern.bench.config.compose import ConfigError
from adakern.bench.config.plan import plan_from_snakemake
from adakern.bench.config.sources import check_tables, placed_by_hand
from adakern.bench.report.publish import log_run

try:
    PLAN = plan_from_snakemake(config)
    for word in check_tables(PLAN):
        logger.warning(word)
except ConfigError as error:
    raise WorkflowError(str(error)) from None

RESULTS = str(PLAN.results)
DATA = PLAN.config.data.cache
PUBLISHED = [f"data/published/{PLAN.config.published}.csv"] * bool(
    PLAN.config.published
)
STAGE = "../scripts/stage.py"
STARTED = []


wildcard_constraints:
    dataset=r"[^/]+",
    method=r"[^/]+",
    batch=r"\d+-\d+",
    study=r"\w+",


include: "workflow/rules/table.smk"
include: "workflow/rules/split.smk"
include: "workflow/rules/search.smk"
include: "workflow/rules/solve.smk"
include: "workflow/rules/compare.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/track.smk"


# Time spent on an experiment, over all the calls that it took; `make publish` tells it.
onstart:
    STARTED.append(time.time())


onsuccess:
    log_run(PLAN.results, STARTED, workflow.cores)


onerror:
    log_run(PLAN.results, STARTED, workflow.cores)


rule all:
    default_target: True
    input:
        f"{RESULTS}/report.html",
        tracked_files() if PLAN.config.tracking.enabled else [],
    message:
        "all done"


rule data:
    input:
        [f"{DATA}/tables/{dataset}.npz" for dataset in PLAN.table_names],
