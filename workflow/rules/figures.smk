# The experiment's own figures and the report.


rule figure:
    input:
        frames=lambda w: [str(path) for path in PLAN.figure_inputs(w.figure)],
    output:
        figure=f"{RESULTS}/figures/{{figure}}.svg",
    params:
        stage="plot",
        settings=lambda w: PLAN.figure_params(w.figure),
    log:
        f"{RESULTS}/logs/figures/{{figure}}.log",
    localrule: True
    message:
        "figure: {wildcards.figure}"
    script:
        STAGE


rule report:
    input:
        config=rules.configuration.output.config,
        comparison=rules.compare.output if PLAN.cells else [],
        tables=[str(PLAN.table(dataset)) for dataset in PLAN.table_names],
        figures=[str(path) for path in PLAN.figures()],
    output:
        report=f"{RESULTS}/report.html",
    params:
        stage="report",
        settings=PLAN.report_params(),
    log:
        f"{RESULTS}/logs/report.log",
    localrule: True
    message:
        "report: {output.report}"
    script:
        STAGE
