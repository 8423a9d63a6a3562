# The canonical table of a data set, from cache, mirror, URL or generator.

from adakern_bench.data.sources import made_by, made_from, placed_by_hand


rule table:
    input:
        # Only files placed by the user: downloads are checked against their records.
        files=lambda w: placed_by_hand(PLAN.entry(w.dataset), f"{DATA}/raw"),
    output:
        table=f"{DATA}/tables/{{dataset}}.npz",
    log:
        f"{DATA}/tables/logs/{{dataset}}.log",
    # Runs before any fit, so that invalid data are reported at once.
    priority: 1
    localrule: True
    params:
        made_from=lambda w: made_from(PLAN.entry(w.dataset)),
        # A parameter derived from `output`, here a path, triggers no rerun.
        entry=lambda w, output: asdict(PLAN.entry(w.dataset)),
        made_by=lambda w, output: made_by(PLAN.entry(w.dataset)),
        cache=lambda w, output: f"{DATA}/raw",
        mirror=lambda w, output: PLAN.config.data.mirror,
    message:
        "table: {wildcards.dataset}"
    script:
        "../scripts/table.py"
