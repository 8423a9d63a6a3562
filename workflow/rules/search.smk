# Hyper-parameters by cross-validation on the training part alone.


def searching(dataset, method):
    """What a search looks at, and how."""
    search, recipe = PLAN.config.search, PLAN.recipe(dataset, method)
    tuning = PLAN.dataset_variants[dataset].swept.get("tuning")
    return {
        "metric": PLAN.config.metric,
        "grid": recipe["grid"],
        "random": recipe["random"],
        "tuning": tuning or PLAN.config.protocol.tuning,
        "folds": recipe["folds"] or search.folds,
        # Stated folds of a method hold for large data sets too.
        "holdout_rows": None if recipe["folds"] else search.holdout_rows,
        "step": search.step,
        "max_rows": search.max_rows,
    }


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
