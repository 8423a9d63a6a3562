"""The console command ``adakern``: fit, predict, and the commands of the workflow."""

import argparse
import os
import re
import shlex
import sys
import time
import warnings
from contextlib import redirect_stdout, suppress
from functools import cache, partial
from importlib.metadata import entry_points
from pathlib import Path

from adakern._utils.hints import did_you_mean
from adakern._utils.printable import printable, without_formula
from adakern._utils.warn import note
from adakern._utils.wording import count
from adakern._version import __version__

#: Options whose values are comma-separated column names.
NAMED = ("drop", "keep", "categorical", "merge")

#: Minimum time limit of a fit, in seconds.
LEAST_SECONDS = 1.0

#: Maximum number of rows that are explained without a note on the time.
ROWS_QUICKLY_EXPLAINED = 30


def main(argv=None):
    """Run a command of the library, or of the workflow if it is installed."""
    if argv is None and sys.getfilesystemencoding() == "ascii":
        # Names and texts have other characters, whatever the locale and PYTHONUTF8 say.
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
    argv = list(sys.argv[1:] if argv is None else argv)
    output = _Output(sys.stdout)
    with redirect_stdout(output):
        try:
            return _run(argv)
        except KeyboardInterrupt:
            message = f"\nadakern {argv[0]}: stopped; no incomplete file is left behind"
            print(message, file=sys.stderr)
            return 130
        except SystemExit as stopped:
            raise SystemExit(printable(stopped.code)) from None
        finally:
            output.flush()


class _Output:
    """Standard output without commands to the terminal, which drops the rest if its
    reader, such as ``| head``, exits.
    """

    def __init__(self, stream):
        self.stream = stream

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def write(self, text):
        return self._try(self.stream.write, printable(text))

    def flush(self):
        self._try(self.stream.flush)

    def _try(self, method, *given):
        try:
            return method(*given)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.stream.fileno())


def _run(argv):
    if argv[:1] != ["predict"] and hasattr(sys.stdout, "reconfigure"):
        # A terminal that cannot show the "²" in "R²" shows a replacement character.
        sys.stdout.reconfigure(errors="replace")
    parser = argparse.ArgumentParser(
        prog="adakern", description="Learn from a table, and predict new rows."
    )
    parser.add_argument("--version", action="version", version=__version__)
    own = add_commands(parser.add_subparsers(title="commands", metavar="COMMAND"))
    if not (argv and argv[0] in own):
        for workflow in entry_points(group="adakern.commands"):
            return workflow.load()(argv)
        parser.epilog = (
            "The commands that compare methods belong to the workflow: clone the "
            "repository and run `make env` there."
        )
        if argv and not argv[0].startswith("-"):
            parser.error(
                f"unknown command {argv[0]!r}, expected fit or predict. {parser.epilog}"
            )
    arguments = parsed(parser, own, argv or ["--help"])
    try:
        with warnings.catch_warnings():
            note_once = cache(note)  # the same whatever the number of outputs
            warnings.showwarning = lambda message, *_, **__: note_once(str(message))
            return arguments.handle(arguments)
    except ModuleNotFoundError as error:
        extra = (
            'pandas and skops come with pip install "adakern[table]", the packages of '
            "baselines with `.venv/bin/pip install -e .[rivals]` in the repository"
        )
        sys.exit(f"adakern {argv[0]}: there is no package {error.name}; {extra}")
    except UnicodeEncodeError as error:
        lacking = error.object[error.start : error.end]
        sys.exit(
            f"adakern {argv[0]}: {lacking!r} cannot be written in {error.encoding}, "
            "the encoding of the output: set PYTHONIOENCODING=utf-8"
        )
    except (ValueError, OSError) as error:
        file = getattr(error, "filename", None)
        message = f"{file}: {error.strerror}" if file else error
        sys.exit(f"adakern {argv[0]}: {message}")


def parsed(parser, commands, argv):
    """Parse the arguments; for an unknown command or option, suggest the closest."""
    if argv and not argv[0].startswith("-") and argv[0] not in commands:
        hint = did_you_mean(argv[0], commands) or f" Known: {', '.join(commands)}."
        parser.error(f"unknown command {argv[0]!r}.{hint}")
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        command = commands.get(argv[0], parser)
        hint = did_you_mean(unknown[0], re.findall(r"--[a-z-]+", command.format_help()))
        command.error(printable(f"unrecognized arguments: {' '.join(unknown)}.{hint}"))
    return arguments


def add_commands(commands):
    """Add ``fit`` and ``predict`` to argparse's subparsers, and return all commands."""
    fit = commands.add_parser("fit", help="fit a model to a table")
    add_table_arguments(fit)
    _add_arguments(fit, FIT)
    fit.set_defaults(handle=_fit)
    predict = commands.add_parser("predict", help="predict the rows of a table")
    _add_arguments(predict, PREDICT)
    predict.set_defaults(handle=_predict)
    return commands.choices


def add_table_arguments(command, needs_target=True):
    """Add the options about the table and its target, for ``fit`` and ``compare``."""
    target = TABLE["--target"] | {"required": needs_target}
    _add_arguments(command, TABLE | {"--target": target})


def _add_arguments(command, arguments):
    for name, settings in arguments.items():
        command.add_argument(name, **settings)


def named_columns(arguments):
    """Return the columns named by options, separated by commas, and their forms."""
    named = {
        option: [name for name in getattr(arguments, option).split(",") if name]
        for option in NAMED
    }
    return named | {"form": dict(arguments.form)}


def column_form(text):
    """Return the column and the form of ``COLUMN=FORM``."""
    column, _, form = text.rpartition("=")
    if not (column and form):
        raise argparse.ArgumentTypeError(
            f"{text} must be COLUMN=FORM, such as price=, or day=%m/%d/%Y"
        )
    return column, form


def below(high, allowed):
    """Return an argparse type: numbers in (0, `high`), described by `allowed`."""

    def number(text):
        if not 0 < float(text) < high:
            raise argparse.ArgumentTypeError(f"{text} must be {allowed}")
        return float(text)

    return number


#: Arguments about a table, with the settings of argparse.
TABLE = {
    "file": {
        "type": Path,
        "help": "table: .csv, .tsv, .txt, .parquet or .xlsx, compressed or not",
    },
    "--target": {
        "help": "column to predict, or several numeric ones, separated by commas",
    },
    "--task": {
        "choices": ("classification", "regression"),
        "help": "task (default: inferred from the target)",
    },
    "--drop": {"default": "", "help": "columns to drop, separated by commas"},
    "--keep": {
        "default": "",
        "help": "columns to keep even if they look like identifiers or free text, "
        "separated by commas; all: every column that --drop does not name; "
        "rows:totals, rows:units, rows:headers, rows:remarks: rows that look like "
        "these",
    },
    "--categorical": {
        "default": "",
        "help": "columns to treat as categorical even if they are numbers or dates",
    },
    "--merge": {
        "default": "",
        "help": "columns whose categories are merged if they differ only in case, "
        "accents or blanks; they get the most frequent spelling; all: every column",
    },
    "--form": {
        "action": "append",
        "default": [],
        "type": column_form,
        "metavar": "COLUMN=FORM",
        "help": "format of a column, if inferred wrongly: price=, (decimal comma), "
        "mass=.kg (decimal point, unit), or day=%%m/%%d/%%Y; may be repeated for other "
        "columns",
    },
    "--group": {
        "metavar": "COLUMN",
        "help": "column of group labels, such as patient, for predictions of unseen "
        "groups (default: an identifier with repeated values; none: rows are "
        "independent)",
    },
    "--time": {
        "metavar": "COLUMN",
        "help": "column of dates or numbers, for predictions of rows later than these",
    },
    "--minutes": {
        "type": below(float("inf"), "above 0"),
        "help": "approximate time limit",
    },
}

#: Further arguments of ``fit``.
FIT = {
    "--output": {
        "type": Path,
        "help": "model file (default: my.skops for my.csv)",
    },
    "--preset": {
        "choices": ("best", "fast"),
        "default": "best",
        "help": "fast: fewer members, in about a quarter of the time",
    },
    "--method": {
        "metavar": "CLASS",
        "help": "another estimator, such as 'sklearn.svm.SVC(C=10)', or a method of "
        "conf/method",
    },
    "--threshold": {
        "choices": ("balanced", "f1", "accuracy"),
        "help": "metric that the decision threshold between two classes maximises out "
        "of fold; balanced: balanced accuracy. Probabilities are unchanged",
    },
}

#: Arguments of ``predict``.
PREDICT = {
    "model": {"type": Path, "help": "model file written by `adakern fit`"},
    "file": {"type": Path, "help": "table with the same columns"},
    "--interval": {
        "type": below(1, "between 0 and 1, such as 0.9"),
        "help": "add prediction intervals of this coverage",
    },
    "--proba": {"action": "store_true", "help": "add the probability of each class"},
    "--explain": {
        "action": "store_true",
        "help": "add the contribution of each column to the prediction (or to the "
        "probability of the predicted class) and the most influential training rows",
    },
    "--check": {
        "action": "store_true",
        "help": "report distribution shift from the training rows on standard error",
    },
    "--fail-on-shift": {
        "action": "store_true",
        "help": "like --check; exit with code 3 if a column has shifted",
    },
    "--trust": {
        "default": "",
        "help": "dotted names of types of other packages to load, separated by commas",
    },
}


def _fit(arguments):
    import skops.io  # noqa: F401 - report a missing package before the work

    from adakern.datasets import read_table
    from adakern.left_out import (
        coverage_left_out,
        fit_table,
        print_coverage,
        print_result,
        score_left_out,
    )
    from adakern.model_file import make_card, save_model, table_pipeline

    started = time.perf_counter()
    output = _output(arguments)
    read = partial(
        read_table,
        arguments.file,
        task=arguments.task,
        group=False if arguments.group == "none" else arguments.group,
        time=arguments.time,
        texts=not arguments.method,
        **named_columns(arguments),
    )
    table = of_targets(read, arguments.target)
    print_table(arguments.file, table)
    estimator = _estimator(arguments, table.task)
    is_flagship = not arguments.method
    if hasattr(table.y, "columns") and not is_flagship:
        estimator = _for_each_target(estimator, table.y)
    pipeline = table_pipeline(estimator, table)
    if arguments.minutes and is_flagship:
        left = _seconds_left(arguments.minutes, started)
        pipeline.set_params(model__time_limit=left)
    print(f"\nFitting {type(estimator).__name__}", flush=True)
    fit_table(pipeline, table)
    score = score_left_out(pipeline, table)
    facts = {"estimator": type(estimator).__name__, "date": time.strftime("%Y-%m-%d")}
    facts["coverage"] = coverage = coverage_left_out(pipeline[-1], table)
    save_model(pipeline, output, make_card(table, score=score, **facts))
    _check_written(output, table.X.head(1), is_flagship)
    print_result(pipeline[-1], table.kinds, score)
    print_coverage(coverage)
    size = output.stat().st_size / 1e6
    took = time.perf_counter() - started
    print(f"\nWritten to {output} ({size:.1f} MB) after {took:.0f} s. For new rows:")
    name = f"{'./' * str(output).startswith('-')}{output}"  # is no option
    print(f"  adakern predict {shlex.quote(name)} new.csv > predicted.csv")
    return 0


def of_targets(read, target):
    """Call ``read`` with one target name, or with a list of comma-separated names.

    A name that contains a comma is taken as one name unless all its parts are columns.
    """
    names = target.split(",")
    if len(names) == 1:
        return read(target)
    try:
        return read(names)
    except ValueError as error:
        with suppress(ValueError):
            return read(target)
        raise error from None


def print_table(file, table):
    """Print what was inferred about a table, and how each of its columns was read."""
    notes = [f"{file.name}: {table.notes[0]}", *table.notes[1:]]
    # `compare` prints it, too.
    print(printable("\n  ".join(notes) + f"\n\n{table.account!r}"))


def _for_each_target(estimator, y):
    """Wrap the estimator to fit one copy per target if it supports only one target."""
    from sklearn.multioutput import MultiOutputRegressor

    from adakern._utils.base import takes_several

    if n := int(y.isna().any(axis=1).sum()):
        raise ValueError(
            f"{count(n, 'row')} without some of the targets, which --method does not "
            "support: fit one target at a time, or use the default method"
        )
    if takes_several(estimator):
        return estimator
    note(f"{type(estimator).__name__} takes one target: a copy is fitted to each")
    return MultiOutputRegressor(estimator)


def _output(arguments):
    """Path of the model file, named after the table by default."""
    name = f"{arguments.file.name.partition('.')[0][:100]}.skops"
    output = arguments.output or Path(name)
    if output.is_dir():
        raise ValueError(f"--output {output} is a folder; name a file in it")
    place = next(folder for folder in output.absolute().parents if folder.exists())
    if not (place.is_dir() and os.access(place, os.W_OK)):
        raise ValueError(f"--output {output}: {place} is not a writable folder")
    return output


def _seconds_left(minutes, started):
    """Remaining seconds of the time limit, but at least ``LEAST_SECONDS``."""
    left = 60 * minutes - (time.perf_counter() - started)
    if left < LEAST_SECONDS:
        note(
            f"--minutes {minutes:g} is over before the fit begins; it takes at least a "
            "second"
        )
    return max(left, LEAST_SECONDS)


def _check_written(output, row, is_flagship):
    """Check that the written file can be loaded and predicts, before reporting it."""
    import skops.io

    from adakern.model_file import load_model

    # Naming a method implies trust in its types; `adakern predict` asks about them.
    trust = () if is_flagship else skops.io.get_untrusted_types(file=output)
    try:
        load_model(output, trust=trust)[0].predict(row)
    except Exception as error:
        raise ValueError(
            f"the model was fitted, but its file {output} cannot be used: {error}"
        ) from error


def _estimator(arguments, task):
    """Return an unfitted estimator: the flagship, or the one named by --method."""
    from sklearn.base import is_classifier

    from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
    from adakern.model_file import estimator_of

    classifies = task == "classification"
    if arguments.threshold and (arguments.method or not classifies):
        raise ValueError(
            f"--threshold {arguments.threshold} requires two classes and the default "
            "method; for other methods, see scikit-learn's TunedThresholdClassifierCV"
        )
    if not arguments.method:
        flagship = AdaptiveKernelClassifier if classifies else AdaptiveKernelRegressor
        more = {"threshold": arguments.threshold} if arguments.threshold else {}
        return flagship(preset=arguments.preset, random_state=0, verbose=1, **more)
    if arguments.minutes:
        note("--minutes limits the time of the default method only")
    if re.fullmatch(r"[\w-]+", arguments.method):
        estimator = _method_named(arguments.method, task)
    else:
        estimator = estimator_of(arguments.method)
    if is_classifier(estimator) != classifies:
        raise ValueError(f"--method {arguments.method} is not an estimator for {task}")
    params = estimator.get_params().items()
    unseeded = [
        name for name, v in params if name.endswith("random_state") and v is None
    ]
    return estimator.set_params(**dict.fromkeys(unseeded, 0))


def _method_named(name, task):
    """Return the estimator of a method of the workflow, if that is installed."""
    for named in entry_points(group="adakern.methods"):
        return named.load()(name, task)
    raise ValueError(
        f"--method {name}: methods without a module are those of the workflow. Clone "
        "the repository and run `make env` there, or name a class with its module, "
        "such as sklearn.svm.SVC"
    )


def _predict(arguments):
    import numpy as np
    import pandas as pd

    from adakern.datasets import read_rows
    from adakern.model_file import load_model, new_categories

    model, card = load_model(arguments.model, trust=arguments.trust.split(","))
    requested = {
        "predict_interval": arguments.interval is not None,
        "predict_proba": arguments.proba,
        "explain": arguments.explain,
        "check": arguments.check or arguments.fail_on_shift,
    }
    for method in (name for name in requested if requested[name]):
        if not hasattr(model, method):
            raise ValueError(f"{card['estimator']} has no {method}")
    rows = read_rows(arguments.file, card["kinds"], card["forms"])
    for message in new_categories(rows, card):
        note(message)
    code = 0
    if requested["check"]:
        report = model.check(rows)
        print(printable(repr(report)), file=sys.stderr)
        code = 3 if arguments.fail_on_shift and report.shifted else 0
    names = card.get("targets", [card["target"]])
    out = pd.DataFrame(np.reshape(model.predict(rows), (len(rows), -1)), columns=names)
    if arguments.interval is not None:
        bounds = model.predict_interval(rows, arguments.interval)
        columns = [f"{name}_{side}" for name in names for side in ("low", "high")]
        out[columns] = np.reshape(bounds, (len(rows), -1))
    if arguments.proba:
        (name,) = names
        out[[f"{name}={label}" for label in model.classes_]] = model.predict_proba(rows)
    if arguments.explain:
        out = pd.concat([out, *_explained(model, rows, out[names])], axis=1)
    safe = out.rename(columns=without_formula).map(without_formula)
    if not safe.equals(out) or list(safe.columns) != list(out.columns):
        note("cells that a spreadsheet would read as formulas start with an apostrophe")
    safe.to_csv(sys.stdout, index=False)
    return code


def _explained(model, rows, predicted):
    """Yield contributions of columns and influential rows for each target, as columns.

    Influential rows are given by number, from 0 among the rows with a target, with
    their weights.
    """
    import pandas as pd

    if len(rows) > ROWS_QUICKLY_EXPLAINED:
        note(f"explaining {len(rows)} rows, which may take a second or more for each")
    found = model.explain(rows)
    for name, answers in predicted.items():
        label = answers if found.classes is not None else name
        values, mean, _ = found.of_class(label)
        out = pd.DataFrame(values, columns=[f"{name}_by_{key}" for key in found.names])
        out.insert(0, f"{name}_mean", mean)
        out[f"{name}_rows"] = [
            " ".join(f"{row}:{weight:.3f}" for row, weight in zip(*pair, strict=True))
            for pair in zip(found.rows, found.row_weights, strict=True)
        ]
        yield out
