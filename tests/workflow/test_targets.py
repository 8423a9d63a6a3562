"""A single result as a target of Snakemake."""


def test_record_as_target_runs_only_required_jobs(project):
    overrides = "method=[svm-cv,plain] protocol.repeats=1"
    target = "results/small/records/clowns/svm-cv/0-0.json"
    run = project.run(target, overrides=overrides)
    assert run.jobs == {"table": 1, "split": 1, "search": 1, "solve": 1}
    (record,) = project.records(method="svm-cv")
    assert record["status"] == "ok" and set(record["best_params"]) == {"C", "gamma"}
    # The record is self-contained.
    assert record["estimator"] == "sklearn.svm.SVC"
    assert record["preparation"]["scale"] == "unit"
    assert (record["protocol"]["kind"], record["protocol"]["test_size"]) == (
        "holdout",
        0.5,
    )
    assert set(record["search"]["grid"]) == {"C", "gamma"}
    assert (record["search"]["folds"], record["search"]["step"]) == (2, 5)
    assert record["machine"]["cores"] >= 1 and record["machine"]["processor"]
    # Hydra writes no outputs/ folder.
    assert not (project.root / "outputs").exists()

    # Other repeats get a new split, without stale rows.
    overrides = "method=[plain] protocol.repeats=3"
    target = "results/small/records/clowns/plain/0-2.json"
    project.run(target, overrides=overrides)
    assert [record["status"] for record in project.records()] == ["ok"] * 3
