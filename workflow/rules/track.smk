# MLflow, filled while the experiment runs: the records of a data set as soon as they are
# complete, at the end the tables, figures and report as one summary run.


def tracked_files():
    marks = [f"{RESULTS}/track/{dataset}.json" for dataset in PLAN.datasets]
    return [*marks, f"{RESULTS}/track/summary/all.json"] if PLAN.cells else []


rule track:
    input:
        records=lambda w: [str(path) for path in PLAN.records([w.dataset])],
    output:
        mark=f"{RESULTS}/track/{{dataset}}.json",
    log:
        f"{RESULTS}/logs/track/{{dataset}}.log",
    localrule: True
    resources:
        tracker=1,
    params:
        stage="track",
        settings=PLAN.tracking_params(),
    message:
        "track: {wildcards.dataset}"
    script:
        STAGE


rule track_summary:
    input:
        report=rules.report.output.report,
        marks=[f"{RESULTS}/track/{dataset}.json" for dataset in PLAN.datasets],
    output:
        mark=f"{RESULTS}/track/summary/all.json",
    log:
        f"{RESULTS}/logs/track/summary.log",
    localrule: True
    resources:
        tracker=1,
    params:
        stage="track",
        settings=PLAN.tracking_params(),
    message:
        "track: tables, figures and report"
    script:
        STAGE
