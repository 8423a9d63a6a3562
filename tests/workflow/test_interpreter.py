"""The interpreter of an environment in a folder whose name contains a blank."""

import subprocess
import sys
from pathlib import Path

from adakern_bench.base.interpreter import path_without_blanks


def test_path_without_blanks_reaches_the_interpreter(tmp_path):
    place = tmp_path / "My Projects"
    place.symlink_to(sys.prefix, target_is_directory=True)
    executable = str(place / Path(sys.executable).relative_to(sys.prefix))
    path = path_without_blanks(executable, str(place))
    line = f"{path} -c 'import adakern_bench, sys; print(sys.prefix)'"
    run = subprocess.run(line, shell=True, capture_output=True, text=True, check=True)
    assert Path(run.stdout.strip()).resolve() == Path(sys.prefix).resolve()


def test_path_without_blanks_keeps_other_paths():
    assert path_without_blanks("/usr/bin/python3", "/usr") == "/usr/bin/python3"
