"""The parameters that the Snakefile passes to the jobs of an experiment."""

import inspect
from pathlib import Path
from types import SimpleNamespace

from snakemake.api import SnakemakeApi
from snakemake.settings.types import (
    ConfigSettings,
    ExecMode,
    OutputSettings,
    Quietness,
    ResourceSettings,
    WorkflowSettings,
)

from adakern_bench.base.paths import ROOT


class Rules:
    """The rules of one experiment with overrides, and its plan."""

    def __init__(self, *overrides):
        quiet = OutputSettings(quiet={Quietness.ALL})
        settings = ConfigSettings(config={"overrides": list(overrides)})
        with SnakemakeApi(quiet) as api:
            parsed = api.workflow(
                resource_settings=ResourceSettings(cores=1),
                config_settings=settings,
                # As in a job, which has no lock.
                workflow_settings=WorkflowSettings(exec_mode=ExecMode.SUBPROCESS),
                snakefile=Path(ROOT, "Snakefile"),
            )
            self.workflow = parsed._workflow
        self.plan = self.workflow.globals["PLAN"]

    def params(self, rule, **wildcards):
        """Name -> value of the params of a job, except those of its resources."""
        w, params_of_job = SimpleNamespace(**wildcards), {}
        for name, value in self.workflow.get_rule(rule).params.items():
            arguments = inspect.signature(value).parameters if callable(value) else ()
            if "resources" not in arguments:
                others = {key: None for key in arguments if key == "output"}
                params_of_job[name] = value(w, **others) if callable(value) else value
        return params_of_job
