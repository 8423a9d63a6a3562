"""The comparison in the terminal: a table per task, and links to report and MLflow."""

import os
import shutil
import sys
import textwrap
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd

from adakern._utils.files import read_json
from adakern._utils.printable import printable
from adakern._utils.wording import count
from adakern_bench.report.findings import by_task
from adakern_bench.report.headline import headline
from adakern_bench.report.leaderboard import cost_seconds
from adakern_bench.report.tables import MARK, heading, read_runs, read_tables
from adakern_bench.report.wording import duration, span

#: Name of the MLflow view of runs that shows the main score.
VIEW = "adakern"

_MOST_ROWS = 15
#: Fragment of the URL of an experiment's runs; without it, MLflow opens the traces, and
#: a table of runs without scores.
RUNS = f"#/experiments/{{}}/runs?workflowType=machine_learning&viewStateShareKey={VIEW}"


def show(plan):
    """Print the comparison of a plan's results, and links to report and MLflow."""
    if plan.cells:
        print_table(plan.results)
    print(f"\nReport: {(plan.results / 'report.html').resolve().as_uri()}")
    mark = plan.results / "track.json"
    if plan.config.tracking.enabled and mark.exists():
        uri = os.environ.get("MLFLOW_TRACKING_URI") or plan.config.tracking.uri
        page = runs_page(uri, read_json(mark).get("experiment_id"))
        if uri.startswith("http"):
            print(f"MLflow: {page}")
        else:
            local = Path(".venv/bin/mlflow")
            program = local if local.exists() else "mlflow"
            print(
                f"MLflow: {program} ui --backend-store-uri {uri}\n        then open "
                f"{page}"
            )


def show_paper(plan):
    """Print the LaTeX tables; write them, figures, text and references to a folder."""
    from adakern_bench.report.paper import write_paper

    target = plan.results / "paper"
    print("\n".join(write_paper(plan.results, asdict(plan.config), target)))
    print(f"% These tables, figures, text and references are in {target}")


def runs_page(uri, experiment_id):
    """URL of the runs of an experiment in MLflow, best score first."""
    server = uri.rstrip("/") if uri.startswith("http") else "http://127.0.0.1:5000"
    return f"{server}/{RUNS.format(experiment_id)}"


def print_table(out, stream=None, width=None):
    """Print the main comparison of an experiment, its conclusions and failures.

    The width is that of the terminal, by default 80.
    """
    stream = stream or sys.stdout
    if hasattr(stream, "reconfigure"):  # "?" for characters that the terminal lacks
        stream.reconfigure(errors="replace")
    width = width or shutil.get_terminal_size((80, 24)).columns
    out = Path(out)
    tables = read_tables(out)
    records = read_runs(out)
    seconds = cost_seconds(records).groupby([records["task"], records["method"]]).sum()
    lines = []
    for task in by_task(tables, records):
        repeats = span(task.cells["n"] + task.cells["missing"])
        over = f", mean over {repeats} repeats" if repeats != "1" else ""
        title = f"{task.name.capitalize()}: {heading(task.metric)}{over}"
        lines += ["", title]
        lines += _rows(task.cells, task.ranks, seconds[task.name], width)
    lines.append("")
    lines.append(
        f"* best of the column; {MARK} significantly worse. Time: search and fit, "
        "total."
    )
    lines.append("")
    for sentence in headline(tables, records):
        lines += textwrap.wrap(sentence, width, subsequent_indent="  ")
    missing = records[records["status"] != "ok"]
    for keys, rows in missing.groupby(["dataset", "method", "status", "reason"]):
        dataset, method, status, reason = keys
        lines.append(f"  {dataset} / {method}: {len(rows)} x {status}: {reason}")
    print("\n".join(map(printable, lines)), file=stream)


def _rows(cells, ranks, seconds, width):
    """Yield the lines of a table with methods as rows, and the number of
    omitted ones.
    """
    marks = np.select([cells["best"], cells["worse"]], ["*", MARK], " ")
    scores = (cells["shown"] + marks).unstack(sort=False).T
    table = ranks.set_index("method")[["average_rank"]]
    table = pd.DataFrame(
        {
            "rank": table["average_rank"].map("{:.2f}".format).replace("nan", "-"),
            "best": cells["best"].groupby("method").sum()[table.index].astype(str),
            "time": [duration(seconds[name]) for name in table.index],
        }
    )
    if scores.shape[1] == 1:
        table = table[["time"]]
    table = table.join(scores).fillna("- ").head(_MOST_ROWS).rename_axis(None)
    # As a row, names of columns are separated by two spaces.
    heads = pd.DataFrame([table.columns], columns=table.columns, index=[""])
    table = pd.concat([heads, table])
    shown = table.shape[1]
    least = shown - scores.shape[1] + 1
    lines = table.to_string(header=False).splitlines()
    # Long names of methods, as in sweeps over several axes, may need a larger width.
    while len(lines[0]) > width and shown > least:
        shown -= 1
        lines = table.iloc[:, :shown].to_string(header=False).splitlines()
    yield from map(str.rstrip, lines)
    left_out = {
        "method": len(ranks) + 1 - len(table),
        "data set": table.shape[1] - shown,
    }
    if more := [count(n, f"more {what}") for what, n in left_out.items() if n]:
        yield f"({' and '.join(more)} in the report)"
