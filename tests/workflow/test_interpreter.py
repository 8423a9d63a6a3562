"""The interpreter of an environment below a folder with a blank in its name."""

import subprocess
import sys
from pathlib import Path

from adakern_bench.base.interpreter import path_without_blanks


def test_an_environment_below_a_blank_is_reached_by_one_word(tmp_path):
    place = tmp_path / "My Projects"
    place.symlink_to(sys.prefix, target_is_directory=True)
    executable = str(place / Path(sys.executable).relative_to(sys.prefix))
    found = path_without_blanks(executable, str(place))
    line = f"{found} -c 'import adakern_bench, sys; print(sys.prefix)'"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).resolve() == Path(sys.prefix).resolve()


def test_another_path_stays_as_it_is():
    assert path_without_blanks("/usr/bin/python3", "/usr") == "/usr/bin/python3"
