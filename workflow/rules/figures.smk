# The experiment's own figures and tables, and the report.


def seen_in(name):
    """What a figure or table shows: a special computation of its name, or the records."""
    if name in PLAN.config.special:
        return f"{RESULTS}/special/{name}.parquet"
    return rules.compare.output.records


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
        settings=lambda w: settings.figure(PLAN, w.figure),
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
        settings=lambda w: settings.summary_table(PLAN, w.name),
    message:
        "summary_table: {wildcards.name}"
    script:
        "../scripts/summary_table.py"


rule report:
    input:
        config=f"{RESULTS}/config.yaml",
        comparison=rules.compare.output if PLAN.cells else [],
        tables=[f"{DATA}/tables/{dataset}.npz" for dataset in PLAN.table_names],
        figures=[f"{RESULTS}/figures/{name}.svg" for name in PLAN.figures()],
        summaries=[f"{RESULTS}/tables/{name}.csv" for name in PLAN.tables()],
    output:
        report=report(
            f"{RESULTS}/report.html", category="Report", labels={"report": "all of it"}
        ),
    log:
        f"{RESULTS}/logs/report.log",
    localrule: True
    params:
        settings=settings.report(PLAN),
    message:
        "report: {output.report}"
    script:
        "../scripts/report.py"
