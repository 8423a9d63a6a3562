# The whole workflow at a glance:
#
#   table -> split -> search -> solve -> compare -> figures -> report
#               \                   \-> track (MLflow)   /
#                \-> special ----------------------------/
#
# snakemake --cores 4 --config experiment=dank_uci
# snakemake --cores 4 --config experiment=dank_uci \
#     overrides="protocol.repeats=3 dataset=[heart,sonar]"
#
# One result alone, with all that it needs (--force: again):
# snakemake --cores 4 --config experiment=dank_uci -- \
#     results/dank_uci/records/heart/dank/0-9.json
import os
import re
import sys
import time

from snakemake.exceptions import WorkflowError

# The project's own modules, as _target_ and figures name them, lie beside this file.
sys.path.append(workflow.basedir)

from adakern_bench.config import settings
from adakern_bench.config.compose import ConfigError
from adakern_bench.config.plan import plan_from_snakemake
from adakern_bench.config.sources import check_tables, placed_by_hand
from adakern_bench.config.sweeps import base_name
from adakern_bench.report.publish import log_run
from adakern_bench.runtime.turns import RunningAlready, take_turn

STARTED = time.time()

try:
    PLAN = plan_from_snakemake(config, workflow.config_settings.config)
    for word in check_tables(PLAN):
        logger.warning(word)
except ConfigError as error:
    raise WorkflowError(str(error)) from None

# Several jobs at a time, each with threads of its own, would slow each other down.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, str(PLAN.config.jobs.threads))

RESULTS = str(PLAN.results)
DATA = PLAN.config.data.cache
PUBLISHED = [f"data/published/{PLAN.config.published}.csv"] * bool(
    PLAN.config.published
)
STAGE = "../scripts/stage.py"


def table_of(dataset):
    """The table of a data set, whatever part of its rows is taken."""
    return f"{DATA}/tables/{base_name(dataset)}.npz"


def one_of(names):
    """What a wildcard may be: one of the names, nothing where there are none."""
    return "|".join(map(re.escape, names)) or r"(?!)"


wildcard_constraints:
    dataset=r"[^/]+",
    datasets=r"\d+-\d+",
    method=r"[^/]+",
    batch=r"\d+-\d+",
    special=one_of(PLAN.config.special),
    figure=one_of(PLAN.figures()),
    name=one_of(PLAN.tables()),


include: "workflow/rules/table.smk"
include: "workflow/rules/split.smk"
include: "workflow/rules/search.smk"
include: "workflow/rules/solve.smk"
include: "workflow/rules/compare.smk"
include: "workflow/rules/special.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/track.smk"


onstart:
    jobs = [job for job in workflow.dag.needrun_jobs() if job.rule.name == "table"]
    try:
        take_turn(RESULTS, [job.output.table for job in jobs], STARTED)
    except RunningAlready as error:
        raise WorkflowError(str(error)) from None


# Time spent on an experiment, over all the calls that it took; `make publish` tells it.
onsuccess:
    log_run(PLAN.results, STARTED, workflow.resource_settings.cores)


onerror:
    log_run(PLAN.results, STARTED, workflow.resource_settings.cores)


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
