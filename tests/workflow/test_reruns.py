"""A job of the real workflow runs again exactly when what it depends on changed."""

import pytest

METHOD = """\
# @package method.{name}
classifier:
  estimator: {{_target_: {target}, C: 2.0}}
"""
OVERRIDES = (
    "dataset=[clowns] method=[plain,uniform,pairwise] protocol.repeats=1 "
    "published=dank_uci_classification"
)
NOTHING = "Nothing to be done"


@pytest.fixture(scope="module")
def finished(shared_project):
    """An experiment run to its report, with methods of two families of adakern."""
    for name, target in (
        ("uniform", "adakern.baselines.UniformMKLClassifier"),
        ("pairwise", "adakern.knpl.KNPLClassifier"),
    ):
        text = METHOD.format(name=name, target=target)
        shared_project.write(f"conf/method/{name}.yaml", text)
    run = shared_project.run(overrides=OVERRIDES)
    assert run.returncode == 0, run.output
    return shared_project


def dry_run(project, overrides=""):
    run = project.run("--dry-run", overrides=f"{OVERRIDES} {overrides}")
    assert run.returncode == 0, run.output
    return run


@pytest.fixture
def edit(finished):
    """Change a file for one test: ``edit(path, old, new)``."""
    changed = {}

    def replace(path, old, new):
        text = (finished.root / path).read_text()
        assert old in text
        changed[path] = text
        finished.write(path, text.replace(old, new, 1))

    yield replace
    for path, text in changed.items():
        finished.write(path, text)


def solved_again(run):
    """Methods whose solves a dry run announces."""
    lines = [line for line in run.output.splitlines() if ": solve: " in line]
    return sorted(line.split(" / ")[1].split()[0] for line in lines)


def test_nothing_to_do(finished):
    assert NOTHING in dry_run(finished).output


def test_fetching_and_tracking_are_no_results(finished):
    overrides = (
        "data.timeout=99 data.mirror=/elsewhere tracking.uri=sqlite:///other.db "
        "title=Other"
    )
    # They are part of the configuration that the report shows, and of nothing else.
    assert set(dry_run(finished, overrides).jobs) == {"configuration", "report", "all"}


def test_a_methods_parameter(finished, edit):
    edit("conf/method/uniform.yaml", "C: 2.0", "C: 3.0")
    run = dry_run(finished)
    assert solved_again(run) == ["uniform"]
    assert not {"table", "split", "search"} & set(run.jobs)


def test_protocol_seed_changes_the_splits_and_all_that_follows(finished):
    run = dry_run(finished, "protocol.seed=7")
    assert solved_again(run) == ["pairwise", "plain", "uniform"]
    assert run.jobs["split"] == 1 and "table" not in run.jobs


def test_code_of_one_family(finished, edit):
    module = next((finished.root / "src/adakern/knpl").glob("cl*.py"))
    text = module.read_text().splitlines()[0]
    edit(module.relative_to(finished.root), text, f"# A change.\n{text}")
    run = dry_run(finished)
    assert solved_again(run) == ["pairwise"]
    assert not {"table", "split", "search"} & set(run.jobs)


def test_shared_code_of_all_families(finished, edit):
    edit("src/adakern/kernels.py", '"""', '# A change.\n"""')
    assert solved_again(dry_run(finished)) == ["pairwise", "uniform"]


def test_published_numbers_are_compared_again_and_nothing_is_solved_again(
    finished, edit
):
    path = "data/published/dank_uci_classification.csv"
    edit(path, "\n", "\nclowns,plain,test,accuracy,0.5,0.1\n")
    run = dry_run(finished)
    assert set(run.jobs) == {"compare", "report", "all"}
