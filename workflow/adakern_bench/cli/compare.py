"""``adakern compare``: compare methods on your own table, or on one of OpenML."""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unicodedata
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path

from adakern._utils.files import read_json, write_csv
from adakern._utils.printable import printable
from adakern._utils.wording import count
from adakern.cli import (
    NAMED,
    add_table_arguments,
    named_columns,
    of_targets,
    print_table,
)
from adakern.datasets import TableError
from adakern_bench.base.notes import digest
from adakern_bench.base.paths import ROOT, columns_of
from adakern_bench.cli.choose import FLAGSHIP, JOB, REST_JOBS, choose, slowness
from adakern_bench.config.compose import ConfigError
from adakern_bench.config.entry import ENDINGS, DatasetEntry, DatasetError
from adakern_bench.config.infer import inferred_yaml
from adakern_bench.config.plan import absent_needs, load_plan, with_tuners
from adakern_bench.config.sweeps import base_name
from adakern_bench.data.parsers import parsed
from adakern_bench.data.sources import make_ready
from adakern_bench.report.wording import duration

_MADE_FROM = "# From: "


def add_arguments(parser):
    """Add the arguments of ``adakern compare``, except settings."""
    add_table_arguments(parser, needs_target=False)
    parser.add_argument(
        "--name", help="name of the data set (default: that of the file)"
    )
    parser.add_argument(
        "--metric", help="ranking metric, such as balanced_accuracy, auc, mae, r2"
    )
    again = "infer the entry again, discarding edits"
    parser.add_argument("--again", action="store_true", help=again)


def run_compare(arguments, given):
    """Compare methods on a table, print how to use the best, return the exit status."""
    from adakern_bench.cli.run import run
    from adakern_bench.report.use import model_lines, out_of_time

    started = time.time()
    given += [f"metric={arguments.metric}"] * bool(arguments.metric)
    scheme, _, number = str(arguments.file).partition(":")
    if scheme.lower() != "openml":
        file = (arguments.started_in / arguments.file.expanduser()).resolve()
        overrides, size = _own(file, arguments)
    else:
        file = None
        size = None
        overrides = _of_openml(number, arguments)
    slower, busy = slowness()
    choice = partial(_chosen, size, given, arguments, slower, busy)
    plan = load_plan([*overrides, *given], choose=choice)
    if arguments.dry_run:
        return run(plan, arguments.cores, dry_run=True)
    _try_again(plan.results)
    if arguments.minutes:
        # The steps that follow the fits start some jobs, too.
        seconds = 60 * arguments.minutes
        ends = started + seconds - min(REST_JOBS * JOB * slower * busy, seconds / 3)
        cores = arguments.cores or os.cpu_count()
        status, n_batches = _first_repeats(plan, cores, ends)
        if status:
            return status
        plan = plan.limited(n_batches, ends)
    if status := run(plan, arguments.cores):
        return status
    took = time.time() - started
    if arguments.minutes and took > 60 * arguments.minutes:
        print(
            f"\nTotal time: {duration(took)}. --minutes limits the fits only; the "
            "report is made afterwards and takes longer on a busy machine."
        )
    most, said = out_of_time(plan.results)
    if said:
        print(f"\n{said}")
    if most:
        return 1
    lines = file and model_lines(plan.results, asdict(plan.config), file)
    if lines:
        print("\nA model of the best method, fitted to all rows, and its predictions:")
        print("\n".join(f"  {printable(line)}" for line in lines))
    return status


def _own(file, arguments):
    """Return the overrides for the user's own table, and its shape if known."""
    if arguments.target is None:
        sys.exit("adakern compare: --target, the column to predict, is required")
    keys = ("task", "name", "group", "time", "again")
    options = {key: getattr(arguments, key) for key in keys}
    options |= named_columns(arguments)
    overrides = adopt(file, arguments.target, ROOT, **options)
    name = overrides[1].removeprefix("name=")
    return overrides, _made(ROOT / "conf" / "dataset" / f"{name}.yaml").get("size")


def _of_openml(number, arguments):
    """Return the overrides for ``openml:31`` or ``openml:task-59``."""
    for option in ("task", "name", "group", "time", "form", *NAMED):
        if getattr(arguments, option):
            sys.exit(
                f"--{option} is for files only; for OpenML's data set {number} use a "
                f"setting, such as dataset.openml-{number}.title=..."
            )
    name = f"openml-{number}"
    if not re.fullmatch(r"openml-(task-)?\d+", name):
        sys.exit(
            f"openml:{number} must have the form openml:31 (a data set) or "
            "openml:task-59; to run a study, use adakern run EXPERIMENT "
            "suite=openml-99"
        )
    overrides = ["experiment=compare", f"name={name}", f"dataset=[{name}]"]
    overrides += ["protocol.published_split=prefer"] * ("task" in name)
    if arguments.target:
        # Quoted, so that 0 and null are read as names of columns.
        target = json.dumps(arguments.target, ensure_ascii=False)
        overrides.append(f"dataset.{name}.target={target}")
    return overrides


def _chosen(size, given, arguments, slower, busy, config):
    """Restrict a configuration to the methods and limits that suit the size of the
    table and --minutes; return the corresponding overrides.
    """
    ((name, entry),) = config.dataset.items()
    if entry.openml:
        rows = entry.n or "an unknown number of"
        print(f"{entry.title}: {rows} rows, {entry.d} features, {entry.task}")
    typed = {override.lstrip("+").partition("=")[0] for override in given}
    said = []
    if arguments.minutes and "jobs.batch_rows" not in typed:
        config.jobs.batch_rows = 0
        said.append("jobs.batch_rows=0")
    n, d = size or (entry.n, entry.d)
    if not n or any(re.match(r"[+~]*method[=.]", override) for override in given):
        return said
    methods = dict(config.method)
    for method, needs in absent_needs(methods).items():
        print(f"  left out: {method} ({', '.join(needs)} is not installed)")
        del methods[method]
    cores = arguments.cores or os.cpu_count()
    names, of_flagship, told = choose(
        methods,
        n,
        d,
        entry.task,
        minutes=arguments.minutes,
        cores=cores,
        slower=slower,
        busy=busy,
        repeats=config.protocol.repeats,
    )
    print("\n".join(f"  {sentence}" for sentence in told), flush=True)
    config.method = with_tuners(config.method, names)
    config.compared = names
    for parameter, value in of_flagship.items():
        setting = f"settings.{name}.{FLAGSHIP}.{parameter}"
        if setting not in typed:
            of_table = config.settings.setdefault(name, {})
            of_table.setdefault(FLAGSHIP, {})[parameter] = value
            said.append(f"+{setting}={value}")
    return [*said, f"method=[{','.join(names)}]"]


def _try_again(results):
    """Remove results that timed out, so that they are computed again."""
    for path in [
        *results.glob("search/*/*/[!.]*.json"),
        *results.glob("records/*/*/[!.]*.json"),
    ]:
        if any(found["status"] == "timeout" for found in read_json(path)):
            path.unlink()


def _first_repeats(plan, cores, ends):
    """Run the first repeat of every method, and estimate how many fit into the time.

    Returns the exit status and the total number of batches of repeats to run.
    """
    from adakern_bench.cli.run import started

    (name,) = plan.datasets
    since = time.time()
    batches = plan.batches(name)
    if len(batches) == 1:
        return 0, 1
    folder = plan.results / "records" / name
    files = {method: folder / method / f"{batches[0]}.json" for _, method in plan.cells}
    # The flagship and the baselines come first, in case time runs out.
    first = [
        str(file)
        for method, file in files.items()
        if method == FLAGSHIP or plan.config.method[base_name(method)].baseline
    ]
    prioritized = ["--prioritize", *first] if first else []
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--logger",
        "adakern",
        "--cores",
        str(cores),
        *started(plan.limited(1, ends)),
    ]
    process = subprocess.Popen(
        [*command, *prioritized, "--", *map(str, files.values())]
    )
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Snakemake ends its jobs
    status = process.wait()
    signal.signal(signal.SIGINT, interrupt)
    if status:
        print("Stopped. Finished jobs are kept: repeat the command to continue.")
        return status, 1
    runs = [record for file in files.values() for record in read_json(file)]
    spent = [run["run_seconds"] + (run["search_seconds"] or 0) for run in runs]
    each = max(time.time() - since, sum(spent) / cores)
    # The best method is fitted once more, for the report.
    left = ends - time.time() - max(spent)
    repeats = min(len(batches), 1 + max(0, int(0.8 * left / each)))
    print(f"The first repeat took {duration(each)}: {count(repeats, 'repeat')} in all")
    return 0, repeats


def adopt(file, target, root, *, name=None, again=False, **options):
    """Add a file to the data sets, and print what was inferred from it.

    The entry is written to ``conf/dataset/my-<name>.yaml`` below ``root``, and the file
    is copied below ``data/raw``; git ignores both. An unedited entry is inferred again
    if the file or the options (``task``, ``drop``, ``group``, ``time``) have changed. A
    file of the same name in another folder gets its own entry. Returns the overrides
    of a comparison on the table.
    """
    file = Path(file).expanduser()
    if not file.is_file():
        raise ConfigError(f"there is no file {file}")
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    name = _slug(name) if name else _name_of(file, sha256, root / "conf" / "dataset")
    path = root / "conf" / "dataset" / f"{name}.yaml"
    copied = re.sub(r"[^A-Za-z0-9._-]+", "-", file.name)[-80:]
    if Path(copied).suffix.lower() not in ENDINGS:
        copied += ".data"
    raw = f"{name}/{copied}"
    asked = {"target": str(target)} | {k: v for k, v in options.items() if v}
    typed = None
    if path.exists() and not again and _is_kept(path, asked, sha256, file):
        print(f"Using {path.relative_to(root)}, made earlier (--again: infer it again)")
    else:
        if options.get("group") == "none":
            options["group"] = False
        try:
            read = partial(inferred_yaml, name, file, raw, **options)
            text, found, typed = of_targets(read, target)
        except TableError as error:
            raise ConfigError(str(error)) from None
        made = {
            "asked": asked,
            "file": str(file.resolve()),
            "sha256": sha256,
            "entry": digest(text),
            "size": found.X.shape,
        }
        first, rest = text.split("\n", 1)
        text = f"{first}\n{_MADE_FROM}{_as_json(made)}\n{rest}"
        path.write_text(text, encoding="utf-8")
        _write_columns(columns_of(root / "data", name), found.account)
        print_table(file, found)
        print(
            f"\nWritten to {path.relative_to(root)}: correct it if necessary, and "
            "repeat the command."
        )
    copy = root / "data" / "raw" / raw
    if not copy.exists() or copy.read_bytes() != file.read_bytes():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    if typed is not None:
        entry = DatasetEntry(**_entry(path))
        with suppress(DatasetError):  # planning reports the problem
            make_ready(name, entry, root / "data", frames=[parsed(typed)])
    return comparison_of(name, root)


def _write_columns(path, accounts):
    """Write a table of how the columns of a file were read."""
    import pandas as pd

    write_csv(path, pd.DataFrame(map(vars, accounts)))


def _as_json(made):
    """Return one line of JSON that contains no interpolations."""
    return json.dumps(made).replace("$", "\\u0024").replace("?", "\\u003f")


def _slug(text):
    """Return the name of an entry, with a hash if letters are lost."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    slug = re.sub(r"[^a-z0-9]+", "-", plain)[:60].strip("-")
    if any(c.isalnum() and not c.isascii() for c in plain) or not slug:
        slug = f"{slug}-{digest(text)[:6]}".strip("-")
    return f"my-{slug}"


def _name_of(file, sha256, folder):
    """Return the name of a file's entry, with that of its folder if the name is
    taken.
    """
    place = str(file.resolve())
    stem = file.name.split(".")[0]
    other = None
    for text in (
        stem,
        f"{file.resolve().parent.name}-{stem}",
        f"{stem[:40]}-{digest(place)}",
    ):
        path = folder / f"{_slug(text)}.yaml"
        made = _made(path) if path.exists() else {}
        if made.get("file", place) == place or made["sha256"] == sha256:
            break
        other = other or f"{path.stem} is the table of {made['file']}"
    if other:
        print(printable(f"{other}; this one is {path.stem} (--name: another name)"))
    return path.stem


def comparison_of(name, root):
    """Return the overrides of a comparison on the user's table, [] if none."""
    path = Path(root) / "conf" / "dataset" / f"{name}.yaml"
    if not name.startswith("my-") or not path.is_file():
        return []
    entry = _entry(path)
    overrides = ["experiment=compare", f"name={name}", f"dataset=[{name}]"]
    if entry.get("time") is not None:
        return [*overrides, "protocol.kind=time"]
    if entry.get("groups") is not None:
        return [*overrides, "protocol.kind=group-holdout"]
    return overrides


def _entry(path):
    import yaml

    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _made(path):
    """Return what an entry was inferred from; {} if the user wrote it."""
    line = re.search(
        f"^{_MADE_FROM}(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE
    )
    return json.loads(line[1]) if line else {}


def _is_kept(path, asked, sha256, file):
    """Whether an entry is still valid for this call; print why if it is not."""
    made = _made(path)
    text = path.read_text(encoding="utf-8")
    if not made:
        raise ConfigError(
            f"{path.name} was not written by this version of `adakern compare`: pass "
            "another --name, or --again to infer the entry again"
        )
    line = f"{_MADE_FROM}{_as_json(made)}\n"
    before = made["asked"]
    edited = digest(text.replace(line, "")) != made["entry"]
    if edited:  # the table of inferred columns is no longer valid
        columns_of(path.parents[2] / "data", path.stem).unlink(missing_ok=True)
    others = [
        f"--{key} {_shown(asked.get(key))} (it was {_shown(before.get(key))})"
        for key in sorted(asked.keys() | before.keys())
        if asked.get(key) != before.get(key)
    ]
    if others and (edited or before["target"] != asked["target"]):
        why = "was edited" if edited else "predicts another column"
        raise ConfigError(
            f"{path.name} {why}, and this call has {' and '.join(others)}: change that "
            "in the file as well, pass another --name, or --again to infer the entry "
            "again"
        )
    if sha256 != made["sha256"]:
        others.append(f"{file.name} has changed")
        if edited:
            print(f"{others[-1]}; {path.name} was edited and is kept")
            stays = _as_json(made | {"sha256": sha256})
            text = text.replace(line, f"{_MADE_FROM}{stays}\n")
            # The stated number of rows may be wrong now.
            path.write_text(re.sub(r"(?m)^n: \d+\n", "", text), encoding="utf-8")
    if others and not edited:
        print(f"Inferring the entry again: {' and '.join(others)}")
    return edited or not others


def _shown(value):
    return ",".join(value) if isinstance(value, list) else str(value or "not given")
