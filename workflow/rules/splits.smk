# Index files of the training and test rows, the same for all methods.


rule split:
    input:
        table=str(PLAN.table("{dataset}")),
    output:
        split=str(PLAN.split("{dataset}")),
    log:
        f"{RESULTS}/logs/split/{{dataset}}.log",
    localrule: True
    params:
        stage="split",
        settings=lambda w: PLAN.split_params(w.dataset),
    message:
        "split: {wildcards.dataset}"
    script:
        STAGE
