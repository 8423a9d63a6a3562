"""Typical first mistakes of a user, and their messages."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from adakern_bench.cli.main import main
from adakern_bench.config.entry import check_content
from adakern_bench.config.plan import load_plan
from record_factory import make_record, write_records

REPOSITORY = Path(__file__).parents[2]


def test_wrong_setting_raises_before_snakemake_starts():
    with pytest.raises(
        SystemExit, match=r"'repeat' is not a setting .* Did you mean 'repeats'\?$"
    ):
        main(["run", "quickstart", "protocol.repeat=3"])


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["compar"], "unknown command 'compar'. Did you mean 'compare'?\n"),
        (["xyzzy"], "unknown command 'xyzzy'. Known: fit, predict, compare, run,"),
        (["compare"], "the following arguments are required: file\n"),
    ],
)
def test_command_misspelt_or_without_file(argv, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(argv)
    assert message in capsys.readouterr().err


def test_help_lists_the_version_option(capsys):
    main([])
    assert "--version" in capsys.readouterr().out


def test_describe_prints_valid_settings_of_an_entry(capsys, tmp_path):
    main(["describe", "sk-wine"])
    settings = yaml.safe_load(capsys.readouterr().out)
    entry = load_plan(["dataset=[sk-wine]", "method=[knn]"]).entry("sk-wine")
    assert settings.keys() == {"n", "d", "classes", "fingerprint"}
    check_content(entry, settings)
    with pytest.raises(SystemExit, match=r"Did you mean 'sk-iris'\?"):
        main(["describe", "sk-iriss"])
    with pytest.raises(
        SystemExit, match="sk-iris,sk-wine is not the name of a single data set"
    ):
        main(["describe", "sk-iris,sk-wine"])
    table = tmp_path / "my.csv"
    table.touch()
    with pytest.raises(SystemExit, match=r"adakern compare \S+my.csv --target COLUMN"):
        main(["describe", str(table)])


def test_results_of_older_version_raise(tmp_path):
    """Records of that version lack preparation, protocol, search and machine."""
    old = make_record()
    for name in ("machine", "preparation", "protocol", "search"):
        del old[name]
    write_records(tmp_path, [old])
    with pytest.raises(
        SystemExit, match=r"older version: it lacks machine, .* Delete its folder"
    ):
        main(["track", str(tmp_path)])
    assert [path.name for path in tmp_path.iterdir()] == ["records"]


def test_make_with_missing_python(tmp_path):
    command = [
        "make",
        "-f",
        REPOSITORY / "Makefile",
        ".venv/bin/python",
        "PYTHON=python3.99",
    ]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode
    assert "There is no python3.99 here" in run.stdout
    assert "make PYTHON=python3 " in run.stdout


def test_audit_without_network_is_reported(tmp_path):
    program = tmp_path / "pip-audit"
    program.write_text(
        "#!/bin/sh\necho 'numpy: Dependency could not be audited'\nexit 1\n"
    )
    program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    command = [REPOSITORY / "requirements" / "audit.sh"]
    run = subprocess.run(
        command, env={"PATH": path}, cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 1 and run.stdout.count("is there a network?") == 4


def test_bill_of_materials_lists_every_locked_package(tmp_path):
    """The command of `make sbom`, which validates its output and needs no network."""
    places = os.pathsep.join([str(REPOSITORY / ".venv-audit/bin"), os.environ["PATH"]])
    if (program := shutil.which("cyclonedx-py", path=places)) is None:
        pytest.skip("there is no cyclonedx-py; make sbom installs it")
    make = (REPOSITORY / "Makefile").read_text().replace("\\\n", " ")
    settings = re.search(r"cyclonedx-py (.*) --output-file", make)[1].split()
    out = tmp_path / "sbom.json"
    command = [program, *settings, "--output-file", out]
    run = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    bill = json.loads(out.read_text())
    assert bill["bomFormat"] == "CycloneDX" and bill["specVersion"] >= "1.5"
    listed = {
        f"{component['name']}=={component['version']}"
        for component in bill["components"]
    }
    locked = (REPOSITORY / "requirements/workflow.txt").read_text()
    assert listed == set(re.findall(r"^[\w.-]+==[^\s;]+", locked, re.MULTILINE))


def test_every_locked_package_has_a_hash():
    for path in (REPOSITORY / "requirements").glob("*.txt"):
        packages = re.split(r"\n(?=[\w-]+==)", path.read_text())[1:]
        assert packages and all("--hash=sha256:" in package for package in packages)
        assert not any(package.startswith("adakern") for package in packages)
