# Fit and evaluate a batch of repeats of one method on one data set.


#: One folder of fitted models per record file, if they are saved.
MODELS = (
    {"models": directory(f"{RESULTS}/models/{{dataset}}/{{method}}/{{batch}}")}
    if PLAN.config.tracking.models
    else {}
)


rule solve:
    input:
        table=lambda w: table_of(w.dataset),
        split=f"{RESULTS}/splits/{{dataset}}.npz",
        environment=environment_of,
        search=lambda w: search_of(PLAN.search_method(w.dataset, w.method), w),
    output:
        **MODELS,
        record=f"{RESULTS}/records/{{dataset}}/{{method}}/{{batch}}.json",
    log:
        f"{RESULTS}/logs/solve/{{dataset}}/{{method}}/{{batch}}.log",
    threads: PLAN.config.jobs.threads
    resources:
        mem_mb=lambda w, attempt: PLAN.config.jobs.memory_mb * attempt,
        runtime=lambda w, attempt: job_minutes(w.batch) * attempt,
        attempt=lambda w, attempt: attempt,
    params:
        fit=lambda w: fit_of(w.dataset, w.method, "solve"),
        identity=lambda w: identity(w.dataset, w.method),
        described=lambda w: described(w.dataset, w.method),
        limits=lambda w, resources: limits(resources),
    message:
        "solve: {wildcards.dataset} / {wildcards.method} repeats {wildcards.batch}"
    script:
        "../scripts/solve.py"
