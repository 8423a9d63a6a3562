# Computations other than fits, defined by modules of workflow/special/.


rule special:
    input:
        tables=[table_of(dataset) for dataset in PLAN.datasets],
        splits=[f"{RESULTS}/splits/{dataset}.npz" for dataset in PLAN.datasets],
    output:
        frame=f"{RESULTS}/special/{{special}}.parquet",
    log:
        f"{RESULTS}/logs/special/{{special}}.log",
    threads: PLAN.config.jobs.threads
    resources:
        mem_mb=lambda w, attempt: PLAN.config.jobs.memory_mb * attempt,
        runtime=job_minutes("0-0"),
    params:
        function=lambda w: f"{w.special}.compute",
        arguments=lambda w: PLAN.config.special[w.special],
        preparation=lambda w: {
            dataset: preparation(dataset) for dataset in PLAN.datasets
        },
        seed=PLAN.config.protocol.seed,
        threads=PLAN.config.jobs.threads,
        code=lambda w: code_version(SCRIPTS / "special.py", f"{w.special}.compute"),
    message:
        "special: {wildcards.special}"
    script:
        "../scripts/special.py"
