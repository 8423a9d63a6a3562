# Hyper-parameters by cross-validation on the training part alone.


rule search:
    input:
        unpack(lambda w: PLAN.search_inputs(w.dataset, w.method, w.batch)),
    output:
        search=str(PLAN.search("{dataset}", "{method}", "{batch}")),
        cv_table=str(PLAN.cv_table("{dataset}", "{method}", "{batch}")),
    log:
        f"{RESULTS}/logs/search/{{dataset}}/{{method}}/{{batch}}.log",
    threads: PLAN.config.jobs.threads
    resources:
        mem_mb=lambda w, attempt: PLAN.config.jobs.memory_mb * attempt,
        runtime=lambda w: PLAN.job_minutes(w.batch),
    params:
        stage="search",
        settings=lambda w: PLAN.search_params(w.dataset, w.method),
    message:
        "search: {wildcards.dataset} / {wildcards.method} repeats {wildcards.batch}"
    script:
        STAGE
