# Index files of the training and test rows, the same for all methods.


rule split:
    input:
        table=lambda w: table_of(w.dataset),
    output:
        split=f"{RESULTS}/splits/{{dataset}}.npz",
    log:
        f"{RESULTS}/logs/split/{{dataset}}.log",
    localrule: True
    params:
        settings=lambda w: settings.split(PLAN, w.dataset),
    message:
        "split: {wildcards.dataset}"
    script:
        "../scripts/split.py"
