"""What an executor says of a failed group of jobs, which Snakemake does not print."""

from snakemake.jobs import GroupJob
from snakemake.logging import logger


def print_group_errors():
    """Print from now on why a group failed, such as sbatch's words on a refusal."""
    log_error = GroupJob.log_error

    def log_reason_too(group, msg=None, **details):
        if msg:
            logger.error(msg)
        log_error(group, msg, **details)

    GroupJob.log_error = log_reason_too
