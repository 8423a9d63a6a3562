"""Pages of the published results, one for each folder of ``docs/results``.

They are written when Sphinx starts, from the files that `adakern publish` keeps there.
"""

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import yaml
from measured import filled_in

from adakern._utils.wording import count
from adakern_bench.report import tables
from adakern_bench.report.tables import (
    MARK,
    RULE,
    comparison,
    display,
    display_table,
    heading,
)
from adakern_bench.report.wording import caption, duration

MOST_ROWS = 40
DEVELOPED_ON = (
    "**The defaults of the flagship `adaptive` were chosen on this suite, test parts "
    "included**: these are development results and not a confirmation."
)
#: What the flagship's results on a suite are.
STATUS = {
    "uci121": DEVELOPED_ON,
    "uci_regression": DEVELOPED_ON,
    "srbench": "**This suite was seen before**, for the reasons in the "
    "[overview](../results/README.md): these results do not confirm those of the "
    "flagship `adaptive`.",
}


def setup(app):
    """Called by Sphinx."""
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir)))
    app.connect("source-read", _link_to_pages)
    return {"parallel_read_safe": True}


def write_pages(docs):
    """Write ``published/<experiment>.md`` and ``published/index.md``."""
    out = docs / "published"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    names, boards = [], []
    for folder in sorted((docs / "results").iterdir()):
        if (folder / "provenance.json").exists():
            has_board = any(folder.glob("tables/leaderboard*.csv"))
            (boards if has_board else names).append(folder.name)
            text = "\n\n".join(filter(None, _page(folder)))
            (out / f"{folder.name}.md").write_text(text + "\n", encoding="utf-8")
    parts = {"Leaderboards": boards, "Experiments": names}
    lists = [_contents(title, listed) for title, listed in parts.items() if listed]
    (out / "index.md").write_text(
        "# Published reports\n\nThe results of full runs, a page for each experiment. "
        "[The overview](../results/README.md) states what was reproduced.\n\n"
        + "\n".join(lists),
        encoding="utf-8",
    )


def _contents(title, names):
    lines = [f"## {title}", "", "```{toctree}", ":maxdepth: 1", "", *names, "```", ""]
    return "\n".join(lines)


def _link_to_pages(app, docname, source):
    """Links of the overview lead to pages of folders; prose gets its figures."""
    if docname in ("claims", "guide", "noniid", "results/README"):
        source[0] = filled_in(source[0])
    if docname == "results/README":
        source[0] = re.sub(r"\]\((\w+)\)", r"](../published/\1.md)", source[0])


def _page(folder):
    config = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    yield f"# {folder.name}: {config.get('title') or config['name']}"
    yield str(config.get("description") or "").strip()
    if "adaptive" in config["method"]:
        yield STATUS.get((config.get("suite") or {}).get("name"), "")
    yield _origin(json.loads((folder / "provenance.json").read_text(encoding="utf-8")))
    if any(folder.glob("summary.csv*")):  # large ones are compressed
        yield from _comparison(tables.read_tables(folder))
    for path in sorted(folder.glob("figures/*.svg")):
        yield f"## {caption(path)}"
        yield f"![{caption(path)}](../{path.relative_to(folder.parents[1])})"
    for path in sorted(folder.glob("tables/*.csv")):
        yield f"## Table: {caption(path).lower()}"
        yield from _whole_table(pd.read_csv(path), path)


def _origin(facts):
    parts = [f"Measured on {facts['date']}"]
    if facts.get("commit"):
        parts.append(f"commit {facts['commit'][:10]}")
    elif facts.get("commit_of_publication"):
        parts.append(f"published at commit {facts['commit_of_publication'][:10]}")
    if facts.get("wall_seconds"):
        parts.append(f"{duration(facts['wall_seconds'])} in all")
    if facts.get("runs"):
        runs, repeats = count(facts["runs"], "run"), count(facts["repeats"], "repeat")
        parts.append(f"{runs} in {repeats}")
    text = " ".join(filter(None, [", ".join(parts) + ".", facts.get("note")]))
    command = facts.get("command")
    return text + (f" The command:\n\n```bash\n{command}\n```" if command else "")


def _comparison(tables):
    """A table per task: methods as rows by mean rank, data sets as columns."""
    for (task, metric), ranks in tables["ranks"].groupby(["task", "metric"]):
        cells = comparison(tables, task, metric)
        means = cells["shown"].where(~cells["best"], "**" + cells["shown"] + "**")
        spreads = (" ± " + cells["spread"]).where(cells["spread"] != "", "")
        marks = cells["worse"].map({True: f" {MARK}", False: ""})
        table = (means + spreads + marks).unstack(sort=False).T
        rank = ranks.set_index("method")["average_rank"].sort_values(kind="stable")
        table.insert(0, "mean rank", rank.map("{:.2f}".format).replace("nan", None))
        table = table.reindex(rank.index).fillna("–").reset_index()
        yield f"## {task.capitalize()}: {heading(metric)}"
        yield _markdown(table)
    yield (
        "Means on the test part, followed by ± and the standard deviation. Bold: the "
        f"best of a column; {MARK} significantly worse than it ({RULE})."
    )
    if tables["ttest"].filter(like="pvalue").isna().all(axis=None):
        yield (
            "Single data sets were not tested, since there are fewer than five repeats."
        )
    if len(published := tables["published"]):
        yield "## Comparison with the published numbers"
        numbers = ["mean_published", "mean_measured", "difference"]
        shown = published[["dataset", "method", "split", "metric", *numbers]].astype(
            object
        )
        for name in numbers:
            shown[name] = published["metric"].combine(published[name], display)
        shown["metric"] = shown["metric"].map(heading)
        yield from _whole_table(shown, "published.csv")


def _whole_table(frame, path):
    yield _markdown(display_table(frame.head(MOST_ROWS)))
    if len(frame) > MOST_ROWS:
        yield f"{len(frame) - MOST_ROWS} more rows are in `{Path(path).name}`."


def _markdown(table):
    rows = [table.columns, ["---"] * table.shape[1], *table.to_numpy()]
    escaped = ([str(cell).replace("|", "\\|") for cell in row] for row in rows)
    return "\n".join(f"| {' | '.join(row)} |" for row in escaped)
