# Groups of small data sets, one process per group: first the tables, then splits,
# searches and fits. Their files are the same as those of the other rules; the file of a
# group lists them.


rule tables:
    input:
        files=lambda w: [
            file
            for name in tables_in(w.group)
            for file in placed_by_hand(PLAN.entry(name), f"{DATA}/raw")
        ],
    output:
        made=f"{RESULTS}/groups/{{group}}.tables",
    log:
        f"{RESULTS}/logs/groups/{{group}}.tables.log",
    priority: 1
    localrule: True
    params:
        steps=lambda w: table_steps(w.group),
        aside=lambda w, output: table_steps(w.group, "output"),
    message:
        "tables: group {wildcards.group}"
    script:
        "../scripts/steps.py"


rule cells:
    input:
        tables=rules.tables.output.made,
    output:
        made=f"{RESULTS}/groups/{{group}}.cells",
    log:
        f"{RESULTS}/logs/groups/{{group}}.cells.log",
    threads: PLAN.config.jobs.threads
    resources:
        mem_mb=lambda w, attempt: PLAN.config.jobs.memory_mb * attempt,
        runtime=lambda w, attempt: job_minutes("0-0") * attempt,
        attempt=lambda w, attempt: attempt,
    params:
        steps=lambda w: list(cell_steps(w.group)),
        limits=lambda w, resources: limits(resources),
    message:
        "cells: group {wildcards.group}"
    script:
        "../scripts/steps.py"
