"""How often intervals and sets contain the targets of some kinds of rows."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor, cli
from adakern.adaptive.coverage import coverage_by, coverage_lines


def test_shares_are_counted_by_category():
    found = np.array([1.0, 0.0] * 40 + [1.0] * 60 + [np.nan] * 50)
    kind = ["b"] * 80 + ["a"] * 60 + ["c"] * 50
    few = [1] * 49 + [2] * 141
    missing = np.array([None, np.nan] * 95, dtype=object)
    shares = coverage_by(found, {"kind": kind, "few": few, "none": missing})
    assert shares["kind"] == {"b": (0.5, 80), "a": (1.0, 60)}
    assert list(shares["few"]) == ["2"]
    assert "none" not in shares
    (line, _) = coverage_lines(shares)
    assert line == "  kind: b 50% of 80, a 100% of 60; 1 below 85%"


def test_the_interval_of_a_left_out_row_contains_its_target_or_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1))
    noisy = np.arange(200) < 60
    y = X[:, 0] + np.where(noisy, 1.0, 0.1) * rng.normal(size=200)
    w = np.ones(200)
    w[7] = 0
    model = AdaptiveKernelRegressor(members=["linear"], random_state=0)
    found = model.fit(X, y, sample_weight=w).oof_covered_
    assert np.isnan(found[7])
    assert np.isnan(found).sum() == 1
    # The quantile of 199 errors that a new one is below with probability 0.9.
    assert np.nansum(found) == 180
    # No column says which rows are noisy: these are covered less.
    assert np.nanmean(found[noisy]) < np.nanmean(found[~noisy]) - 0.1


@pytest.mark.parametrize("with_values", [False, True])
def test_sets_of_classes_are_covered_too(with_values):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=150) > 0).astype(int)
    new = {"X_val": X[100:], "y_val": y[100:]} if with_values else {}
    n = 100 if with_values else 150
    model = AdaptiveKernelClassifier(members=["linear"], random_state=0)
    found = model.fit(X[:n], y[:n], **new).oof_covered_
    assert found.shape == (len(model.oof_prediction_),)
    assert 0.88 <= found.mean() <= 0.96


def test_the_most_probable_class_is_in_every_set():
    """A table without noise: all are right, and so all sets hold their class."""
    X = np.random.default_rng(0).normal(size=(120, 1))
    y = (X[:, 0] > 0).astype(int)
    model = AdaptiveKernelClassifier(members=["extra-trees"], random_state=0).fit(X, y)
    right = model.oof_prediction_.argmax(axis=1) == y
    assert right.mean() > 0.95
    assert (model.oof_covered_[right] == 1).all()


def test_fit_prints_them_and_the_card_has_them(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=110), "k": ["a", "b"] * 55})
    table["y"] = table["x"] + rng.normal(size=110)
    table.to_csv(tmp_path / "my.csv", index=False)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["fit", "my.csv", "--target", "y", "--preset", "fast"]) == 0
    said = capsys.readouterr().out
    with zipfile.ZipFile("my.skops") as archive:
        shares = json.loads(archive.read("card.json"))["coverage"]["k"]
    assert sorted(shares) == ["a", "b"]
    (least, most) = shares
    (line,) = [line for line in said.splitlines() if line.startswith("  k: ")]
    assert line.startswith(f"  k: {least} {shares[least][0]:.0%} of 55, {most}")
