# What is no solve: a script of workflow/scripts/ computes it on the rows of the split, and
# draws its figure and its table.


rule special:
    input:
        tables=[f"{DATA}/tables/{base_name(name)}.npz" for name in PLAN.datasets],
        splits=[f"{RESULTS}/splits/{name}.npz" for name in PLAN.datasets],
        published=PUBLISHED,
    output:
        frame=f"{RESULTS}/special/{{special}}.parquet",
        figure=report(
            f"{RESULTS}/figures/{{special}}.svg",
            category="Figures",
            labels={"figure": "{special}"},
        ),
        table=report(
            f"{RESULTS}/tables/{{special}}.csv",
            category="Tables",
            labels={"table": "{special}"},
        ),
    log:
        f"{RESULTS}/logs/special/{{special}}.log",
    wildcard_constraints:
        special=one_of(PLAN.config.special),
    threads: PLAN.config.jobs.threads
    resources:
        mem_mb=lambda w, attempt: PLAN.config.jobs.memory_mb * attempt,
        runtime=job_minutes("0-0"),
    params:
        settings=lambda w: settings.special(PLAN, w.special),
    message:
        "special: {wildcards.special}"
    script:
        "../scripts/{wildcards.special}.py"
