"""The whole campaign of extremes, and its tables: ``make torture``.

    python tests/campaign.py [--minutes 30] [--table docs/torture.md] [CLASS ...]
    python tests/campaign.py --doors [--table docs/torture.md]

The cases come in a random order, always the same: where the time does not suffice, what
was tried is a fair sample. Ends with 1 if anything was not right.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

from discovery import all_estimators
from test_torture import MADE_OF_OTHERS
from torture import cases, judge

#: Kinds of what other people bring, and the tests that try them.
DOORS = {
    "attacks": ["tests/workflow/test_hostile.py", "-k", "not secret"],
    "secrets": ["tests/workflow/test_hostile.py", "-k", "secret"],
    "tables": ["tests/datasets"],
    "faults": [
        "tests/workflow/test_faults.py",
        "tests/workflow/test_compare.py::test_a_file_that_is_none_of_the_run_is_refused",
    ],
}


def main():
    """Run the campaign."""
    options = _options()
    if options.doors:
        sys.exit(_doors(options.table))
    warnings.simplefilter("ignore")
    deadline = time.monotonic() + 60 * options.minutes
    jobs = [
        (Estimator, *case)
        for Estimator in all_estimators()
        for case in cases(Estimator)
        if (not options.classes and Estimator.__name__ not in MADE_OF_OTHERS)
        or Estimator.__name__ in options.classes
    ]
    random.Random(0).shuffle(jobs)
    with ThreadPoolExecutor(options.jobs) as pool:
        found = pool.map(lambda job: _judged(job, deadline), jobs)
    verdicts = [verdict for verdict in found if verdict is not None]
    left = len(jobs) - len(verdicts)
    note = f"\n\n{left} more cases were not tried: the time was over." if left else ""
    sys.exit(_tell(verdicts, "campaign", options.table, note))


def _judged(job, deadline):
    """(category, what was not right or nothing) of one case; None after the deadline."""
    if time.monotonic() > deadline:
        return None
    Estimator, category, name, case = job
    verdict = judge(Estimator, case)
    wrong = "" if verdict.right else f"{Estimator.__name__} at {name}: {verdict.outcome}"
    if wrong:
        print(category, wrong, sep=" | ", file=sys.stderr)
    return category, wrong


def _doors(page):
    """What other people bring: the tests of each kind, counted; whether one fails."""
    verdicts = []
    for kind, tests in DOORS.items():
        with tempfile.NamedTemporaryFile(suffix=".xml") as told:
            command = [sys.executable, "-m", "pytest", "-m", "not cluster", *tests]
            subprocess.run([*command, f"--junitxml={told.name}"])
            cases = list(ElementTree.parse(told.name).iter("testcase"))
        tried = [case for case in cases if case.find("skipped") is None]
        verdicts += [(kind, case.get("name") if len(case) else "") for case in tried]
    return _tell(verdicts, "doors", page)


def _tell(verdicts, name, page, note=""):
    """Print a table of cases, and write it into a page; whether anything was not right."""
    lines = ["| category | tried | right | not right |", "|---|---:|---:|---|"]
    for category in dict.fromkeys(category for category, _ in verdicts):
        wrong = [what for of, what in verdicts if of == category]
        named = "; ".join(filter(None, wrong)) or "none"
        lines.append(f"| {category} | {len(wrong)} | {wrong.count('')} | {named} |")
    failed = [what for _, what in verdicts if what]
    n_right = len(verdicts) - len(failed)
    lines.append(f"| all | {len(verdicts)} | {n_right} | {len(failed)} |")
    table = "\n".join(lines) + note
    print(table)
    if page:
        write_table(page, name, table)
    return bool(failed)


def write_table(page, name, table):
    """Put a table between its two marks in a page of the documentation."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = page.read_text().partition(begin)
    after = rest.partition(end)[2]
    page.write_text(f"{before}{begin}\n{table}\n{end}{after}")


def _options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("classes", nargs="*", help="all but the slow ones by default")
    parser.add_argument("--doors", action="store_true", help="what others bring")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", type=Path, help="page to write the table into")
    return parser.parse_args()


if __name__ == "__main__":
    main()
