"""The studies of the experiments nystrom_consistency and nystrom_cost, small."""

import numpy as np
import pytest
from scipy.stats import ttest_rel
from sklearn.datasets import make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import train_test_split

from adakern.bench.stages.prepare import prepare
from adakern.bench.studies import nystrom as studies
from adakern.datasets import Table
from adakern.kernels import gram_matrix

GAMMAS = (0.25, 1.0, 4.0)


@pytest.fixture(scope="module")
def table():
    X, y = make_moons(120, noise=0.25, random_state=0)
    return Table(X, y, "moons", "classification", ["a", "b"])


@pytest.fixture(scope="module")
def frame(table):
    parts = studies.consistency(table, 3, runs=3, gammas=GAMMAS, n_columns=0.1)
    return parts.assign(dataset="moons")


def test_curves_are_the_criterion_of_the_training_part(table, frame):
    n_gammas, n_samplings = len(GAMMAS), len(studies.SAMPLINGS) + 1
    assert len(frame) == 3 * n_gammas * n_samplings
    assert np.all(frame["criterion"] >= frame["exact"] - 1e-8)
    train, test = train_test_split(
        np.arange(120), test_size=0.2, stratify=table.y, random_state=4
    )
    data = prepare(table, train, test, scale="symmetric")
    signs = 2.0 * data.y_train - 1
    run = frame[(frame["run"] == 1) & (frame["sampling"] == "exact")]
    for row in run.itertuples():
        K = gram_matrix(data.X_train, gamma=row.gamma) + 0.005 * 96 * np.eye(96)
        assert row.criterion == pytest.approx(0.005 * signs @ np.linalg.solve(K, signs))
    gamma = run["gamma"].iloc[run["criterion"].argmin()]
    assert set(run["selected_gamma"]) == {gamma}
    model = KernelRidge(kernel="rbf", gamma=gamma, alpha=0.005 * 96)
    decided = model.fit(data.X_train, signs).predict(data.X_test) > 0
    assert set(run["test_accuracy"]) == {np.mean(decided == (data.y_test == 1))}


def test_published_test_rows_take_no_part(table):
    part = Table(**{**vars(table), "test_rows": np.arange(20)})
    frame = studies.consistency(
        part, 0, runs=1, gammas=GAMMAS, samplings=["uniform"], n_columns=0.1
    )
    assert set(frame["n_train"] + frame["n_test"]) == {100}


def test_summary_and_tests(frame):
    table = studies.summary(frame).set_index("sampling")
    uniform = frame[frame["sampling"] == "uniform"]
    distance = (uniform["criterion"] - uniform["exact"]).mean()
    assert table.loc["uniform", "distance"] == pytest.approx(distance)
    assert table.loc["exact", "distance"] == 0 and table.loc["exact", "same_gamma"] == 1
    tests = studies.paired_tests(frame)
    assert len(tests) == 2 * 2 * len(studies.SAMPLINGS)
    mine = (tests["sampling"] == "greedy-criterion") & (tests["score"] == "distance")
    tests = tests[mine].set_index("other")
    errors = frame.assign(error=frame["criterion"] - frame["exact"])
    runs = errors.pivot_table(index="run", columns="sampling", values="error")
    expected = ttest_rel(runs["greedy-criterion"], runs["uniform"]).pvalue
    assert tests.loc["uniform", "pvalue"] == pytest.approx(expected)
    best = table.loc[list(studies.SAMPLERS), "distance"].idxmin()
    assert list(table.index[table["closest"]]) == [best]


def test_figures(frame):
    figure = studies.plot_consistency(frame)
    curves = figure.subfigs[0].axes[0]
    assert len(curves.lines) == len(studies.SAMPLINGS) + 1
    costs = studies.cost(
        None, 0, rows=(100, 200), fractions=(0.1, 0.2), gammas=(1.0,), n_features=4
    )
    exact = costs[costs["sampling"] == "exact"]
    assert list(exact["l"]) == [100, 200]
    assert len(costs) == 2 + 2 * 2 * len(studies.SAMPLERS)
    assert np.all(exact["peak_bytes"] > 8 * exact["l"] ** 2)
    assert len(studies.plot_cost(costs).axes) == 4
