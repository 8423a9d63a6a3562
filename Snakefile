# Overview of the workflow:
#
#   table -> split -> search -> solve -> compare -> figures -> report
#               \                   \-> track (MLflow)   /
#                \-> special ----------------------------/
#
# snakemake --cores 4 --config experiment=dank_uci
# snakemake --cores 4 --config experiment=dank_uci \
#     overrides="protocol.repeats=3 dataset=[heart,sonar]"
#
# A single result with all its inputs (add --force to compute it again):
# snakemake --cores 4 --config experiment=dank_uci -- \
#     results/dank_uci/records/heart/dank/0-9.json
import atexit
import os
import re
import signal
import sys
import time

from snakemake.exceptions import WorkflowError

from adakern_bench.config.compose import ConfigError
from adakern_bench.config.plan import plan_from_snakemake
from adakern_bench.config.run import load_run, run_of, write_parts, write_run
from adakern_bench.data.sources import check_tables
from adakern_bench.config.entry import DatasetError
from adakern_bench.base.group_errors import print_group_errors
from adakern_bench.base.interpreter import interrupt, use_path_without_blanks
from adakern_bench.base.locks import (
    RunningAlready,
    claim,
    why_not_written,
    progress_file,
)
from adakern_bench.base.locks import release_when_made
from adakern_bench.records.machine import log_run

STARTED = time.time()
use_path_without_blanks()
LOCKS = []  # released when garbage-collected

if workflow.is_main_process:
    signal.signal(signal.SIGINT, interrupt)
    print_group_errors()

try:
    TYPED = workflow.config_settings.config
    if "run" in TYPED:  # the caller has resolved the configuration
        # The job of a group needs only its data sets.
        job = re.search(r"--target-jobs cells:group=(\d+) --", " ".join(sys.argv))
        PLAN = load_run(TYPED["run"], job and int(job[1]))
    else:
        PLAN = plan_from_snakemake(config, TYPED)
        workflow.config_settings.config_args = [f"run={run_of(PLAN)}"]  # for its jobs
    # Wait for another run that is making tables, since planning reads them.
    if workflow.is_main_process:
        TABLES_LOCK = claim(f"{PLAN.config.data.cache}/tables", wait=True)
        check_tables(PLAN)
except (ConfigError, DatasetError) as error:
    raise WorkflowError(str(error)) from None
except OSError as error:
    raise WorkflowError(why_not_written(error)) from None

# Concurrent jobs with many threads each would slow each other down.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, str(PLAN.config.jobs.threads))


include: "workflow/rules/common.smk"
include: "workflow/rules/parameters.smk"
include: "workflow/rules/steps.smk"


# Used only if Snakemake runs jobs in containers (docs/cluster.md).
container: "adakern.sif"


wildcard_constraints:
    dataset=r"[^/]+",
    method=r"[^/]+",
    batch=r"\d+-\d+",
    environment=r"[\w.-]+",
    group=r"\d+",
    special=one_of(PLAN.config.special),
    figure=one_of(PLAN.figures()),
    name=one_of(PLAN.tables()),


include: "workflow/rules/table.smk"
include: "workflow/rules/split.smk"
include: "workflow/rules/environment.smk"
include: "workflow/rules/search.smk"
include: "workflow/rules/solve.smk"
include: "workflow/rules/cells.smk"
include: "workflow/rules/compare.smk"
include: "workflow/rules/special.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/track.smk"


if workflow.is_main_process and "--dry-run" in sys.argv:  # it has no onstart
    atexit.register(print_upcoming)


onstart:
    jobs = list(workflow.dag.needrun_jobs())
    made = [file for job in jobs for file in tables_made(job)]
    release_when_made(TABLES_LOCK, made)
    try:
        LOCKS.append(claim(RESULTS, wait=False))
        write_run(PLAN)
        if not workflow.local_exec:
            write_parts(PLAN)
    except (ConfigError, RunningAlready) as error:
        raise WorkflowError(str(error)) from None
    except OSError as error:
        raise WorkflowError(why_not_written(error)) from None
    for job in jobs:
        if is_forced(job) and job.rule.name in FITTING:
            mark = Path(job.output[-1]).with_suffix(AGAIN)
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()
    # For the progress line (snakemake_logger_plugin_adakern).
    told = upcoming(jobs)
    facts = {
        "planned": {workflow.dag.jobid(j): work_of(j, told) for j in jobs},
        "progress": progress_file(RESULTS),
    }
    logger.info(str(told), extra=facts)


# Total time of all calls for an experiment, reported by `make publish`.
onsuccess:
    log_run(PLAN.results, STARTED, workflow.resource_settings.cores)


onerror:
    log_run(PLAN.results, STARTED, workflow.resource_settings.cores)


rule all:
    default_target: True
    input:
        f"{RESULTS}/report.html",
        [rules.track.output.mark] * PLAN.config.tracking.enabled,
    message:
        "all done"


rule data:
    input:
        tables_of(PLAN.table_names),
