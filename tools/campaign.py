"""Run the campaign of extreme inputs and write its tables: ``make torture``.

    python tools/campaign.py [--minutes 30] [--table docs/torture.md]
    python tools/campaign.py --doors [--table docs/torture.md]

The cases run in a fixed random order, so that those that were run are a random sample
if the time does not suffice. The exit status is 1 if any outcome was wrong.
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

from torture import ESTIMATORS, cases, judge

#: Kind of input from other people -> the tests of it.
DOORS = {
    "attacks": ["tests/workflow/test_hostile.py", "-k", "not secret"],
    "secrets": ["tests/workflow/test_hostile.py", "-k", "secret"],
    "tables": ["tests/datasets", "tests/tables"],
    "models": [
        *("tests/test_model_file.py", "tests/test_fuzz_models.py", "-k"),
        "refused or checked or compared or trusted or harm",
    ],
    "trackers": [
        *("tests/workflow/test_tracking.py", "-k"),
        "prints_one_line or too_large_numbers or deleted",
    ],
    "faults": [
        "tests/workflow/test_faults.py",
        "tests/workflow/test_compare.py::test_invalid_or_foreign_record_file_raises",
    ],
}


def main():
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--doors", action="store_true", help="test untrusted input")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", type=Path, help="page to write the table into")
    options = parser.parse_args()
    if options.doors:
        sys.exit(_tell(_doors(), "doors", options.table))
    warnings.simplefilter("ignore")
    deadline = time.monotonic() + 60 * options.minutes
    tasks = [
        (Estimator, *case) for Estimator in ESTIMATORS for case in cases(Estimator)
    ]
    random.Random(0).shuffle(tasks)

    def judged(task):
        """Category and wrong outcome ("" if right) of a case; None after the
        deadline.
        """
        if time.monotonic() > deadline:
            return None
        Estimator, category, name, case = task
        verdict = judge(Estimator, case)
        return (
            category,
            "" if verdict.right else f"{Estimator.__name__} {name}: {verdict.outcome}",
        )

    with ThreadPoolExecutor(options.jobs) as pool:
        verdicts = list(filter(None, pool.map(judged, tasks)))
    left = len(tasks) - len(verdicts)
    note = f"\n\n{left} more cases were not run, since the time was over." * bool(left)
    sys.exit(_tell(verdicts, "campaign", options.table, note))


def _doors():
    """Return (kind, name of the test if it failed, else "") of each test of input."""
    verdicts = []
    for kind, tests in DOORS.items():
        with tempfile.NamedTemporaryFile(suffix=".xml") as told:
            command = [sys.executable, "-m", "pytest", "-m", "not cluster", *tests]
            subprocess.run([*command, f"--junitxml={told.name}"])
            cases = list(ElementTree.parse(told.name).iter("testcase"))
        tried = [case for case in cases if case.find("skipped") is None]
        verdicts += [(kind, case.get("name") if len(case) else "") for case in tried]
    return verdicts


def _tell(verdicts, name, page, note=""):
    """Print a table of cases, write it into a page; return the number of wrong ones."""
    lines = ["| category | tried | right | not right |", "|---|---:|---:|---|"]
    for category in dict.fromkeys(category for category, _ in verdicts):
        found = [what for of, what in verdicts if of == category]
        named = "; ".join(filter(None, found)) or "none"
        lines.append(f"| {category} | {len(found)} | {found.count('')} | {named} |")
    wrong = sum(bool(what) for _, what in verdicts)
    lines.append(f"| all | {len(verdicts)} | {len(verdicts) - wrong} | {wrong} |")
    table = "\n".join(lines) + note
    print(table)
    if page:
        write_table(page, name, table)
    return wrong


def write_table(page, name, table):
    """Replace the table between two markers in a page of the documentation."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = page.read_text().partition(begin)
    after = rest.partition(end)[2]
    page.write_text(f"{before}{begin}\n{table}\n{end}{after}")


if __name__ == "__main__":
    main()
