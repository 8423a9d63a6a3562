# The canonical table of a data set, from the cache, the mirror, its url or its generator.

from adakern_bench.data.sources import placed_by_hand


rule table:
    input:
        # What was fetched is checked against its own record; what people put there, here.
        files=lambda w: placed_by_hand(PLAN.entry(w.dataset), f"{DATA}/raw"),
    output:
        table=f"{DATA}/tables/{{dataset}}.npz",
    log:
        f"{DATA}/tables/logs/{{dataset}}.log",
    # Before any fit, so that bad data are told at once and not after hours.
    priority: 1
    localrule: True
    params:
        settings=lambda w: settings.table(PLAN, w.dataset),
        # Derived from `output`, a parameter triggers no rerun: the place of a file.
        source=lambda w, output: settings.source(PLAN, w.dataset),
    message:
        "table: {wildcards.dataset}"
    script:
        "../scripts/table.py"
