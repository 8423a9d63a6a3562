"""Run every benchmark of this folder in turn.

python benchmarks/run.py            # full sizes, minutes each
python benchmarks/run.py --quick    # smoke sizes: does everything run?
python benchmarks/run.py busy gpu   # only these
"""

import subprocess
import sys
from pathlib import Path

from timing import parser

FOLDER = Path(__file__).resolve().parent


def main():
    names = sorted({p.stem for p in FOLDER.glob("*.py")} - {"develop", "run", "size", "timing"})
    options = parser(__doc__, "smoke sizes")
    options.add_argument("names", nargs="*", help=f"of {', '.join(names)}; default: all")
    arguments, failed = options.parse_args(), []
    for name in arguments.names or names:
        print(f"\n=== {name}", flush=True)
        command = [sys.executable, str(FOLDER / f"{name}.py")]
        if subprocess.run(command + ["--quick"] * arguments.quick).returncode:
            failed.append(name)
    if failed:
        sys.exit(f"did not run to the end: {', '.join(failed)}")


if __name__ == "__main__":
    main()
