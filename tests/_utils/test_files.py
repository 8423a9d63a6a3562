"""Files are written completely or not at all."""

import os
import signal
import subprocess
import sys

import pytest

from adakern._utils.files import atomic_path, read_json, write_json


def test_file_is_replaced_only_at_the_end(tmp_path):
    target = tmp_path / "deep" / "value.json"
    write_json(target, {"old": 1})
    with atomic_path(target) as path:
        path.write_text('{"new": 2}')
        assert path.suffix == ".json" and path.parent == target.parent
        assert read_json(target) == {"old": 1}
    assert read_json(target) == {"new": 2}
    assert os.listdir(target.parent) == ["value.json"]


def test_error_keeps_the_old_file(tmp_path):
    target = tmp_path / "value.json"
    write_json(target, [1])
    with pytest.raises(TypeError):
        write_json(target, object())
    with pytest.raises(OSError, match="full"), atomic_path(target) as path:
        path.write_text("half")
        raise OSError("disk full")
    assert read_json(target) == [1]
    assert os.listdir(tmp_path) == ["value.json"]


def test_killed_writer_keeps_the_old_file(tmp_path):
    target = tmp_path / "value.json"
    write_json(target, "old")
    program = (
        "import sys, time\n"
        "from adakern._utils.files import atomic_path\n"
        "with atomic_path(sys.argv[1]) as path:\n"
        "    path.write_text('half of the ne')\n"
        "    print('writing', flush=True)\n"
        "    time.sleep(600)\n"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", program, str(target)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout.readline() == "writing\n"
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    assert read_json(target) == "old"
    # The remaining file has a hidden name that no rule uses.
    assert all(
        name.startswith(".") for name in os.listdir(tmp_path) if name != target.name
    )


def test_permissions_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_json(tmp_path / "value.json", 1)
    finally:
        os.umask(before)
    assert (tmp_path / "value.json").stat().st_mode & 0o777 == 0o640


def test_broken_json_names_the_file(tmp_path):
    path = tmp_path / "value.json"
    path.write_text("[1, 2")
    with pytest.raises(ValueError, match=r"value\.json is not valid JSON.*delete it"):
        read_json(path)
