"""Sweeps over a parameter of a method and over the number of training rows."""

import pytest
from sklearn.svm import SVC

from adakern_bench.config.estimators import make_estimator
from adakern_bench.config.plan import load_plan
from adakern_bench.config.schema import Protocol
from adakern_bench.config.sweeps import Variant, expand_datasets, expand_sweep
from rules import Rules

NEIGHBOURS = {"knn": {"extension": "knn", "n_neighbors": 5}}
RELATIVE = {"relative_to": "C", "power": 2, "values": ["svm", 0.1]}


def test_expand_sweep():
    assert expand_sweep(["dank"], {"dank": {"tau": [0, 1]}}) == {
        "dank@tau=0": Variant({"tau": 0}, {"tau": 0}),
        "dank@tau=1": Variant({"tau": 1}, {"tau": 1}),
    }
    variants = expand_sweep(["dank"], {"dank": {"rule": NEIGHBOURS, "eta": RELATIVE}})
    assert list(variants) == ["dank@rule=knn,eta=svm", "dank@rule=knn,eta=0.1"]
    last = variants["dank@rule=knn,eta=0.1"]
    assert last.swept == {"rule": "knn", "eta": 0.1}
    eta = {"relative_to": "C", "power": 2, "value": 0.1}
    assert last.params == NEIGHBOURS["knn"] | {"eta": eta}


def test_expand_datasets():
    assert list(expand_datasets(["a", "b"], Protocol())) == ["a", "b"]
    datasets = expand_datasets(["a"], Protocol(train_rows=[10, 20]))
    assert datasets["a@train_rows=20"].swept == {"train_rows": 20}
    datasets = expand_datasets(["a"], Protocol(train_rows=[10, 20], tuning="both"))
    assert len(datasets) == 4
    point = {"train_rows": 10, "tuning": "published"}
    assert datasets["a@train_rows=10,tuning=published"].swept == point


def test_tuning_both_uses_the_same_rows_with_two_searches():
    iris = ["suite=uci121", "dataset=[]", "suite.only=[iris]", "method=[svm-cv]"]
    rules = Rules(*iris, "protocol=published", "protocol.tuning=both")
    nested, published = rules.plan.datasets
    split_params = [rules.params("split", dataset=d) for d in (nested, published)]
    assert split_params[0] == split_params[1]
    searches = [
        rules.params("search", dataset=d, method="svm-cv")["search"]
        for d in (nested, published)
    ]
    assert searches[0] == searches[1] | {"tuning": "nested"}
    assert searches[1]["tuning"] == "published"
    params = rules.params("solve", dataset=published, method="svm-cv")
    assert params["identity"]["sweep"] == {"tuning": "published"}


def test_sweep_point_uses_tuned_parameters_and_is_recorded():
    sweep = "+sweep.dank.eta={relative_to: C, power: 2, values: [svm, 0.1]}"
    chosen = ["dataset=[clowns]", "method=[svm-cv,dank]", "protocol.train_rows=[40,80]"]
    rules = Rules(*chosen, sweep)
    plan = rules.plan
    assert len(plan.cells) == 2 * 3
    cell = ("clowns@train_rows=80", "dank@eta=0.1")
    assert cell in plan.cells
    assert plan.search_method(*cell) == "svm-cv", "tuned on the same eighty rows"
    splitting = rules.params("split", dataset=cell[0])["splitting"]
    assert splitting["train_rows"] == 80
    params = rules.params("solve", dataset=cell[0], method=cell[1])
    identity = params["identity"]
    assert identity["sweep"] == {"train_rows": 80, "eta": 0.1}
    assert (identity["base_dataset"], identity["base_method"]) == ("clowns", "dank")
    assert plan.table_names == ["clowns"], "one table serves all sizes"


def test_settings_of_train_rows_extend_those_of_the_data_set():
    plan = load_plan(["experiment=dank_scaling"])
    for rows, clusters in ((1000, 1), (3000, 3), (49990, 50)):
        estimator = plan.recipe(f"ijcnn1@train_rows={rows}", "dank-decomposed")[
            "estimator"
        ]
        assert [estimator[name] for name in ("C", "gamma", "n_clusters")] == [
            32,
            2,
            clusters,
        ]


def test_relative_parameter_uses_searched_value():
    for value, expected in ((0.1, pytest.approx(1.6)), ("svm", "svm")):
        eta = {"relative_to": "C", "power": 2, "value": value}
        recipe = {"_target_": "adakern.DANKClassifier", "eta": eta}
        assert make_estimator(recipe, {"C": 4.0}).eta == expected


def test_nested_parameter_can_be_swept():
    bagging = {"_target_": "sklearn.ensemble.BaggingClassifier", "estimator": SVC()}
    assert make_estimator(bagging | {"estimator__C": 7.0}).estimator.C == 7.0
