# Tables and paired tests over all records; the configuration as it was resolved.


rule configuration:
    output:
        config=f"{RESULTS}/config.yaml",
    params:
        stage="configuration",
        settings=PLAN.configuration(),
    localrule: True
    message:
        "configuration: {output.config}"
    script:
        STAGE


rule compare:
    input:
        records=[str(path) for path in PLAN.records()],
    output:
        records=f"{RESULTS}/records.parquet",
        summary=f"{RESULTS}/summary.csv",
        ttest=f"{RESULTS}/ttest.csv",
        ranks=f"{RESULTS}/ranks.csv",
        published=f"{RESULTS}/published.csv",
    params:
        stage="compare",
        settings=PLAN.compare_params(),
    log:
        f"{RESULTS}/logs/compare.log",
    localrule: True
    message:
        "compare: {RESULTS}/summary.csv"
    script:
        STAGE
