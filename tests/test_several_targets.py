"""Several targets with `adakern fit --target a,b` and `adakern predict`."""

import re
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from adakern import NystromKernelSelector, cli
from adakern._utils.base import takes_several
from adakern.datasets import read_table
from adakern.evaluation import score
from adakern.model_file import load_model
from adakern.tables.unpack import TableError

N = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Weights and prices of parcels, with missing values in both."""
    folder, rng = tmp_path_factory.mktemp("parcels"), np.random.default_rng(0)
    size, zone = rng.uniform(1, 5, N).round(2), rng.choice(["near", "far"], N)
    table = pd.DataFrame({"size": size, "zone": zone})
    table["weight"] = (size**2 + 0.1 * rng.standard_normal(N)).round(3)
    table["price"] = (1e4 * size + 1e4 * (zone == "far")).round(1)
    table["weight"] = table["weight"].mask(table.index % 7 == 0)
    table.loc[3, ["weight", "price"]] = np.nan
    table.to_csv(folder / "parcels.csv", index=False)
    table.rename(columns={"price": "price, net"}).to_csv(
        folder / "comma.csv", index=False
    )
    return folder


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Run a command in the folder; returns its output."""
    monkeypatch.chdir(folder)

    def run(*line):
        capsys.readouterr()
        assert cli.main(list(line)) == 0
        return capsys.readouterr()

    return run


@pytest.mark.slow
def test_fit_and_predict_two_targets(run, folder):
    options = "--target weight,price --preset fast --output m.skops"
    printed = run("fit", "parcels.csv", *options.split()).out
    assert "regression of 'weight', 'price'" in printed
    assert "left out: 1 row without a target" in printed
    assert "9 rows without some of the targets" in printed
    assert "the mean over 2 targets" in printed
    for name in ("weight", "price"):
        assert re.search(rf"\n  {name}: R² (0\.9|1)", printed)
    model, card = load_model(folder / "m.skops")
    assert card["targets"] == ["weight", "price"] and card["target"] == "weight,price"
    complete = pd.read_csv(folder / "parcels.csv").dropna().head(12)
    complete.drop(columns=["weight", "price"]).to_csv(folder / "new.csv", index=False)
    line = "predict m.skops new.csv --interval 0.9 --explain"
    out = pd.read_csv(StringIO(run(*line.split()).out))
    names = ["weight", "price"]
    assert list(out.columns[:6]) == [
        *names,
        *[f"{name}_{side}" for name in names for side in ("low", "high")],
    ]
    np.testing.assert_allclose(out[names], model.predict(complete), rtol=1e-12)
    for name in names:
        assert r2_score(complete[name], out[name]) > 0.9
        assert (out[f"{name}_low"] <= out[name]).all()
        assert (out[name] <= out[f"{name}_high"]).all()
        parts = out[[f"{name}_mean", f"{name}_by_size", f"{name}_by_zone"]]
        np.testing.assert_allclose(parts.sum(axis=1), out[name], rtol=1e-9)


@pytest.mark.slow
def test_single_output_method_is_fitted_to_each_target(run, folder):
    full = pd.read_csv(folder / "parcels.csv").dropna()
    full.to_csv(folder / "full.csv", index=False)
    options = "--target weight,price --output svr.skops --method"
    printed = run("fit", "full.csv", *options.split(), "sklearn.svm.SVR(C=100)")
    assert "SVR takes one target: a copy is fitted to each" in printed.err
    full.to_csv(folder / "again.csv", index=False)
    out = pd.read_csv(StringIO(run("predict", "svr.skops", "again.csv").out))
    assert r2_score(full[["weight", "price"]], out) > 0.8
    printed = run("fit", "full.csv", *options.split(), "sklearn.linear_model.Ridge()")
    assert "takes one target" not in printed.err
    with pytest.raises(SystemExit, match="9 rows without some of the targets"):
        run("fit", "parcels.csv", *options.split(), "sklearn.linear_model.Ridge()")


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (Ridge(), True),
        (SVR(), False),
        (make_pipeline(StandardScaler(), "passthrough", Ridge()), True),
        (make_pipeline(StandardScaler(), SVR()), False),
        (make_pipeline(NystromKernelSelector(), Ridge()), False),
    ],
)
def test_one_target_step_of_a_pipeline_is_noticed(estimator, expected):
    """Regression test: ``nystrom-krr`` failed instead of being fitted to each."""
    X = np.random.default_rng(0).normal(size=(20, 2))
    assert takes_several(estimator) is expected
    if expected:
        estimator.fit(X, X)
    else:
        with pytest.raises(ValueError, match="1d array"):
            estimator.fit(X, X)


def test_target_name_with_comma(folder):
    table = cli.of_targets(
        lambda target: read_table(folder / "comma.csv", target), "price, net"
    )
    assert table.y.name == "price, net" and table.y.ndim == 1


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (["weight", "prize"], "no column 'prize'.*price"),
        (["weight", "weight"], "'weight' cannot be group, time or another target"),
        (["weight", "zone"], "all be numeric, and 'zone' has classes"),
    ],
)
def test_invalid_targets_raise(folder, targets, message):
    with pytest.raises(TableError, match=message):
        read_table(folder / "parcels.csv", targets)


def test_scores_are_means_over_standardised_targets():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((30, 2)) * [1, 1000]
    predicted = Y + rng.standard_normal((30, 2)) * [0.5, 100]
    scores = score("regression", Y, predicted)
    assert scores["r2"] == pytest.approx(r2_score(Y, predicted))
    rmse = np.sqrt(np.mean((Y - predicted) ** 2, axis=0)) / Y.std(axis=0)
    assert scores["rmse"] == pytest.approx(rmse.mean())
    Y[:4, 1] = np.nan
    rest = score(
        "regression", Y[4:, 1] / Y[4:, 1].std(), predicted[4:, 1] / Y[4:, 1].std()
    )
    first = score(
        "regression", Y[:, 0] / Y[:, 0].std(), predicted[:, 0] / Y[:, 0].std()
    )
    mean = {name: (rest[name] + first[name]) / 2 for name in rest}
    assert score("regression", Y, predicted) == pytest.approx(mean)
