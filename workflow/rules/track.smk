# MLflow: the records of an experiment, its tables, figures and report.


rule track:
    input:
        report=rules.report.output.report,
        records=records(PLAN.datasets),
    output:
        mark=f"{RESULTS}/track.json",
    log:
        f"{RESULTS}/logs/track.log",
    localrule: True
    params:
        settings=settings.track(PLAN),
    message:
        "track: records, tables, figures and report"
    script:
        "../scripts/track.py"
