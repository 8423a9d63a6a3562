# Parameters, inputs and outputs of the rules' jobs.

from adakern_bench.config.schema import View


def tables_made(job):
    """Tables that a job makes; for a group, only those that do not exist yet."""
    if job.rule.name == "tables":
        names = tables_in(job.wildcards.group)
        return [table for table in map(table_of, names) if not os.path.exists(table)]
    return [job.output.table] if job.rule.name == "table" else []


def splitting(dataset):
    """Settings of the splits of a data set."""
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


def environment_of(w):
    """File of a cell's environment, unless it is the workflow's."""
    name = PLAN.environment(w.dataset, w.method)
    return [str(made_file(name))] if name else []


def searching(dataset, method):
    """Settings of a search."""
    search, recipe = PLAN.config.search, PLAN.recipe(dataset, method)
    tuning = PLAN.dataset_variants[dataset].swept.get("tuning")
    return {
        "metric": PLAN.config.metric,
        "grid": recipe["grid"],
        "random": recipe["random"],
        "tuning": tuning or PLAN.config.protocol.tuning,
        "folds": recipe["folds"] or search.folds,
        # The folds of a method also apply to large data sets.
        "holdout_rows": None if recipe["folds"] else search.holdout_rows,
        "step": search.step,
        "max_rows": search.max_rows,
    }


def identity(dataset, method):
    """Fields that identify a record."""
    return {
        "experiment": PLAN.config.name,
        "dataset": dataset,
        "method": method,
        "task": PLAN.entry(dataset).task,
        "base_dataset": base_name(dataset),
        "base_method": base_name(method),
        "sweep": PLAN.swept(dataset, method),
    }


def described(dataset, method):
    """Description of a cell's split and search, used only in its record."""
    source = PLAN.search_method(dataset, method)
    search = {"method": source} | searching(dataset, source) if source else None
    return {"protocol": splitting(dataset), "search": search}


def seen_in(name):
    """Input of a figure or table: the special computation of this name, or the records."""
    if name in PLAN.config.special:
        return f"{RESULTS}/special/{name}.parquet"
    return rules.compare.output.records


def figure_of(name):
    """The figure of that name, or that of a special computation."""
    return PLAN.config.figures.get(name, View(f"{name}.plot"))


def summary_of(name):
    """The table of that name, or that of a special computation."""
    return PLAN.config.tables.get(name, View(f"{name}.table"))
