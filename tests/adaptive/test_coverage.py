"""Coverage of prediction intervals and sets by category."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor, cli
from adakern.adaptive.coverage import coverage_by, coverage_lines


def test_coverage_by_category():
    is_covered = np.array([1.0, 0.0] * 40 + [1.0] * 60 + [np.nan] * 50)
    kind = ["b"] * 80 + ["a"] * 60 + ["c"] * 50
    few = [1] * 49 + [2] * 141
    missing = np.array([None, np.nan] * 95, dtype=object)
    shares = coverage_by(is_covered, {"kind": kind, "few": few, "none": missing})
    assert shares["kind"] == {"b": (0.5, 80), "a": (1.0, 60)}
    assert list(shares["few"]) == ["2"]
    assert "none" not in shares
    (line, _) = coverage_lines(shares)
    assert line == "  kind: b 50% of 80, a 100% of 60; 1 below 85%"


def test_out_of_fold_coverage_of_intervals():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1))
    noisy = np.arange(200) < 60
    y = X[:, 0] + np.where(noisy, 1.0, 0.1) * rng.normal(size=200)
    w = np.ones(200)
    w[7] = 0
    model = AdaptiveKernelRegressor(members=["linear"], random_state=0)
    is_covered = model.fit(X, y, sample_weight=w).oof_covered_
    assert np.isnan(is_covered[7])
    assert np.isnan(is_covered).sum() == 1
    # The conformal quantile of 199 errors at a coverage of 0.9.
    assert np.nansum(is_covered) == 180
    # No column indicates the noisy rows, so these are covered less often.
    assert np.nanmean(is_covered[noisy]) < np.nanmean(is_covered[~noisy]) - 0.1


@pytest.mark.parametrize("with_values", [False, True])
def test_out_of_fold_coverage_of_prediction_sets(with_values):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=150) > 0).astype(int)
    new = {"X_val": X[100:], "y_val": y[100:]} if with_values else {}
    n = 100 if with_values else 150
    model = AdaptiveKernelClassifier(members=["linear"], random_state=0)
    is_covered = model.fit(X[:n], y[:n], **new).oof_covered_
    assert is_covered.shape == (len(model.oof_prediction_),)
    assert 0.88 <= is_covered.mean() <= 0.96


def test_prediction_sets_contain_the_most_probable_class():
    """Without noise, predictions are correct, so all sets contain the true class."""
    X = np.random.default_rng(0).normal(size=(120, 1))
    y = (X[:, 0] > 0).astype(int)
    model = AdaptiveKernelClassifier(members=["extra-trees"], random_state=0).fit(X, y)
    right = model.oof_prediction_.argmax(axis=1) == y
    assert right.mean() > 0.95
    assert (model.oof_covered_[right] == 1).all()


def test_coverage_is_printed_and_stored_in_card(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=110), "k": ["a", "b"] * 55})
    table["y"] = table["x"] + rng.normal(size=110)
    table.to_csv(tmp_path / "my.csv", index=False)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["fit", "my.csv", "--target", "y", "--preset", "fast"]) == 0
    output = capsys.readouterr().out
    with zipfile.ZipFile("my.skops") as archive:
        shares = json.loads(archive.read("card.json"))["coverage"]["k"]
    assert sorted(shares) == ["a", "b"]
    (least, most) = shares
    (line,) = [line for line in output.splitlines() if line.startswith("  k: ")]
    assert line.startswith(f"  k: {least} {shares[least][0]:.0%} of 55, {most}")
