# The whole workflow at a glance:
#
#   data -> split -> search -> solve -> compare -> figures -> report
#              \                    \-> track (MLflow)   /
#               \-> special ----------------------------/
#
# snakemake --cores 4 --config experiment=dank_uci
# snakemake --cores 4 --config experiment=dank_uci \
#     overrides="protocol.repeats=3 dataset=[heart,sonar]"
import re
import time

from snakemake.exceptions import WorkflowError

from adakern.bench.config.compose import ConfigError
from adakern.bench.config.plan import plan_from_snakemake
from adakern.bench.report.publish import log_run

try:
    PLAN = plan_from_snakemake(config)
except ConfigError as error:
    raise WorkflowError(str(error)) from None

RESULTS = str(PLAN.results)
STAGE = "../scripts/stage.py"
STARTED = []


def one_of(names):
    """A wildcard that is one of the names, and nothing where there are none."""
    return "|".join(map(re.escape, names)) or r"(?!)"


wildcard_constraints:
    dataset=r"[^/]+",
    method=r"[^/]+",
    batch=r"\d+-\d+",


include: "workflow/rules/data.smk"
include: "workflow/rules/splits.smk"
include: "workflow/rules/search.smk"
include: "workflow/rules/solve.smk"
include: "workflow/rules/compare.smk"
include: "workflow/rules/special.smk"
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
        [str(PLAN.table(dataset)) for dataset in PLAN.table_names],
