# Tables and paired tests from all records.


rule compare:
    input:
        records=records(PLAN.datasets),
        published=PUBLISHED_TABLE,
    output:
        records=f"{RESULTS}/records.parquet",
        summary=report(
            f"{RESULTS}/summary.csv", category="Tables", labels={"table": "summary"}
        ),
        ttest=report(
            f"{RESULTS}/ttest.csv", category="Tables", labels={"table": "paired tests"}
        ),
        ranks=report(
            f"{RESULTS}/ranks.csv", category="Tables", labels={"table": "ranks"}
        ),
        published=f"{RESULTS}/published.csv",
    log:
        f"{RESULTS}/logs/compare.log",
    localrule: True
    params:
        metric=PLAN.config.metric,
        code=lambda w: code_version(SCRIPTS / "compare.py"),
    message:
        "compare: {output.summary}"
    script:
        "../scripts/compare.py"
