# Hyperparameter search by cross-validation on the training part.


rule search:
    input:
        table=lambda w: table_of(w.dataset),
        split=f"{RESULTS}/splits/{{dataset}}.npz",
        environment=environment_of,
        handed_over=lambda w: search_of(PLAN.hand_over_method(w.dataset, w.method), w),
    output:
        search=f"{RESULTS}/search/{{dataset}}/{{method}}/{{batch}}.json",
    log:
        f"{RESULTS}/logs/search/{{dataset}}/{{method}}/{{batch}}.log",
    threads: PLAN.config.jobs.threads
    resources:
        mem_mb=lambda w, attempt: PLAN.config.jobs.memory_mb * attempt,
        runtime=lambda w, attempt: job_minutes(w.batch) * attempt,
        attempt=lambda w, attempt: attempt,
    params:
        fit=lambda w: fit_of(w.dataset, w.method, "search"),
        search=lambda w: searching(w.dataset, w.method),
        train_rows=lambda w: splitting(w.dataset)["train_rows"],
        limits=lambda w, resources: limits(resources),
    message:
        "search: {wildcards.dataset} / {wildcards.method} repeats {wildcards.batch}"
    script:
        "../scripts/search.py"
