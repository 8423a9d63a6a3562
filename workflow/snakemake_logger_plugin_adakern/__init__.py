"""Snakemake's events as a live progress line: ``snakemake --logger adakern ...``."""

import re
from logging import WARNING

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

#: Lines of an error message that only locate the error in a file.
WHERE = re.compile(
    r"^(WorkflowError in file|  File |RuleException|Called|Command ).*\n?"
)


class LogHandler(LogHandlerBase):
    """Passes each event to :mod:`adakern_bench.cli.progress`; errors remain lines."""

    writes_to_stream = has_filter = has_formatter = True
    writes_to_file = needs_rulegraph = False

    def __post_init__(self):
        # Every job of Snakemake imports its plugins, so importing must be fast.
        from adakern_bench.cli.progress import Line

        self.line = Line()
        self.job_failed = False

    def emit(self, record):
        """Handle one of Snakemake's events."""
        event = getattr(record, "event", None)
        if hasattr(record, "planned"):  # logged by the Snakefile
            self.line.plan(record.planned, record.progress)
            self.line.say(record.getMessage())
        elif event == LogEvent.JOB_INFO:
            self.line.begin(record.jobid, record.rule_msg)
        elif event == LogEvent.JOB_FINISHED:
            self.line.finish(record.job_id)
        elif event == LogEvent.JOB_ERROR:
            self.job_failed = True
            self.line.fail(record.jobid, record.log)
        elif record.levelno >= WARNING and not self.job_failed:
            lines = record.getMessage().splitlines()
            if told := "\n".join(line for line in lines if not WHERE.match(line)):
                self.line.say(told)

    def close(self):
        """Erase the line when Snakemake is done."""
        self.line.end()
        super().close()
