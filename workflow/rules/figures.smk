# The experiment's own figures and tables, and the report.


rule figure:
    input:
        records=rules.compare.output.records,
    output:
        figure=report(
            str(PLAN.figure("{figure}")),
            category="Figures",
            labels={"figure": "{figure}"},
        ),
    log:
        f"{RESULTS}/logs/figures/{{figure}}.log",
    localrule: True
    wildcard_constraints:
        figure=one_of(PLAN.config.figures),
    params:
        stage="plot",
        settings=lambda w: PLAN.figure_params(w.figure),
    message:
        "figure: {wildcards.figure}"
    script:
        STAGE


rule summary_table:
    input:
        records=rules.compare.output.records,
        published=[str(path) for path in PLAN.published()],
    output:
        table=report(
            str(PLAN.summary_table("{name}")),
            category="Tables",
            labels={"table": "{name}"},
        ),
    log:
        f"{RESULTS}/logs/tables/{{name}}.log",
    localrule: True
    wildcard_constraints:
        name=one_of(PLAN.config.tables),
    params:
        stage="tabulate",
        settings=lambda w: PLAN.summary_table_params(w.name),
    message:
        "table: {wildcards.name}"
    script:
        STAGE


rule report:
    input:
        config=rules.configuration.output.config,
        comparison=rules.compare.output if PLAN.cells else [],
        tables=[str(PLAN.table(dataset)) for dataset in PLAN.table_names],
        figures=[str(path) for path in PLAN.figures()],
        summaries=[str(path) for path in PLAN.tables()],
    output:
        report=report(
            f"{RESULTS}/report.html", category="Report", labels={"report": "all of it"}
        ),
    log:
        f"{RESULTS}/logs/report.log",
    localrule: True
    params:
        stage="report",
        settings=PLAN.report_params(),
    message:
        "report: {output.report}"
    script:
        STAGE
