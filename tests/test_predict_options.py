"""Options of `adakern predict`: explanations and comparison with the training rows."""

import shlex
from io import StringIO

import numpy as np
import pandas as pd
import pytest

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor, cli
from adakern.datasets import read_table
from adakern.model_file import load_model, make_card, save_model, table_pipeline


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Flats with rents and owners, and a model for each."""
    folder, rng = tmp_path_factory.mktemp("flats"), np.random.default_rng(0)
    n = 60
    flats = pd.DataFrame(
        {
            "area": rng.uniform(20, 120, n).round(1),
            "kind": rng.choice(["old", "new"], n),
            "built": pd.date_range("2001-03-05", periods=n, freq="17D").strftime(
                "%Y-%m-%d"
            ),
        }
    )
    flats["rent"] = (
        800 + 300 * np.sin(flats["area"] / 9) + 200 * (flats["kind"] == "new")
    ).round(2)
    flats["owner"] = np.where(flats["rent"] > 800, "firm", "person")
    flats.to_csv(folder / "flats.csv", index=False)
    kinds = {"rent": AdaptiveKernelRegressor, "owner": AdaptiveKernelClassifier}
    for target, kind in kinds.items():
        drop = [name for name in kinds if name != target]
        table = read_table(folder / "flats.csv", target, drop=drop)
        model = table_pipeline(kind(members=["rbf"], random_state=0), table)
        model.fit(table.X, table.y)
        card = make_card(table, estimator=kind.__name__)
        save_model(model, folder / f"{target}.skops", card)
    return folder


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Run a command in the folder; returns its exit code and output."""
    monkeypatch.chdir(folder)

    def run(line):
        capsys.readouterr()
        return cli.main(line.split()), capsys.readouterr()

    return run


@pytest.mark.parametrize(("limit", "is_announced"), [(2, True), (3, False)])
def test_explanations_of_many_rows_are_announced(
    run, folder, monkeypatch, limit, is_announced
):
    flats = pd.read_csv(folder / "flats.csv")
    flats.iloc[4:7].to_csv(folder / "new.csv", index=False)
    monkeypatch.setattr(cli, "ROWS_QUICKLY_EXPLAINED", limit)
    _, printed = run("predict rent.skops new.csv --explain")
    assert ("explaining 3 rows" in printed.err) == is_announced


@pytest.mark.parametrize("target", ["rent", "owner"])
def test_explain_option_adds_columns(run, folder, target):
    flats = pd.read_csv(folder / "flats.csv")
    flats.iloc[4:7].to_csv(folder / "new.csv", index=False)
    code, printed = run(f"predict {target}.skops new.csv --explain")
    assert code == 0
    out = pd.read_csv(StringIO(printed.out))
    model, _ = load_model(folder / f"{target}.skops")
    predicted = out[target]
    if target == "owner":
        proba = model.predict_proba(flats.iloc[4:7])
        predicted = proba[range(3), np.searchsorted(model.classes_, predicted)]
    contributions = [f"{target}_by_{name}" for name in ("area", "kind", "built")]
    total = out[f"{target}_mean"] + out[contributions].sum(axis=1)
    np.testing.assert_allclose(total, predicted)
    for place, text in zip(range(4, 7), out[f"{target}_rows"], strict=True):
        rows = [int(pair.split(":")[0]) for pair in text.split()]
        assert len(rows) == 5
        assert place in rows  # a training row influences itself


def test_explain_option_requires_explain_method(run, folder):
    run("fit flats.csv --target rent --drop owner --method sklearn.linear_model.Ridge")
    with pytest.raises(SystemExit, match="Ridge has no explain"):
        run("predict flats.skops flats.csv --explain")


def test_check_and_fail_on_shift_options(run, folder):
    flats = pd.read_csv(folder / "flats.csv")
    flats.iloc[::2].to_csv(folder / "same.csv", index=False)
    code, same = run("predict rent.skops same.csv --fail-on-shift")
    assert code == 0
    assert "0 of 3 columns differ" in same.err
    flats.assign(area=flats["area"] * 10.7).to_csv(folder / "feet.csv", index=False)
    code, shifted = run("predict rent.skops feet.csv")
    assert code == 0
    assert "note: 60 rows unlike the training rows: area:" in shifted.err
    code, checked = run("predict rent.skops feet.csv --check")
    assert code == 0
    assert "1 of 3 columns differ" in checked.err
    code, failed = run("predict rent.skops feet.csv --fail-on-shift --interval 0.9")
    assert code == 3
    assert len(failed.out.splitlines()) == 61


def test_printed_command_quotes_file_name(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    cli.main(["fit", "flats.csv", "--target", "rent", "--output", "my model.skops"])
    line = next(t for t in capsys.readouterr().out.splitlines() if "predict" in t)
    assert shlex.split(line)[:3] == ["adakern", "predict", "my model.skops"]
