"""Where a home cannot be written, caches are kept beside the results."""

import os
from pathlib import Path

import pytest

from adakern_bench.cli.run import _find_cache


@pytest.mark.parametrize("home", ["file/home", "file", "home"])
def test_caches_have_a_place(tmp_path, monkeypatch, home):
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "")  # so that its absence is restored
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / home))
    _find_cache()
    found = os.environ.pop("XDG_CACHE_HOME", None)
    if home == "home":
        assert found is None
        assert (tmp_path / "home/.cache").is_dir()
    else:
        assert Path(found) == tmp_path / ".snakemake/cache"
