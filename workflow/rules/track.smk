# MLflow, filled while the experiment runs: the records of a data set as soon as they are
# complete, at the end the tables, figures and report as one summary run.


TRACK_MARKS = [f"{RESULTS}/track/{dataset}.json" for dataset in PLAN.solved_datasets()]


def tracked_files():
    return [*TRACK_MARKS, f"{RESULTS}/track/summary/all.json"]


rule track:
    input:
        records=lambda w: records([w.dataset]),
        # Describes the runs; another one makes none of them out of date.
        config=ancient(f"{RESULTS}/config.yaml"),
    output:
        mark=f"{RESULTS}/track/{{dataset}}.json",
    log:
        f"{RESULTS}/logs/track/{{dataset}}.log",
    localrule: True
    resources:
        tracker=1,
    params:
        stage="track",
        settings=settings.track(PLAN),
    message:
        "track: {wildcards.dataset}"
    script:
        STAGE


rule track_summary:
    input:
        report=rules.report.output.report,
        marks=TRACK_MARKS,
    output:
        mark=f"{RESULTS}/track/summary/all.json",
    log:
        f"{RESULTS}/logs/track/summary.log",
    localrule: True
    resources:
        tracker=1,
    params:
        stage="track",
        settings=settings.track(PLAN),
    message:
        "track: tables, figures and report"
    script:
        STAGE
