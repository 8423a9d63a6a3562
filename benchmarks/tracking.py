"""Time to log solves to MLflow against one client call per parameter and metric.

    python benchmarks/tracking.py            # 100 solves, 40 parameters each
    python benchmarks/tracking.py --quick    # 10 solves: does it run?

The reference is what one writes first: MLflow's client with one call for every
parameter, metric and tag, on an SQLite file as well. It is given a tenth of the solves,
since it is slow, in turn with ours, so that a change of load meets both; the ratio is
of the times per solve.
"""

import argparse
import logging
import os
import tempfile
import time
from pathlib import Path

os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"

from mlflow import MlflowClient

from adakern_bench.tracking.track import log_records

#: Seconds for one solve; seconds to find that all of them are up to date.
TARGET_EACH, TARGET_AGAIN = 0.12, 1.0
ROUNDS = 5


def record(i):
    scores = {"accuracy": 0.9, "balanced_accuracy": 0.8, "f1": 0.7}
    return {
        "experiment": "bench",
        "dataset": "heart",
        "method": "svm-cv",
        "task": "classification",
        "repeat": i,
        "seed": i,
        "status": "ok",
        "params": {f"p{k}": k for k in range(40)},
        "metrics": {"train": scores, "test": scores},
        "fit_seconds": 0.1,
        "predict_seconds": 0.01,
        "n_train": 100,
        "n_test": 100,
    }


def log_singly(client, experiment_id, record):
    run_id = client.create_run(experiment_id).info.run_id
    for name, value in record["params"].items():
        client.log_param(run_id, name, value)
    for split, scores in record["metrics"].items():
        for name, value in scores.items():
            client.log_metric(run_id, f"{split}_{name}", value)
    for name in ("dataset", "method", "repeat", "status"):
        client.set_tag(run_id, name, record[name])
    client.log_dict(run_id, record, "record.json")
    client.set_terminated(run_id)


def seconds(function, *arguments, **keywords):
    start = time.perf_counter()
    function(*arguments, **keywords)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    n = 10 if parser.parse_args().quick else 100
    logging.disable(logging.INFO)
    per_round = n // ROUNDS
    single = max(1, per_round // 10)
    records = [record(i) for i in range(n)]
    ours = reference = 0.0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        uri = f"sqlite:///{Path(folder) / 'mlflow.db'}"
        client = MlflowClient(uri)
        experiment_id = client.create_experiment("singly")
        log_records([record(-1)], experiment="bench", tracking_uri=uri)
        for i in range(ROUNDS):
            batch = records[i * per_round : (i + 1) * per_round]
            ours += seconds(log_records, batch, experiment="bench", tracking_uri=uri)
            for one in batch[:single]:
                reference += seconds(log_singly, client, experiment_id, one)
        again = seconds(log_records, records, experiment="bench", tracking_uri=uri)
    ratio = (reference / (single * ROUNDS)) / (ours / n)
    print(f"times faster than single calls: {ratio:.1f}")
    print(
        f"{n} solves logged in {ours:.2f} s, {ours / n:.3f} s each (target "
        f"{TARGET_EACH:g} s) {'ok' if ours / n <= TARGET_EACH else 'MISSED'}"
    )
    print(
        f"{n} solves found up to date in {again:.2f} s (target {TARGET_AGAIN:g} s) "
        f"{'ok' if again <= TARGET_AGAIN else 'MISSED'}"
    )


if __name__ == "__main__":
    main()
