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
        return next(iter(workflow)).load()()
    if not workflow:
        parser.epilog = (
            "The commands that compare methods belong to the workflow: clone the "
            "repository and run `make env` there."
        )
    if not argv:
        parser.print_help()
        return 0
    arguments = parser.parse_args(argv)
    warnings.showwarning = _note
    try:
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
        help="whose rows belong together, such as patient: the score is for new ones",
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

    from adakern.model_file import column_kinds, make_card, save_model, table_pipeline

    started = time.perf_counter()
    frame, task = _table_to_fit(arguments)
    y, apart = frame[arguments.target], [arguments.target]
    groups = frame[arguments.group] if arguments.group else None
    apart += [arguments.group] if arguments.group else []
    features = frame.drop(columns=apart)
    kinds = column_kinds(features)
    if not kinds:
        raise ValueError("no column is left to learn from")
    estimator, is_flagship = _estimator(arguments, task)
    pipeline = table_pipeline(estimator, kinds, raw=is_flagship)
    if arguments.minutes and is_flagship:
        left = 60 * arguments.minutes - (time.perf_counter() - started)
        # With --time a first model is fitted to be judged.
        pipeline.set_params(model__time_limit=left / 2 if arguments.time else left)
    print(f"Fitting {type(estimator).__name__} to {len(frame)} rows", flush=True)
    judged = None
    if arguments.time or not is_flagship:
        judged = _judge(clone(pipeline), features, y, groups, arguments.time)
    pipeline.fit(features, y, **_group_parameter(is_flagship, groups))
    model = pipeline[-1]
    score = _score(task, y, *(judged or _left_out(model)))
    _print_result(model, kinds, score, groups)
    output = arguments.output or Path(f"{arguments.file.name.partition('.')[0]}.skops")
    card = make_card(
        frame,
        arguments.target,
        kinds,
        task=task,
        score=score,
        date=time.strftime("%Y-%m-%d"),
    )
    save_model(pipeline, output, card)
    print(
        f"\nWritten to {output} ({output.stat().st_size / 1e6:.1f} MB) after "
        f"{time.perf_counter() - started:.0f} s. For new rows:\n"
        f"  adakern predict {output} new.csv > predicted.csv"
    )
    return 0


def _table_to_fit(arguments):
    """The rows with a target, without columns that are no features; and the task."""
    frame = _read(arguments.file)
    kind = frame[arguments.target].dtype.kind
    return frame, "regression" if kind in "fiu" else "classification"


def _read(file):
    import pandas as pd

    return pd.read_csv(file)


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
            f"--method {arguments.method}: {error}; name a class with defaults, such as "
            "sklearn.ensemble.RandomForestClassifier"
        ) from error
    fits = is_classifier if task == "classification" else is_regressor
    if not fits(estimator):
        raise ValueError(f"--method {arguments.method} is no estimator for {task}")
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    flagships = AdaptiveKernelClassifier, AdaptiveKernelRegressor
    return estimator, isinstance(estimator, flagships)


def _group_parameter(is_flagship, groups):
    return {"model__groups": groups} if is_flagship and groups is not None else {}


def _judge(pipeline, features, y, groups, time_column):
    """What rows are judged on, and predictions for them by models that had others."""
    import numpy as np
    from sklearn.base import is_classifier
    from sklearn.model_selection import (
        GroupKFold,
        KFold,
        StratifiedKFold,
        cross_val_predict,
    )

    if time_column:
        order = np.argsort(features[time_column], kind="stable")
        early, late = np.split(order, [round(len(y) * (1 - LATEST))])
        pipeline.fit(features.iloc[early], y.iloc[early])
        predicted = pipeline.predict(features.iloc[late])
        return f"the latest {len(late)} rows, by {time_column}", late, predicted
    if groups is not None:
        folds, text = GroupKFold(5), "rows of groups left out"
    else:
        kind = StratifiedKFold if is_classifier(pipeline) else KFold
        folds, text = kind(5, shuffle=True, random_state=0), "rows left out"
    predicted = cross_val_predict(pipeline, features, y, groups=groups, cv=folds)
    return text, slice(None), predicted


def _left_out(model):
    """The same of the flagship, whose fit has it already."""
    predicted = model.oof_prediction_
    if hasattr(model, "classes_"):
        predicted = model.classes_[predicted.argmax(axis=1)]
    return "rows left out", slice(None), predicted


def _score(task, y, text, rows, predicted):
    """Scores with what they are of; of predictions that know no column, too."""
    import numpy as np

    from adakern.evaluation import score

    y = np.asarray(y)[rows]
    found = {"on": text, **score(task, y, predicted)}
    if task == "classification":
        found["largest_class"] = float(
            np.unique(y, return_counts=True)[1].max() / len(y)
        )
    return found


def _print_result(model, kinds, score, groups):
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
    frame = _read(arguments.file)
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
