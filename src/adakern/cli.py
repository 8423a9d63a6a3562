"""The console command ``adakern``: fit, predict, and what the workflow brings."""

import argparse
import math
import sys
import time
import warnings
from importlib.metadata import entry_points
from pathlib import Path

from adakern._version import __version__

__all__ = ["add_commands", "main"]

#: Part of the rows, the latest, that a model of ordered rows is judged by.
LATEST = 0.2


def main(argv=None):
    """Run a command of the library, or hand over to the workflow where it is there."""
    argv = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="adakern", description="Learn from a table, and predict new rows."
    )
    parser.add_argument("--version", action="version", version=__version__)
    own = add_commands(parser.add_subparsers(title="commands", metavar="COMMAND"))
    workflow = entry_points(group="adakern.commands")
    if workflow and not (argv and argv[0] in {*own, "--version"}):
        return next(iter(workflow)).load()(argv)
    if not workflow:
        parser.epilog = (
            "The commands that compare methods belong to the workflow: clone the "
            "repository and run `make env` there."
        )
    if not argv:
        parser.print_help()
        return 0
    arguments = parser.parse_args(argv)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _note
            return arguments.handle(arguments)
    except ModuleNotFoundError as error:
        sys.exit(
            f"adakern {argv[0]} needs the package {error.name}: "
            'pip install "adakern[table]"'
        )
    except (ValueError, OSError) as error:
        sys.exit(f"adakern {argv[0]}: {error}")


def add_commands(commands):
    """Add ``fit`` and ``predict`` to argparse's subparsers; returns their names."""
    fit = commands.add_parser("fit", help="learn a model from all rows of a table")
    fit.add_argument("file", type=Path, help="a table, such as my.csv")
    fit.add_argument("--target", required=True, help="the column to predict")
    fit.add_argument("--output", type=Path, help="the model; my.skops by default")
    fit.add_argument(
        "--minutes", type=_positive, metavar="M", help="at most, about; no limit else"
    )
    fit.add_argument("--preset", choices=("best", "fast"), default="best")
    fit.add_argument(
        "--task", choices=("classification", "regression"), help="seen from the target"
    )
    fit.add_argument("--drop", default="", help="columns to leave out, with commas")
    fit.add_argument(
        "--group",
        metavar="COLUMN",
        help="whose rows belong together, such as patient; none: each row by itself",
    )
    fit.add_argument(
        "--time", metavar="COLUMN", help="a date: the score is for the latest rows"
    )
    fit.add_argument(
        "--method", metavar="CLASS", help="another estimator, by its dotted name"
    )
    fit.set_defaults(handle=_fit)
    predict = commands.add_parser("predict", help="predict the rows of another table")
    predict.add_argument("model", type=Path, help="a file that `adakern fit` wrote")
    predict.add_argument("file", type=Path, help="a table with the same columns")
    predict.add_argument(
        "--interval", type=float, metavar="P", help="intervals of this coverage, as 0.9"
    )
    predict.add_argument(
        "--proba", action="store_true", help="the probability of each class"
    )
    predict.add_argument(
        "--trust", nargs="+", default=(), metavar="TYPE", help="types of other packages"
    )
    predict.set_defaults(handle=_predict)
    return commands.choices


def _positive(text):
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no time above 0")
    return value


def _note(message, *_, **__):
    print(f"note: {message}", file=sys.stderr)


def _fit(arguments):
    import skops.io  # noqa: F401  (if it is missing, say so before the work)
    from sklearn.base import clone

    from adakern.datasets import read_table
    from adakern.model_file import make_card, save_model, table_pipeline

    started = time.perf_counter()
    table = read_table(
        arguments.file,
        arguments.target,
        task=arguments.task,
        drop=[name for name in arguments.drop.split(",") if name],
        group=False if arguments.group == "none" else arguments.group,
        time=arguments.time,
    )
    print("\n  ".join([f"{arguments.file.name}: {table.notes[0]}", *table.notes[1:]]))
    estimator, is_flagship = _estimator(arguments, table.task)
    pipeline = table_pipeline(estimator, table.kinds, raw=is_flagship)
    if arguments.minutes and is_flagship:
        left = 60 * arguments.minutes - (time.perf_counter() - started)
        # With --time a first model is fitted to be judged.
        pipeline.set_params(model__time_limit=left / 2 if arguments.time else left)
    print(f"\nFitting {type(estimator).__name__}", flush=True)
    judged = None
    if table.times is not None or not is_flagship:
        judged = _judge(clone(pipeline), table)
    routed = {}
    if is_flagship and table.groups is not None:
        routed["model__groups"] = table.groups
    pipeline.fit(table.X, table.y, **routed)
    model = pipeline[-1]
    score = _score(table, *(judged or _left_out(model, table)))
    _print_result(model, table.kinds, score)
    output = arguments.output or Path(f"{arguments.file.name.partition('.')[0]}.skops")
    today = time.strftime("%Y-%m-%d")
    save_model(
        pipeline, output, make_card(table, table.y.name, score=score, date=today)
    )
    print(
        f"\nWritten to {output} ({output.stat().st_size / 1e6:.1f} MB) after "
        f"{time.perf_counter() - started:.0f} s. For new rows:\n"
        f"  adakern predict {output} new.csv > predicted.csv"
    )
    return 0


def _estimator(arguments, task):
    """An unfitted estimator, and whether it is the flagship: it takes raw columns."""
    from sklearn.base import is_classifier, is_regressor

    from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
    from adakern._utils.dotted import resolve

    if not arguments.method:
        is_class = task == "classification"
        chosen = AdaptiveKernelClassifier if is_class else AdaptiveKernelRegressor
        return chosen(random_state=0, verbose=1), True
    try:
        estimator = resolve(arguments.method)()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(
            f"--method {arguments.method}: {error}; name a class whose parameters have "
            "defaults, such as sklearn.ensemble.RandomForestClassifier"
        ) from error
    fits = is_classifier if task == "classification" else is_regressor
    if not fits(estimator):
        raise ValueError(f"--method {arguments.method} is no estimator for {task}")
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    flagships = AdaptiveKernelClassifier, AdaptiveKernelRegressor
    return estimator, isinstance(estimator, flagships)


def _judge(pipeline, table):
    """What rows are judged on, and predictions for them by models that had others."""
    import numpy as np
    from sklearn.model_selection import (
        GroupKFold,
        KFold,
        StratifiedKFold,
        cross_val_predict,
    )

    if table.times is not None:
        order = np.argsort(table.times.to_numpy(), kind="stable")
        early, late = np.split(order, [round(len(order) * (1 - LATEST))])
        pipeline.fit(table.X.iloc[early], table.y.iloc[early])
        predicted = pipeline.predict(table.X.iloc[late])
        return f"the latest {len(late)} rows", late, predicted
    if table.groups is not None:
        folds = GroupKFold(5)
    else:
        kind = StratifiedKFold if table.task == "classification" else KFold
        folds = kind(5, shuffle=True, random_state=0)
    predicted = cross_val_predict(
        pipeline, table.X, table.y, groups=table.groups, cv=folds
    )
    return _rows_left_out(table), slice(None), predicted


def _left_out(model, table):
    """The same of the flagship, whose fit has it already."""
    predicted = model.oof_prediction_
    if table.task == "classification":
        predicted = model.classes_[predicted.argmax(axis=1)]
    return _rows_left_out(table), slice(None), predicted


def _rows_left_out(table):
    return "rows left out" if table.groups is None else "groups left out"


def _score(table, text, rows, predicted):
    """Scores, and what rows they are of."""
    import numpy as np

    from adakern.evaluation import score

    y = table.y.to_numpy()[rows]
    found = {"on": text, **score(table.task, y, predicted)}
    if table.task == "classification":
        largest = np.unique(y, return_counts=True)[1].max()
        found["largest_class"] = float(largest / len(y))
    return found


def _print_result(model, kinds, score):
    if "accuracy" in score:
        print(
            f"\nAccuracy on {score['on']}: {score['accuracy']:.1%} (always the largest "
            f"class: {score['largest_class']:.1%}), balanced "
            f"{score['balanced_accuracy']:.1%}"
        )
    else:
        print(
            f"\nR² on {score['on']}: {score['r2']:.4g} (always the mean: 0); root mean "
            f"squared error {score['rmse']:.4g}"
        )
    if hasattr(model, "members_"):
        print(f"\n{model.members_}\n\nImportance of the columns:")
        shares = zip(model.feature_importances_, kinds, strict=True)
        for share, name in sorted(shares, reverse=True)[:20]:
            print(f"  {share:6.1%}  {name}")


def _predict(arguments):
    import pandas as pd

    from adakern.datasets import read_rows
    from adakern.model_file import load_model, new_categories

    model, card = load_model(arguments.model, trust=arguments.trust)
    name, P = card["target"], arguments.interval
    if P is not None and not hasattr(model, "predict_interval"):
        raise ValueError(
            "--interval is for regression by the flagship; this model is "
            f"{type(model[-1]).__name__}"
        )
    if P is not None and not 0 < P < 1:
        raise ValueError(f"--interval {P}: use a coverage between 0 and 1, such as 0.9")
    if arguments.proba and not hasattr(model, "predict_proba"):
        raise ValueError(
            f"--proba is for classifiers; this model is {type(model[-1]).__name__}"
        )
    kinds = {column["name"]: column["kind"] for column in card["columns"]}
    frame = read_rows(arguments.file, kinds)
    for note in new_categories(frame, card):
        _note(note)
    out = pd.DataFrame({name: model.predict(frame)})
    if P is not None:
        out[[f"{name}_low", f"{name}_high"]] = model.predict_interval(frame, P)
    if arguments.proba:
        columns = [f"{name}={label}" for label in model.classes_]
        out[columns] = model.predict_proba(frame)
    out.to_csv(sys.stdout, index=False)
    return 0
