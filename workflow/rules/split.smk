# Index files of the training and test rows, the same for all methods.


def splitting(dataset):
    """How the rows of a data set are divided."""
    protocol = PLAN.config.protocol
    return {
        "kind": PLAN.split_kind(dataset),
        "repeats": protocol.repeats,
        "test_size": protocol.test_size,
        "n_splits": protocol.n_splits,
        "stratify": protocol.stratify,
        "seed": protocol.seed,
        "max_splits": protocol.max_splits,
        "train_rows": PLAN.dataset_variants[dataset].swept.get("train_rows"),
        "max_train_rows": protocol.max_train_rows,
        "test_rows": protocol.test_rows,
        "published": PLAN.uses_published_split(dataset),
    }


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
        code=code_version(SCRIPTS / "split.py"),
    message:
        "split: {wildcards.dataset}"
    script:
        "../scripts/split.py"
