# Hyper-parameters by cross-validation on the training part alone.


def search_of(method, w):
    """The search of another method on the same repeats, if there is such a method."""
    return [f"{RESULTS}/search/{w.dataset}/{method}/{w.batch}.json"] if method else []


def job_minutes(batch):
    """Time that a job asks for on a cluster: its solves at their limit."""
    first, last = map(int, batch.split("-"))
    return 5 + (last - first + 1) * PLAN.config.jobs.time_limit // 60


def this_run(stage, w, resources):
    """What a job is told beside its settings: it changes no result."""
    journal = f"{RESULTS}/logs/{stage}/{w.dataset}/{w.method}/{w.batch}.jsonl"
    return settings.limits(PLAN) | {"attempt": resources.attempt, "journal": journal}


rule search:
    input:
        table=lambda w: table_of(w.dataset),
        split=f"{RESULTS}/splits/{{dataset}}.npz",
        handed_over=lambda w: search_of(PLAN.hand_over_method(w.dataset, w.method), w),
    output:
        search=f"{RESULTS}/search/{{dataset}}/{{method}}/{{batch}}.json",
        cv_table=f"{RESULTS}/search/{{dataset}}/{{method}}/{{batch}}.cv.csv",
    log:
        f"{RESULTS}/logs/search/{{dataset}}/{{method}}/{{batch}}.log",
    threads: PLAN.config.jobs.threads
    resources:
        mem_mb=lambda w, attempt: PLAN.config.jobs.memory_mb * attempt,
        runtime=lambda w, attempt: job_minutes(w.batch) * attempt,
        attempt=lambda w, attempt: attempt,
    params:
        stage="search",
        settings=lambda w: settings.search(PLAN, w.dataset, w.method),
        # With `output` Snakemake takes it for no cause to run again.
        aside=lambda w, output, resources: this_run("search", w, resources),
    message:
        "search: {wildcards.dataset} / {wildcards.method} repeats {wildcards.batch}"
    script:
        STAGE
