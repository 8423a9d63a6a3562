"""One result alone is a target of Snakemake like any other."""


def test_a_record_as_a_target_makes_what_it_needs_and_nothing_else(project):
    overrides = "method=[svm-cv,plain] protocol.repeats=1"
    target = "results/small/records/clowns/svm-cv/0-0.json"
    run = project.run(target, overrides=overrides)
    assert run.jobs == {"table": 1, "split": 1, "search": 1, "solve": 1}
    (record,) = project.records(method="svm-cv")
    assert record["status"] == "ok" and set(record["best_params"]) == {"C", "gamma"}
    # It can be understood alone.
    assert record["estimator"] == "sklearn.svm.SVC"
    assert record["preparation"]["scale"] == "unit"
    assert (record["protocol"]["kind"], record["protocol"]["test_size"]) == (
        "holdout",
        0.5,
    )
    assert set(record["search"]["grid"]) == {"C", "gamma"}
    assert (record["search"]["folds"], record["search"]["step"]) == (2, 5)
    assert record["machine"]["cores"] >= 1 and record["machine"]["processor"]
    # No outputs/ tree of Hydra's, nothing but results and data.
    assert not (project.root / "outputs").exists()

    # Other repeats make their own split first, and no stale row.
    overrides = "method=[plain] protocol.repeats=3"
    target = "results/small/records/clowns/plain/0-2.json"
    project.run(target, overrides=overrides)
    assert [record["status"] for record in project.records()] == ["ok"] * 3
