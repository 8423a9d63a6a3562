# Figures and tables of the experiment, and the report.

from adakern_bench.base.paths import TEMPLATES, columns_of


rule figure:
    input:
        frame=lambda w: seen_in(w.figure),
    output:
        figure=report(
            f"{RESULTS}/figures/{{figure}}.svg",
            category="Figures",
            labels={"figure": "{figure}"},
        ),
    log:
        f"{RESULTS}/logs/figures/{{figure}}.log",
    localrule: True
    params:
        view=lambda w: asdict(figure_of(w.figure)),
        metric=PLAN.config.metric,
        code=lambda w: code_version(SCRIPTS / "figure.py", figure_of(w.figure).function),
    message:
        "figure: {wildcards.figure}"
    script:
        "../scripts/figure.py"


rule summary_table:
    input:
        frame=lambda w: seen_in(w.name),
        published=PUBLISHED_TABLE,
    output:
        table=report(
            f"{RESULTS}/tables/{{name}}.csv",
            category="Tables",
            labels={"table": "{name}"},
        ),
    log:
        f"{RESULTS}/logs/tables/{{name}}.log",
    localrule: True
    params:
        view=lambda w: asdict(summary_of(w.name)),
        metric=PLAN.config.metric,
        code=lambda w: code_version(
            SCRIPTS / "summary_table.py", summary_of(w.name).function
        ),
    message:
        "summary_table: {wildcards.name}"
    script:
        "../scripts/summary_table.py"


rule winner:
    input:
        table=f"{DATA}/tables/{PLAN.own}.npz",
        split=f"{RESULTS}/splits/{PLAN.own}.npz",
        records=rules.compare.output.records,
        ranks=rules.compare.output.ranks,
    output:
        figures=directory(f"{RESULTS}/winner/figures"),
        table=f"{RESULTS}/winner/columns.csv",
    log:
        f"{RESULTS}/logs/winner.log",
    threads: PLAN.config.jobs.threads
    resources:
        mem_mb=lambda w, attempt: PLAN.config.jobs.memory_mb * attempt,
        runtime=lambda w, attempt: job_minutes("0-0") * attempt,
        attempt=lambda w, attempt: attempt,
    params:
        limits=lambda w, resources: limits(resources),
        fits={
            method: fit_of(PLAN.own, method, "winner")
            for method in PLAN.methods_of.get(PLAN.own, ())
        },
        own=PLAN.own,
        metric=PLAN.config.metric,
    message:
        "winner: {output.figures}"
    script:
        "../scripts/winner.py"


rule report:
    input:
        comparison=rules.compare.output if PLAN.cells else [],
        tables=tables_of(PLAN.table_names),
        figures=[f"{RESULTS}/figures/{name}.svg" for name in PLAN.figures()],
        winner=[rules.winner.output.figures] * bool(PLAN.own),
        summaries=[f"{RESULTS}/tables/{name}.csv" for name in PLAN.tables()]
        + [rules.winner.output.table] * bool(PLAN.own)
        + [str(file) for file in [columns_of(DATA, PLAN.own or "")] if file.exists()],
    output:
        report=report(
            f"{RESULTS}/report.html", category="Report", labels={"report": "all of it"}
        ),
    log:
        f"{RESULTS}/logs/report.log",
    localrule: True
    params:
        # Without the limits of this call (batches and end time).
        config=lambda w: asdict(PLAN.limited().config),
        code=lambda w: code_version(
            SCRIPTS / "report.py",
            files=tuple(sorted(filter(Path.is_file, TEMPLATES.rglob("*")))),
        ),
    message:
        "report: {output.report}"
    script:
        "../scripts/report.py"
