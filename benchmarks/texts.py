"""Errors on columns of free text and of many categories, with CatBoost and a linear
model.

    python benchmarks/texts.py                 # all tables, two draws
    python benchmarks/texts.py --preset fast   # the flagship's fast preset
    python benchmarks/texts.py --quick         # only checks that it runs

Tables are generated. Texts are sentences of 12 words from a vocabulary, some of which
have a normally distributed effect on the target each time they occur, in addition to a
numeric column; categories have an effect, or a slope of a number, per level. A model is
fitted to the first rows and predicts 1,000 others. The error is the root mean squared
error relative to the standard deviation of the target, or the log loss. The linear
model is ridge or logistic regression on word frequencies and indicators of levels.
CatBoost, if it is installed, has its defaults, with text and categorical columns
declared; it refuses texts in which no word occurs 50 times. The number after a slash is
the ratio to the flagship's error; processor seconds of a fit are in parentheses.
"""

import time
import warnings

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from timing import parser

ASKED = 1000


def texts(n, n_words, n_with_effect, rng):
    """Sentences and a number, with additive effects."""
    letters = list("abcdefghijklmnopqrstuvwxyz")
    words = ["".join(rng.choice(letters, rng.integers(3, 9))) for _ in range(n_words)]
    effects = np.zeros(n_words)
    effects[:n_with_effect] = rng.standard_normal(n_with_effect)
    drawn = rng.integers(n_words, size=(n, 12))
    number = rng.standard_normal(n)
    signal = effects[drawn].sum(axis=1) + 0.5 * number
    sentences = [" ".join(words[k] for k in row) for row in drawn]
    X = pd.DataFrame({"text": sentences, "number": number})
    return X, signal + 0.3 * rng.standard_normal(n)


def categories(n, n_levels, by_level, rng):
    """Levels and numbers: an effect, or a slope of a number, for each level."""
    level = rng.integers(n_levels, size=n)
    numbers = rng.standard_normal((n, 3))
    effects = rng.standard_normal(n_levels)
    signal = effects[level] * (numbers[:, 0] if by_level else 1)
    signal += np.tanh(numbers[:, 1])
    X = pd.DataFrame(numbers, columns=["a", "b", "c"])
    X["level"] = [f"level {k}" for k in level]
    return X, signal + 0.3 * rng.standard_normal(n)


#: Name, number of training rows, function, and its arguments.
TABLES = [
    ("text, 60 words, 12 with an effect", 400, texts, (60, 12)),
    ("text, 60 words, 12 with an effect", 1000, texts, (60, 12)),
    ("text, 500 words, 100 with an effect", 400, texts, (500, 100)),
    ("text, 500 words, 100 with an effect", 1000, texts, (500, 100)),
    ("100 levels with an effect", 500, categories, (100, False)),
    ("60 levels with a slope", 500, categories, (60, True)),
    ("500 levels with an effect", 2000, categories, (500, False)),
]


def models(X, *, classify, preset):
    """Unfitted models by name."""
    flagship = AdaptiveKernelClassifier if classify else AdaptiveKernelRegressor
    columns = (TfidfVectorizer(), "text") if "text" in X else (_indicators(), ["level"])
    linear = LogisticRegressionCV() if classify else RidgeCV(np.logspace(-3, 3, 13))
    columns = make_column_transformer(columns, remainder="passthrough")
    found = {
        "adaptive": flagship(preset=preset, random_state=0),
        "linear": make_pipeline(columns, linear),
    }
    try:
        import catboost
    except ImportError:
        return found
    kind = catboost.CatBoostClassifier if classify else catboost.CatBoostRegressor
    found["catboost"] = kind(
        verbose=False,
        random_state=0,
        allow_writing_files=False,
        thread_count=1,
        text_features=[name for name in X if name == "text"],
        cat_features=[name for name in X if name == "level"],
    )
    return found


def _indicators():
    return OneHotEncoder(handle_unknown="ignore")


def measured(make, n, settings, draw, *, classify, preset):
    """Model -> error and processor seconds on a draw of a table."""
    X, y = make(n + ASKED, *settings, np.random.default_rng(draw))
    y = (y > np.median(y)).astype(int) if classify else y
    found = {}
    for method, model in models(X, classify=classify, preset=preset).items():
        started = time.process_time()
        try:
            model.fit(X[:n], y[:n])
        except Exception as error:
            if method != "catboost":
                raise
            print(f"catboost: {str(error).rpartition(': ')[2]}")
            continue
        seconds = time.process_time() - started
        if classify:
            error = log_loss(y[n:], model.predict_proba(X[n:]))
        else:
            error = root_mean_squared_error(y[n:], model.predict(X[n:])) / y.std()
        found[method] = error, seconds
    return found


def main():
    """Print a line for each table and task."""
    made = parser(__doc__, "two tables of few rows")
    made.add_argument("--draws", type=int, default=2)
    made.add_argument("--preset", choices=["best", "fast"], default="best")
    arguments = made.parse_args()
    warnings.simplefilter("ignore")
    tables, draws = TABLES, range(arguments.draws)
    if arguments.quick:
        tables = [(name, 80, *rest) for name, _, *rest in (TABLES[0], TABLES[4])]
        draws = range(1)
    for name, n, make, settings in tables:
        for classify in (False, True):
            options = {"classify": classify, "preset": arguments.preset}
            each = [measured(make, n, settings, draw, **options) for draw in draws]
            task = "two classes" if classify else "numbers"
            print(f"{name}, {n} rows, {task}: {told(each)}", flush=True)


def told(each):
    """Format geometric means of the errors over draws, and ratios to the flagship's."""
    mean = {}
    lines = []
    finished = [name for name in each[0] if all(name in found for found in each)]
    for method in finished:
        errors, seconds = np.transpose([found[method] for found in each])
        mean[method] = np.exp(np.log(errors).mean())
        ratio = mean[method] / mean["adaptive"]
        lines.append(
            f"{method} {mean[method]:.3f} / {ratio:.2f} ({seconds.mean():.1f} s)"
        )
    return ", ".join(lines)


if __name__ == "__main__":
    main()
