# Fit, predict, time, record: a batch of repeats of one method on one data set.


rule solve:
    input:
        unpack(lambda w: PLAN.solve_inputs(w.dataset, w.method, w.batch)),
    output:
        record=str(PLAN.record("{dataset}", "{method}", "{batch}")),
    log:
        f"{RESULTS}/logs/solve/{{dataset}}/{{method}}/{{batch}}.log",
    threads: PLAN.config.jobs.threads
    resources:
        mem_mb=lambda w, attempt: PLAN.config.jobs.memory_mb * attempt,
        runtime=lambda w: PLAN.job_minutes(w.batch),
    params:
        stage="solve",
        settings=lambda w: PLAN.solve_params(w.dataset, w.method),
    message:
        "solve: {wildcards.dataset} / {wildcards.method} repeats {wildcards.batch}"
    script:
        STAGE
