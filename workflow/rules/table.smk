# The canonical table of a data set, from the cache, the mirror, its url or its generator.


rule table:
    input:
        # What was fetched is checked against its own record; what people put there, here.
        files=lambda w: placed_by_hand(PLAN.entry(w.dataset), f"{DATA}/raw"),
    output:
        table=f"{DATA}/tables/{{dataset}}.npz",
    log:
        f"{DATA}/tables/logs/{{dataset}}.log",
    localrule: True
    params:
        stage="table",
        settings=lambda w: settings.table(PLAN, w.dataset),
        # With `output` Snakemake takes it for no cause to run again.
        aside=lambda w, output: settings.sources(PLAN, w.dataset),
    message:
        "table: {wildcards.dataset}"
    script:
        STAGE
