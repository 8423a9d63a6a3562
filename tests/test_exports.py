"""Tables as exported by a hospital, a bank and a shop, from file to predictions. The
true model behind each generated table is known, so that predictions can be checked.
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
    """Run a command of adakern in its own folder; returns its output."""
    monkeypatch.chdir(tmp_path)

    def command(*words):
        assert cli.main([str(word) for word in words]) == 0, capsys.readouterr().err
        return capsys.readouterr()

    return command


def read_card(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("card.json"))


def column_roles(card):
    return {column["column"]: column["use"] for column in card["columns"]}


def format_decimal_comma(number):
    return f"{number:.1f}".replace(".", ",")


def write_hospital_stays(path, n, seed):
    """A file as written by a German Excel: semicolons, decimal commas, dd.mm.yyyy, a
    second header with units, a footer, limits of detection, code page 1252. A stay
    takes 4 days, one more per 20 mg/l of CRP, and two more in intensive care.
    """
    rng = np.random.default_rng(seed)
    crp = rng.gamma(2.0, 20.0, n)
    ward = rng.choice(["Innere", "Chirurgie", "Intensiv"], n)
    days = 4 + crp / 20 + 2 * (ward == "Intensiv") + rng.normal(0, 0.5, n)
    when = pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 365, n), "D")
    patient = rng.permutation(np.repeat(np.arange(10_000, 10_000 + n // 2), 2)[:n])
    lines = ["Patient;Aufnahme;Station;Größe;CRP;Verweildauer", ";;;cm;mg/l;Tage"]
    for k in range(n):
        value = "<5" if crp[k] < 5 else format_decimal_comma(crp[k])
        row = [patient[k], f"{when[k]:%d.%m.%Y}", ward[k], rng.integers(150, 200)]
        lines.append(";".join(map(str, [*row, value, format_decimal_comma(days[k])])))
    lines.append(f"Summe;;;;;{format_decimal_comma(days.sum())}")
    path.write_text("\n".join(lines) + "\n", encoding="cp1252")
    return days


def write_bank_bookings(path, n, seed):
    """Amounts with currency and thousands separators, accounts, yyyymmdd, 3 % fraud.
    Fraud is much more likely above 5,000 at night.
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


def write_shop_offers(path, n, seed):
    """Prices, ZIP codes with a leading zero, free text, inconsistent spellings."""
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
def test_hospital_stays(run, tmp_path):
    write_hospital_stays(tmp_path / "stays.csv", 240, 0)
    output = run("fit", "stays.csv", "--target", "Verweildauer", "--preset", "fast").out
    for text in (
        "encoding: cp1252",
        "the row below the header, 'cm'",
        "the last row, 'Summe'",
        "decimal comma",
        "'Aufnahme', read as %d.%m.%Y",
        "limits such as '<5' are read as the limit itself",
        "'Patient' has 120 values in 240 rows; rows that share one are kept together",
    ):
        assert text in output
    card = read_card("stays.skops")
    assert card["rows"] == 240 and card["groups"]["number"] == 120
    features = ["Aufnahme", "Station", "Größe", "CRP", "CRP: limit"]
    assert card["kinds"] == dict(
        zip(features, ["date", "categorical", *["numeric"] * 3], strict=True)
    )
    assert "group of the row" in column_roles(card)["Patient"]
    assert set(card["coverage"]["Station"]) == {"Innere", "Chirurgie", "Intensiv"}
    assert set(card["score"]["by_category"]) == {"Station", "Patient"}

    days = write_hospital_stays(tmp_path / "new.csv", 100, 1)
    answer = run("predict", "stays.skops", "new.csv", "--interval", "0.9")
    predictions = pd.read_csv(StringIO(answer.out))
    # A prediction for each line of the file; there are warnings for units and the sum.
    assert len(predictions) == 102
    assert "the row below the header, 'cm'" in answer.err
    assert "the last row, 'Summe'" in answer.err
    predictions = predictions[1:-1].reset_index(drop=True)
    error = predictions["Verweildauer"] - days
    assert np.sqrt(np.mean(error**2)) < 0.7  # 0.5 is noise
    is_covered = (predictions["Verweildauer_low"] <= days) & (
        days <= predictions["Verweildauer_high"]
    )
    # Binomial: 90 of 100, three standard deviations of new and of 240 training rows.
    assert is_covered.sum() >= 90 - 3 * 100 * np.sqrt(0.09 / 100 + 0.09 / 240)


@pytest.mark.slow
def test_bank_bookings(run, tmp_path):
    known = write_bank_bookings(tmp_path / "bookings.csv", 1500, 0)
    output = run("fit", "bookings.csv", "--target", "fraud", "--preset", "fast").out
    for text in (
        "'booked_date', read as %Y%m%d",
        "'EUR 1,275.22' is read as 1275.22",
        "dropped 'account': an identifier",
        f"'yes' ({known.mean():.1%} of the rows): average precision",
    ):
        assert text in output
    card = read_card("bookings.skops")
    assert card["kinds"] == {
        "booked_date": "date",
        "amount": "numeric",
        "hour": "numeric",
    }
    assert 0.02 < known.mean() < 0.04 and card["score"]["rare_class"] == "yes"

    fraud = write_bank_bookings(tmp_path / "new.csv", 1000, 1)
    answer = run("predict", "bookings.skops", "new.csv", "--proba")
    proba = pd.read_csv(StringIO(answer.out))["fraud=yes"]
    is_flagged = proba >= card["score"]["threshold"]
    # Few rows are flagged, and the rate of fraud among them is much higher.
    assert is_flagged.mean() < 0.1 and fraud[is_flagged].mean() > 5 * fraud.mean()
    assert fraud[is_flagged].sum() > fraud.sum() / 3
    error = np.sqrt(fraud.mean() / len(fraud) + known.mean() / len(known))
    assert abs(proba.mean() - fraud.mean()) < 3 * error


@pytest.mark.slow
def test_shop_offers(run, tmp_path):
    write_shop_offers(tmp_path / "offers.csv", 240, 0)
    options = ("--target", "price", "--preset", "fast", "--merge", "kind")
    output = run("fit", "offers.csv", *options).out
    for text in (
        "' is read as ",
        "categories: 'zip' has 9 (0",
        "categories: 'kind' has 3",
        "text: 'description', read as character n-grams",
    ):
        assert text in output
    card = read_card("offers.skops")
    assert card["kinds"] == {
        "zip": "categorical",
        "kind": "categorical",
        "weight": "numeric",
        "description": "text",
    }
    assert all(code.startswith("0") for code in card["categories"]["zip"])

    price = write_shop_offers(tmp_path / "new.csv", 100, 1)
    answer = run("predict", "offers.skops", "new.csv", "--interval", "0.9")
    predictions = pd.read_csv(StringIO(answer.out))
    assert np.sqrt(np.mean((predictions["price"] - price) ** 2)) < 4.5  # noise has 3
    is_covered = (predictions["price_low"] <= price) & (
        price <= predictions["price_high"]
    )
    assert is_covered.sum() >= 90 - 3 * 100 * np.sqrt(0.09 / 100 + 0.09 / 240)
