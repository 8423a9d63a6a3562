# Indices of the training and test rows, the same for all methods.


rule split:
    input:
        table=lambda w: table_of(w.dataset),
    output:
        split=f"{RESULTS}/splits/{{dataset}}.npz",
    log:
        f"{RESULTS}/logs/split/{{dataset}}.log",
    localrule: True
    params:
        splitting=lambda w: splitting(w.dataset),
        code=lambda w: code_version(SCRIPTS / "split.py"),
    message:
        "split: {wildcards.dataset}"
    script:
        "../scripts/split.py"
