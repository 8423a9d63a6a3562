"""Run the numeric tests with other OpenBLAS kernels: a step of ``make check``.

    python tools/blas.py [--kernels 2] [--list] [pytest's arguments]

OpenBLAS sums in a different order on each type of processor, so the last digits differ.
The available kernels depend on the builds of NumPy and SciPy and on the processor: of
the distinct ones among those below, the first ``--kernels`` are used. ``make test``
uses the default kernel of the processor.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VARIABLE = "OPENBLAS_CORETYPE"
KERNELS = ("Haswell", "Zen", "SkylakeX", "Sandybridge", "Nehalem")
#: Kernel -> processor flag (in /proc/cpuinfo) that it requires.
NEEDS = {
    "Haswell": "avx2",
    "Zen": "avx2",
    "SkylakeX": "avx512f",
    "Sandybridge": "avx",
    "Nehalem": "sse4_2",
}
NUMERIC = [
    "tests/dank",
    "tests/knpl",
    "tests/lab",
    "tests/nystrom",
    "tests/svm",
    "tests/baselines",
    "tests/test_kernels.py",
    "tests/test_linalg.py",
    "tests/test_model_selection.py",
    "tests/_utils/test_arrays.py",
    "tests/adaptive/test_adaptive.py",
    "tests/adaptive/test_leave_one_out.py",
    "tests/adaptive/test_equal_rows.py",
    "tests/adaptive/test_local_models.py",
]
#: Slow tests of the selection of members, which does not depend on the kernel.
NOT_NUMERIC = "not screened and not judged_in_closed_form"
ASK = """
import numpy, scipy.linalg
from threadpoolctl import threadpool_info
print(sorted({library.get("architecture", "") for library in threadpool_info()}))
"""


def main():
    """Run the tests under each kernel."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kernels", type=int, default=2, help="maximum number")
    parser.add_argument("--list", action="store_true", help="list the kernels and exit")
    options, arguments = parser.parse_known_args()
    kernels = other_kernels()[: options.kernels]
    print("OpenBLAS kernels other than the default one:", *kernels or ["none"])
    if options.list:
        return
    for kernel in kernels:
        print(f"{VARIABLE}={kernel}", flush=True)
        command = [sys.executable, "-m", "pytest", "-k", NOT_NUMERIC, *arguments]
        command += NUMERIC
        done = subprocess.run(command, cwd=ROOT, env=os.environ | {VARIABLE: kernel})
        if done.returncode:
            sys.exit(f"The tests fail with {VARIABLE}={kernel}.")


def other_kernels():
    """Names of the distinct kernels that this processor can run, except the default."""
    information = Path("/proc/cpuinfo")
    features = set(information.read_text().split()) if information.exists() else set()
    seen, names = {architectures(None)}, []
    for kernel in KERNELS:
        if NEEDS[kernel] in features and (found := architectures(kernel)) not in seen:
            seen.add(found)
            names.append(kernel)
    return names


def architectures(kernel):
    """Architectures that the OpenBLAS libraries of NumPy and SciPy report."""
    environment = {key: v for key, v in os.environ.items() if key != VARIABLE}
    if kernel:
        environment[VARIABLE] = kernel
    return subprocess.check_output([sys.executable, "-c", ASK], env=environment)


if __name__ == "__main__":
    main()
