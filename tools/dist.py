"""Build the source distribution and the wheel of the library: ``make dist``.

    python tools/dist.py [--output dist]

Both are built in a temporary folder, so that nothing from an earlier build is included.
The wheel is built from the unpacked source distribution, which shows that the latter is
complete.
"""

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("src", "pyproject.toml", "README.md", "LICENSE")


def main():
    """Build both and print their paths."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=ROOT / "dist", metavar="FOLDER")
    output = parser.parse_args().output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        copy_library(tree)
        source = build("sdist", tree, output)
        with tarfile.open(source) as archive:
            archive.extractall(folder, filter="data")
        unpacked = Path(folder, source.name.removesuffix(".tar.gz"))
        wheel = build("wheel", unpacked, output)
    print(source, wheel, sep="\n")


def copy_library(target):
    """Copy the sources of the library, without files of earlier builds."""
    left_over = shutil.ignore_patterns("__pycache__", "*.egg-info")
    target.mkdir()
    for name in PARTS:
        part = ROOT / name
        if part.is_dir():
            shutil.copytree(part, target / name, ignore=left_over)
        else:
            shutil.copy(part, target / name)


def build(kind, tree, output):
    """Call the build backend of ``pyproject.toml``; return the path of the file."""
    hook = f"print(build_meta.build_{kind}({str(output)!r}))"
    command = [sys.executable, "-c", f"from setuptools import build_meta; {hook}"]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"Building the {kind} failed:\n{done.stdout}{done.stderr}")
    return output / done.stdout.split()[-1]


if __name__ == "__main__":
    main()
