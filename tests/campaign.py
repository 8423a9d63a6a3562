"""The whole campaign of extremes, and its tables: ``make torture``.

    python tests/campaign.py [--minutes 30] [--table docs/torture.md] [CLASS ...]
    python tests/campaign.py --doors [--table docs/torture.md]

The cases come in a random order, always the same: where the time does not suffice, what
was tried is a fair sample. Ends with 1 if anything was not right that KNOWN does not
name.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

from discovery import all_estimators
from test_torture import MADE_OF_OTHERS
from torture import cases, judge

#: (class, category, case) -> why it is not right, and stays so.
KNOWN = {}

#: Kinds of what other people bring, and the tests that try them.
DOORS = {
    "attacks": ["tests/workflow/test_hostile.py", "-k", "not secret"],
    "secrets": ["tests/workflow/test_hostile.py", "-k", "secret"],
    "tables": ["tests/datasets"],
    "faults": ["tests/workflow/test_faults.py"],
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
        verdicts = list(pool.map(lambda job: _judged(job, deadline), jobs))
    tried, right, wrong, left = Counter(), Counter(), [], 0
    for (Estimator, category, name, _), verdict in zip(jobs, verdicts, strict=True):
        if verdict is None:
            left += 1
            continue
        tried[category] += 1
        right[category] += verdict.right
        if not verdict.right:
            wrong.append((Estimator.__name__, category, name, verdict.outcome))
            print(*wrong[-1], sep=" | ", file=sys.stderr)
    table = _table(tried, right, wrong, left)
    print(table)
    if options.table:
        write_table(options.table, "campaign", table)
    sys.exit(any(case[:3] not in KNOWN for case in wrong))


def _doors(page):
    """Run the tests of what other people bring; 1 if one of them fails."""
    lines = ["| category | tried | right | not right |", "|---|---:|---:|---|"]
    failed = False
    for kind, tests in DOORS.items():
        with tempfile.NamedTemporaryFile(suffix=".xml") as told:
            command = [sys.executable, "-m", "pytest", "-m", "not cluster", *tests]
            subprocess.run([*command, f"--junitxml={told.name}"])
            cases = list(ElementTree.parse(told.name).iter("testcase"))
        tried = [case for case in cases if case.find("skipped") is None]
        wrong = [case.get("name") for case in tried if len(case)]
        right = len(tried) - len(wrong)
        lines.append(f"| {kind} | {len(tried)} | {right} | {', '.join(wrong) or 'none'} |")
        failed |= bool(wrong)
    print(*lines, sep="\n")
    if page:
        write_table(page, "doors", "\n".join(lines))
    return failed


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


def _judged(job, deadline):
    if time.monotonic() > deadline:
        return None
    Estimator, _, _, case = job
    return judge(Estimator, case)


def _table(tried, right, wrong, left):
    lines = ["| category | tried | right | not right |", "|---|---:|---:|---|"]
    for category, count in tried.items():
        named = "; ".join(
            f"{who} at {name}: {KNOWN.get((who, of, name), outcome)}"
            for who, of, name, outcome in wrong
            if of == category
        )
        lines.append(f"| {category} | {count} | {right[category]} | {named or 'none'} |")
    total = sum(tried.values())
    lines.append(f"| all | {total} | {sum(right.values())} | {total - sum(right.values())} |")
    if left:
        lines.append(f"\n{left} more cases were not tried: the time was over.")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
