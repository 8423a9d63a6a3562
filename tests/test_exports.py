"""Three tables as a hospital, a bank and a shop export them, from file to decision.

Each generator knows the law behind its rows, so that what is decided can be judged.
"""

import json
import zipfile
from io import StringIO

import numpy as np
import pandas as pd
import pytest

from adakern import cli


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs a command of adakern in a folder of its own; returns what it printed."""
    monkeypatch.chdir(tmp_path)

    def command(*words):
        assert cli.main([str(word) for word in words]) == 0, capsys.readouterr().err
        return capsys.readouterr()

    return command


def card_of(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("card.json"))


def account(card):
    return {column["column"]: column["became"] for column in card["columns"]}


def comma(number):
    return f"{number:.1f}".replace(".", ",")


def hospital(path, n, seed):
    """As a German Excel writes it: semicolons, decimal commas, dd.mm.yyyy, a second
    header of units, a footer, limits of detection, code page 1252.

    The stay is 4 days and one for each 20 mg/l of CRP, two more in intensive care.
    """
    rng = np.random.default_rng(seed)
    crp = rng.gamma(2.0, 20.0, n)
    ward = rng.choice(["Innere", "Chirurgie", "Intensiv"], n)
    days = 4 + crp / 20 + 2 * (ward == "Intensiv") + rng.normal(0, 0.5, n)
    when = pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 365, n), "D")
    patient = rng.permutation(np.repeat(np.arange(10_000, 10_000 + n // 2), 2)[:n])
    lines = ["Patient;Aufnahme;Station;Größe;CRP;Verweildauer", ";;;cm;mg/l;Tage"]
    for k in range(n):
        value = "<5" if crp[k] < 5 else comma(crp[k])
        row = [patient[k], f"{when[k]:%d.%m.%Y}", ward[k], rng.integers(150, 200)]
        lines.append(";".join(map(str, [*row, value, comma(days[k])])))
    lines.append(f"Summe;;;;;{comma(days.sum())}")
    path.write_text("\n".join(lines) + "\n", encoding="cp1252")
    return days


def bank(path, n, seed):
    """Amounts with currency and thousands, accounts, yyyymmdd, 3 % fraud.

    Fraud is by far more likely above 5,000 at night.
    """
    rng = np.random.default_rng(seed)
    amount, hour = rng.lognormal(7.0, 1.2, n), rng.integers(0, 24, n)
    odds = -7.0 + 3.0 * (amount > 5000) + 4.0 * (hour < 6)
    fraud = rng.random(n) < 1 / (1 + np.exp(-odds))
    when = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(n) // 10, "D")
    frame = pd.DataFrame(
        {
            "account": [f"DE{rng.integers(10**17, 10**18)}" for _ in range(n)],
            "booked_date": when.strftime("%Y%m%d"),
            "amount": [f"EUR {value:,.2f}" for value in amount],
            "hour": hour,
            "fraud": np.where(fraud, "yes", "no"),
        }
    )
    frame.to_csv(path, index=False)
    return fraud


def shop(path, n, seed):
    """Prices, ZIP codes with a leading zero, free text, spellings that differ."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["chair", "table", "lamp"], n, p=[0.4, 0.3, 0.3])
    weight = rng.uniform(1, 30, n)
    base = pd.Series({"chair": 40.0, "table": 120.0, "lamp": 25.0})[kind].to_numpy()
    price = base + 2 * weight + rng.normal(0, 3, n)
    spell = [str.title, str.lower, str.upper, lambda word: f" {word} "]
    words = np.array(["sturdy", "oak", "light", "modern", "vintage", "solid"])
    text = [
        " ".join(rng.choice(words, 5)) + f" {kind[k]} no {k}, as good as new"
        for k in range(n)
    ]
    frame = pd.DataFrame(
        {
            "zip": [f"0{rng.integers(1000, 1009)}" for _ in range(n)],
            "kind": [spell[rng.integers(4)](word) for word in kind],
            "weight": [f"{value:.1f} kg" for value in weight],
            "description": text,
            "price": [f"${value:,.2f}" for value in price],
        }
    )
    frame.to_csv(path, index=False)
    return price


@pytest.mark.slow
def test_a_hospital_knows_how_long_beds_are_taken(run, tmp_path):
    hospital(tmp_path / "stays.csv", 240, 0)
    said = run("fit", "stays.csv", "--target", "Verweildauer", "--preset", "fast").out
    for words in (
        "encoding: cp1252",
        "the row below the header, 'cm'",
        "the last row, 'Summe'",
        "decimal comma",
        "'Aufnahme', read as %d.%m.%Y",
        "limits such as '<5' are read as the limit itself",
        "'Patient' has 120 values in 240 rows; rows that share one are kept together",
    ):
        assert words in said
    card = card_of("stays.skops")
    assert card["rows"] == 240 and card["groups"]["number"] == 120
    features = ["Aufnahme", "Station", "Größe", "CRP", "CRP: limit"]
    assert card["kinds"] == dict(
        zip(features, ["date", "categorical", *["numeric"] * 3], strict=True)
    )
    assert "group of the row" in account(card)["Patient"]
    assert set(card["coverage"]["Station"]) == {"Innere", "Chirurgie", "Intensiv"}
    assert set(card["score"]["by_category"]) == {"Station", "Patient"}

    days = hospital(tmp_path / "new.csv", 100, 1)
    answer = run("predict", "stays.skops", "new.csv", "--interval", "0.9")
    found = pd.read_csv(StringIO(answer.out))
    # A prediction for each line of the file; units and the sum, no patients, are told.
    assert len(found) == 102
    assert "the row below the header, 'cm'" in answer.err
    assert "the last row, 'Summe'" in answer.err
    found = found[1:-1].reset_index(drop=True)
    off = found["Verweildauer"] - days
    assert np.sqrt(np.mean(off**2)) < 0.7  # of which 0.5 is nobody's to know
    held = (found["Verweildauer_low"] <= days) & (days <= found["Verweildauer_high"])
    # Binomial: 90 of 100, three standard deviations of new rows and of 240 known ones.
    assert held.sum() >= 90 - 3 * 100 * np.sqrt(0.09 / 100 + 0.09 / 240)


@pytest.mark.slow
def test_a_bank_knows_what_to_look_at(run, tmp_path):
    known = bank(tmp_path / "bookings.csv", 1500, 0)
    said = run("fit", "bookings.csv", "--target", "fraud", "--preset", "fast").out
    for words in (
        "'booked_date', read as %Y%m%d",
        "'EUR 1,275.22' is read as 1275.22",
        "dropped 'account': an identifier",
        f"'yes' ({known.mean():.1%} of the rows): average precision",
    ):
        assert words in said
    card = card_of("bookings.skops")
    assert card["kinds"] == {
        "booked_date": "date",
        "amount": "numeric",
        "hour": "numeric",
    }
    assert 0.02 < known.mean() < 0.04 and card["score"]["rare_class"] == "yes"

    fraud = bank(tmp_path / "new.csv", 1000, 1)
    answer = run("predict", "bookings.skops", "new.csv", "--proba")
    proba = pd.read_csv(StringIO(answer.out))["fraud=yes"]
    asked = proba >= card["score"]["threshold"]
    # Looked at are few, of whom many times more are fraud than of all.
    assert asked.mean() < 0.1 and fraud[asked].mean() > 5 * fraud.mean()
    assert fraud[asked].sum() > fraud.sum() / 3
    error = np.sqrt(fraud.mean() / len(fraud) + known.mean() / len(known))
    assert abs(proba.mean() - fraud.mean()) < 3 * error


@pytest.mark.slow
def test_a_shop_knows_what_to_ask(run, tmp_path):
    shop(tmp_path / "offers.csv", 240, 0)
    options = ("--target", "price", "--preset", "fast", "--merge", "kind")
    said = run("fit", "offers.csv", *options).out
    for words in (
        "' is read as ",
        "categories: 'zip' has 9 (0",
        "categories: 'kind' has 3",
        "text: 'description', read as character n-grams",
    ):
        assert words in said
    card = card_of("offers.skops")
    assert card["kinds"] == {
        "zip": "categorical",
        "kind": "categorical",
        "weight": "numeric",
        "description": "text",
    }
    assert all(code.startswith("0") for code in card["categories"]["zip"])

    price = shop(tmp_path / "new.csv", 100, 1)
    answer = run("predict", "offers.skops", "new.csv", "--interval", "0.9")
    found = pd.read_csv(StringIO(answer.out))
    assert np.sqrt(np.mean((found["price"] - price) ** 2)) < 4.5  # 3 are noise
    held = (found["price_low"] <= price) & (price <= found["price_high"])
    assert held.sum() >= 90 - 3 * 100 * np.sqrt(0.09 / 100 + 0.09 / 240)
