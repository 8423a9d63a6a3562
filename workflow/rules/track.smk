# MLflow: records, tables, figures and report of an experiment.


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
        tracking_uri=os.environ.get("MLFLOW_TRACKING_URI") or PLAN.config.tracking.uri,
        register=PLAN.config.tracking.register,
        code=lambda w: code_version(SCRIPTS / "track.py"),
    message:
        "track: records, tables, figures and report"
    script:
        "../scripts/track.py"
