# What is no solve: a script of workflow/scripts/ computes it on the rows of the split, and
# draws its figure and its table.


rule special:
    input:
        tables=[str(PLAN.table(dataset)) for dataset in PLAN.datasets],
        splits=[str(PLAN.split(dataset)) for dataset in PLAN.datasets],
        published=[str(path) for path in PLAN.published()],
        common="workflow/scripts/special.py",
    output:
        frame=str(PLAN.special("{special}")),
        figure=report(
            str(PLAN.figure("{special}")),
            category="Figures",
            labels={"figure": "{special}"},
        ),
        table=report(
            str(PLAN.summary_table("{special}")),
            category="Tables",
            labels={"table": "{special}"},
        ),
    log:
        f"{RESULTS}/logs/special/{{special}}.log",
    threads: PLAN.config.jobs.threads
    resources:
        mem_mb=lambda w, attempt: PLAN.config.jobs.memory_mb * attempt,
        runtime=PLAN.job_minutes("0-0"),
    wildcard_constraints:
        special=one_of(PLAN.config.special),
    params:
        settings=lambda w: PLAN.special_params(w.special),
    message:
        "special: {wildcards.special}"
    script:
        "../scripts/{wildcards.special}.py"
