"""Location of the caches when the home folder is not writable."""

import os
from pathlib import Path

import pytest

from adakern_bench.cli.run import _find_cache


@pytest.mark.parametrize("home", ["file/home", "file", "home"])
def test_cache_folder_when_home_is_not_writable(tmp_path, monkeypatch, home):
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "")  # so that monkeypatch restores its absence
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / home))
    _find_cache()
    cache = os.environ.pop("XDG_CACHE_HOME", None)
    if home == "home":
        assert cache is None
        assert (tmp_path / "home/.cache").is_dir()
    else:
        assert Path(cache) == tmp_path / ".snakemake/cache"
