# MLflow, filled while the experiment runs: the records of some data sets as soon as they
# are complete, at the end the tables, figures and report as one summary run.


TRACKED = PLAN.tracked_together()
TRACK_MARKS = [f"{RESULTS}/track/{datasets}.json" for datasets in TRACKED]


def tracked_files():
    return [*TRACK_MARKS, f"{RESULTS}/track/summary/all.json"]


rule track:
    input:
        records=lambda w: records(TRACKED[w.datasets]),
        # Describes the runs; another one makes none of them out of date.
        config=ancient(f"{RESULTS}/config.yaml"),
    output:
        mark=f"{RESULTS}/track/{{datasets}}.json",
    log:
        f"{RESULTS}/logs/track/{{datasets}}.log",
    localrule: True
    resources:
        tracker=1,
    params:
        settings=settings.track(PLAN),
    message:
        "track: data sets {wildcards.datasets}"
    script:
        "../scripts/track.py"


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
        settings=settings.track(PLAN),
    message:
        "track: tables, figures and report"
    script:
        "../scripts/track_summary.py"
