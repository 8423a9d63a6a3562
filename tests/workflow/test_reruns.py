"""A job of the workflow runs again exactly when one of its dependencies changed. One
experiment is run once; each test changes something in a copy of it and reads the jobs
from ``snakemake --dry-run``.
"""

import ast
import copy
import re
import shutil

import numpy as np
import pytest

METHODS = {
    "plain": "{estimator: {_target_: sklearn.svm.SVC, C: 2.0}, tune_with: pairwise}",
    "uniform": "{estimator: {_target_: adakern.baselines.UniformMKLClassifier}}",
    "pairwise": (
        "{estimator: {_target_: adakern.knpl.KNPLClassifier}, grid: {C: [1.0, 2.0]}}"
    ),
    "nested": (
        "{estimator: {_target_: sklearn.pipeline.Pipeline, steps: ["
        "[map, {_target_: adakern.nystrom.CriterionNystroem, n_components: 5}], "
        "[svm, {_target_: sklearn.svm.LinearSVC}]]}}"
    ),
    "own": "{estimator: {_target_: methods.nearest.Nearest}}",
    "bought": "{estimator: {_target_: bought.Bought}}",
}
OWN = """\
from sklearn.neighbors import KNeighborsClassifier
from methods.numbers import NEIGHBOURS
class Nearest(KNeighborsClassifier):
    def __init__(self, n_neighbors=NEIGHBOURS):
        super().__init__(n_neighbors=n_neighbors)
"""
BOUGHT = """\
from sklearn.neighbors import KNeighborsClassifier
class Bought(KNeighborsClassifier):
    pass
"""
MINE = """\
task: regression
files: [{path: mine/mine.csv}]
"""
SPREAD = """\
import matplotlib.pyplot as plt
import pandas as pd
def compute(data, seed):
    return pd.DataFrame({"spread": [data.X_train.std()]})
def plot(frame):
    figure, ax = plt.subplots()
    ax.bar(frame["dataset"], frame["spread"])
    return figure
def table(frame):
    return frame
"""
OVERRIDES = (
    "dataset=[clowns,mine] method=[plain,uniform,pairwise,nested,own,bought,line] "
    "protocol.repeats=1 published=dank_uci_classification +special.spread={}"
)
ALL_ON_CLOWNS = sorted(METHODS)
EVERY_METHOD = sorted([*METHODS, "line"])
SYNTHETIC = "src/adakern/datasets/synthetic.py"


@pytest.fixture(scope="module")
def finished(shared_project):
    """A finished experiment with methods of adakern, of the project
    and of a package.
    """
    project = shared_project
    for name, recipe in METHODS.items():
        project.add_classifier(name, recipe)
    project.write(
        "conf/method/line.yaml",
        "regressor: {estimator: {_target_: sklearn.linear_model.Ridge}}\n",
    )
    project.write("methods/nearest.py", OWN)
    project.write("methods/numbers.py", "NEIGHBOURS = 3\n")
    project.write("site-packages/bought.py", BOUGHT)
    project.write(
        "site-packages/bought-1.0.dist-info/METADATA",
        "Metadata-Version: 2.1\nName: bought\nVersion: 1.0\n",
    )
    edit(project, "workflow/pyproject.toml", ('"lightgbm"', '"lightgbm", "bought"'))
    project.write("conf/dataset/mine.yaml", MINE)
    project.write("workflow/special/spread.py", SPREAD)
    rows = np.random.default_rng(0).normal(size=(40, 3))
    np.savetxt(project.write("data/raw/mine/mine.csv", ""), rows, delimiter=",")
    set_paths(project)
    project.run(overrides=OVERRIDES, timeout=500)
    return project


def set_paths(project):
    """Let Python find the installed package; the project's own module needs no path."""
    paths = [str(project.root / part) for part in ("src", "workflow", "site-packages")]
    home = {"PYTHONPATH": ":".join(paths), "HOME": str(project.root)}
    project.environment = project.environment | home


@pytest.fixture
def project(finished, tmp_path):
    """A copy of the finished run, including time stamps."""
    project = copy.copy(finished)
    project.root = tmp_path / "copy"
    shutil.copytree(finished.root, project.root, symlinks=True)
    set_paths(project)
    return project


def edit(project, path, *changes):
    text = (project.root / path).read_text()
    for old, new in changes:
        assert old in text, f"{path} holds no {old!r}"
        text = text.replace(old, new, 1)
    project.write(path, text)


def change_code(project, path, after=""):
    """Insert a statement before the first return after the line `after`."""
    text = (project.root / path).read_text()
    start = text.index(after)
    rest = re.sub(r"\n( +)return ", r"\n\1added = 1\n\1return ", text[start:], count=1)
    assert rest != text[start:]
    project.write(path, text[:start] + rest)


def dry_run(project, overrides=""):
    return project.run("--dry-run", overrides=f"{OVERRIDES} {overrides}")


def rerun_jobs(run, stage):
    """Methods, or tables, whose jobs of a rule a dry run lists."""
    lines = [line for line in run.output.splitlines() if f": {stage}: " in line]
    if stage == "table":
        return [line.split()[-1] for line in lines]
    return sorted(line.split(" / ")[1].split()[0] for line in lines)


#: Rules that only present results; they take a second.
PRESENTATION = {"compare", "figure", "summary_table", "report", "all"}


class ReplaceDocstrings(ast.NodeTransformer):
    """Replace every docstring."""

    def generic_visit(self, node):
        super().generic_visit(node)
        documented = isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module)
        if documented and ast.get_docstring(node):
            node.body[0].value.value = "Other words."
        return node


def test_comments_docstrings_and_formatting_cause_no_rerun(project):
    """(a) Every file below src is rewritten from its syntax tree."""
    for path in (project.root / "src").rglob("*.py"):
        tree = ReplaceDocstrings().visit(ast.parse(path.read_text()))
        path.write_text(f"# A comment.\n\n\n{ast.unparse(tree)}\n")
    stage = project.root / "workflow/scripts/solve.py"
    stage.write_text(stage.read_text() + "\n# A comment.\n")
    assert "Nothing to be done" in dry_run(project).output


def test_planning_and_presentation_code_cause_no_rerun_of_fits(project):
    """(b) Splits, searches and fits do not depend on them."""
    bench = "workflow/adakern_bench"
    for path in ("config/validate.py", "config/plan.py", "config/compose.py"):
        text = (project.root / bench / path).read_text()
        project.write(f"{bench}/{path}", f"{text}\n\nADDED = print\nADDED(end='')\n")
    words = "def protocol_in_words(config"
    edit(project, f"{bench}/report/page.py", (words, f"{words}, *_"))
    edit(project, f"{bench}/report/figures.py", ("def to_svg(", "def to_svg(*_, "))
    edit(project, f"{bench}/report/templates/report.html.j2", ("<html", "\n<html"))
    jobs = set(dry_run(project).jobs)
    assert "report" in jobs and jobs <= PRESENTATION


def test_special_computation_figure_and_table_are_separate_jobs(project):
    """(b) A figure or table does not repeat the computation."""
    script = "workflow/special/spread.py"
    edit(project, script, ('ax.bar(frame["dataset"], frame["spread"])', "ax.plot([1])"))
    assert set(dry_run(project).jobs) == {"figure", "report", "all"}
    edit(project, script, ("return frame", "return frame.head(1)"))
    presentation = {"figure", "summary_table", "report", "all"}
    assert set(dry_run(project).jobs) == presentation
    edit(project, script, ("data.X_train.std()", "data.X_train.mean()"))
    assert set(dry_run(project).jobs) == {"special", *presentation}


@pytest.mark.parametrize(
    ("file", "after", "tables", "searches", "solves"),
    [
        # (c) Only what depends on the changed code.
        (SYNTHETIC, "def make_sandwich(", [], [], []),
        (SYNTHETIC, "def make_clowns(", ["clowns"], ["pairwise"], ALL_ON_CLOWNS),
        (
            "workflow/adakern_bench/data/parsers.py",
            "def parse_csv(",
            ["mine"],
            [],
            ["line"],
        ),
        # (d) `plain` uses the parameters found by the search of `pairwise`.
        ("src/adakern/knpl/solver.py", "", [], ["pairwise"], ["pairwise", "plain"]),
        # (e) The rule solve writes complete records, including metrics.
        ("src/adakern/evaluation/metrics.py", "def score(", [], [], EVERY_METHOD),
    ],
    ids=["unused generator", "generator", "parser", "estimator family", "metric"],
)
def test_library_code_change_reruns_dependent_jobs(
    project, file, after, tables, searches, solves
):
    change_code(project, file, after)
    run = dry_run(project)
    actual = [rerun_jobs(run, stage) for stage in ("table", "search", "solve")]
    assert actual == [tables, searches, solves]
    assert run.jobs.get("split", 0) == len(tables)


def test_nested_estimator_own_module_and_package_upgrade(project):
    """(d), (f) In a Pipeline, in the project, and installed."""
    change_code(project, "src/adakern/nystrom/transformer.py", "    def fit(")
    edit(project, "methods/numbers.py", ("3", "5"))
    edit(
        project,
        "site-packages/bought-1.0.dist-info/METADATA",
        ("Version: 1.0", "Version: 1.1"),
    )
    run = dry_run(project)
    assert rerun_jobs(run, "solve") == ["bought", "nested", "own"]
    assert not {"table", "split", "search"} & set(run.jobs)


def test_changed_or_deleted_raw_file_is_read_again(project):
    """(g) A raw file of the user is read again when it was changed or deleted."""
    file = project.root / "data/raw/mine/mine.csv"
    file.write_text(file.read_text().replace("0", "1", 1))
    run = dry_run(project)
    assert rerun_jobs(run, "table") == ["mine"] and rerun_jobs(run, "solve") == ["line"]
    file.unlink()
    assert rerun_jobs(dry_run(project), "table") == ["mine"]


def test_descriptive_settings_rerun_only_the_report(project):
    """(g) They are shown, control execution, or are checked."""
    added = (
        "title: Mine\nnote: Rows of mine\nhomepage: https://example.org\nn: 40\nd: 2\n"
    )
    edit(project, "conf/dataset/mine.yaml", ("task:", f"{added}task:"))
    overrides = (
        "jobs.time_limit=77 data.mirror=/elsewhere "
        "tracking.uri=sqlite:///other.db title=Other jobs.batch_rows=10"
    )
    assert set(dry_run(project, overrides).jobs) == {"report", "all"}
    edit(project, "conf/dataset/mine.yaml", ("n: 40", "n: 41"))
    run = project.run("--dry-run", overrides=OVERRIDES, status=1)
    assert (
        "data/tables/mine.npz: the table does not match its entry: n is 40"
        in run.output
    )


def test_grid_and_published_numbers_rerun_dependent_jobs(project):
    """(h) Only the jobs that read them."""
    edit(project, "conf/method/pairwise.yaml", ("[1.0, 2.0]", "[1.0, 3.0]"))
    numbers = "data/published/dank_uci_classification.csv"
    edit(project, numbers, ("\n", "\nclowns,plain,test,accuracy,0.5,0.1\n"))
    run = dry_run(project)
    assert rerun_jobs(run, "search") == ["pairwise"]
    assert rerun_jobs(run, "solve") == ["pairwise", "plain"]
    assert not {"table", "split"} & set(run.jobs)
    edit(project, "conf/method/pairwise.yaml", ("[1.0, 3.0]", "[1.0, 2.0]"))
    assert set(dry_run(project).jobs) == {"compare", "summary_table", "report", "all"}


def test_entry_and_protocol_rerun_dependent_jobs(project):
    """(h) Only the jobs that read them."""
    run = dry_run(project, "dataset.clowns.loader.n=77")
    assert (
        rerun_jobs(run, "table") == ["clowns"]
        and rerun_jobs(run, "solve") == ALL_ON_CLOWNS
    )
    run = dry_run(project, "protocol.seed=7")
    assert run.jobs["split"] == 2 and "table" not in run.jobs
    assert rerun_jobs(run, "solve") == EVERY_METHOD
    run = dry_run(project, "protocol.scale=standard")
    assert not {"table", "split"} & set(run.jobs)
    assert rerun_jobs(run, "search") == ["pairwise"]
