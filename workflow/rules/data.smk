# The canonical table of a data set, from the cache, the mirror, its url or its generator.


rule table:
    output:
        table=str(PLAN.table("{dataset}")),
    log:
        str(PLAN.table("logs/{dataset}").with_suffix(".log")),
    localrule: True
    params:
        stage="data",
        settings=lambda w: PLAN.table_params(w.dataset),
    message:
        "data: {wildcards.dataset}"
    script:
        STAGE
