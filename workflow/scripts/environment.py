"""Create an environment from its lock file, or record why it failed."""

import sys

from adakern._utils.files import write_json
from adakern_bench.base.environments import make_environment
from adakern_bench.records.job import job

with job(snakemake):
    name = snakemake.wildcards.environment
    lock = snakemake.input.lock
    made = make_environment(lock, name, sys.stderr)
    write_json(snakemake.output.made, made)
