"""The executor's message about a failed group of jobs, which Snakemake omits."""

from snakemake.jobs import GroupJob
from snakemake.logging import logger


def print_group_errors():
    """Make Snakemake print why a group failed, such as sbatch's error message."""
    log_error = GroupJob.log_error

    def log_reason_too(group, msg=None, **details):
        if msg:
            logger.error(msg)
        log_error(group, msg, **details)

    GroupJob.log_error = log_reason_too
