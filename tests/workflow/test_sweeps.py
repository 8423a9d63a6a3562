"""Sweeps over a parameter of a method and over the rows that it trains on."""

import pytest
from sklearn.svm import SVC

from adakern_bench.config.estimators import make_estimator
from adakern_bench.config.plan import load_plan
from adakern_bench.config.schema import Protocol
from adakern_bench.config.sweeps import Variant, expand_datasets, expand_sweep
from rules import Rules

NEIGHBOURS = {"knn": {"extension": "knn", "n_neighbors": 5}}
RELATIVE = {"relative_to": "C", "power": 2, "values": ["svm", 0.1]}


def test_an_axis_is_a_list_named_points_or_in_units_of_another_parameter():
    assert expand_sweep(["dank"], {"dank": {"tau": [0, 1]}}) == {
        "dank@tau=0": Variant({"tau": 0}, {"tau": 0}),
        "dank@tau=1": Variant({"tau": 1}, {"tau": 1}),
    }
    found = expand_sweep(["dank"], {"dank": {"rule": NEIGHBOURS, "eta": RELATIVE}})
    assert list(found) == ["dank@rule=knn,eta=svm", "dank@rule=knn,eta=0.1"]
    last = found["dank@rule=knn,eta=0.1"]
    assert last.swept == {"rule": "knn", "eta": 0.1}
    eta = {"relative_to": "C", "power": 2, "value": 0.1}
    assert last.params == NEIGHBOURS["knn"] | {"eta": eta}


def test_the_protocol_sweeps_data_sets():
    assert list(expand_datasets(["a", "b"], Protocol())) == ["a", "b"]
    found = expand_datasets(["a"], Protocol(train_rows=[10, 20]))
    assert found["a@train_rows=20"].swept == {"train_rows": 20}
    found = expand_datasets(["a"], Protocol(train_rows=[10, 20], tuning="both"))
    assert len(found) == 4
    point = {"train_rows": 10, "tuning": "published"}
    assert found["a@train_rows=10,tuning=published"].swept == point


def test_both_ways_of_tuning_share_rows_and_differ_in_the_search():
    iris = ["suite=uci121", "dataset=[]", "suite.only=[iris]", "method=[svm-cv]"]
    rules = Rules(*iris, "protocol=published", "protocol.tuning=both")
    nested, published = rules.plan.datasets
    drawn = [rules.params("split", dataset=d) for d in (nested, published)]
    assert drawn[0] == drawn[1]
    searched = [
        rules.params("search", dataset=d, method="svm-cv")["search"]
        for d in (nested, published)
    ]
    assert searched[0] == searched[1] | {"tuning": "nested"}
    assert searched[1]["tuning"] == "published"
    told = rules.params("solve", dataset=published, method="svm-cv")
    assert told["identity"]["sweep"] == {"tuning": "published"}


def test_a_point_takes_over_and_says_where_it_is():
    sweep = "+sweep.dank.eta={relative_to: C, power: 2, values: [svm, 0.1]}"
    chosen = ["dataset=[clowns]", "method=[svm-cv,dank]", "protocol.train_rows=[40,80]"]
    rules = Rules(*chosen, sweep)
    found = rules.plan
    assert len(found.cells) == 2 * 3
    cell = ("clowns@train_rows=80", "dank@eta=0.1")
    assert cell in found.cells
    assert found.search_method(*cell) == "svm-cv", "tuned on the same eighty rows"
    drawn = rules.params("split", dataset=cell[0])["splitting"]
    assert drawn["train_rows"] == 80
    told = rules.params("solve", dataset=cell[0], method=cell[1])
    identity = told["identity"]
    assert identity["sweep"] == {"train_rows": 80, "eta": 0.1}
    assert (identity["base_dataset"], identity["base_method"]) == ("clowns", "dank")
    assert found.table_names == ["clowns"], "one table serves all sizes"


def test_settings_of_one_size_add_to_those_of_the_data_set():
    found = load_plan(["experiment=dank_scaling"])
    for rows, clusters in ((1000, 1), (3000, 3), (49990, 50)):
        estimator = found.recipe(f"ijcnn1@train_rows={rows}", "dank-decomposed")[
            "estimator"
        ]
        assert [estimator[name] for name in ("C", "gamma", "n_clusters")] == [
            32,
            2,
            clusters,
        ]


def test_a_parameter_in_units_of_another_follows_what_a_search_found():
    for value, expected in ((0.1, pytest.approx(1.6)), ("svm", "svm")):
        eta = {"relative_to": "C", "power": 2, "value": value}
        recipe = {"_target_": "adakern.DANKClassifier", "eta": eta}
        assert make_estimator(recipe, {"C": 4.0}).eta == expected


def test_a_nested_parameter_can_be_swept():
    bagging = {"_target_": "sklearn.ensemble.BaggingClassifier", "estimator": SVC()}
    assert make_estimator(bagging | {"estimator__C": 7.0}).estimator.C == 7.0
