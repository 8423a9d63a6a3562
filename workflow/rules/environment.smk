# Environments of methods that need other packages than the workflow, each made once.
import sys

from adakern_bench.base.environments import ENVS, forget_failed, made_file

if workflow.is_main_process and "--dry-run" not in sys.argv:
    forget_failed()


rule environment:
    input:
        lock=lambda w: f"{ENVS}/{w.environment.rpartition('-')[0]}.txt",
    output:
        made=str(made_file("{environment}")),
    log:
        f"{RESULTS}/logs/environments/{{environment}}.log",
    priority: 1
    localrule: True
    message:
        "environment: {input.lock}"
    script:
        "../scripts/environment.py"
