"""What goes wrong first, and what is said then."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from adakern.baselines.optional import require
from adakern_bench.cli.main import main
from adakern_bench.config.compose import CONF, ConfigError
from adakern_bench.config.plan import load_plan
from adakern_bench.tracking.track import main as track

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def conf(tmp_path):
    return shutil.copytree(CONF, tmp_path / "conf")


def plan(conf, *overrides):
    return load_plan(["experiment=quickstart", *overrides], conf=conf)


def test_a_method_goes_by_the_name_of_its_file(conf):
    (conf / "method" / "mine.yaml").write_text(
        "classifier: {estimator: {_target_: sklearn.svm.SVC}}\n"
    )
    assert plan(conf, "method=[mine]", "dataset=[sk-wine]").cells == [("sk-wine", "mine")]


def test_a_regressor_in_the_place_of_a_classifier(conf):
    (conf / "method" / "mine.yaml").write_text(
        "# @package method.mine\nclassifier: {estimator: {_target_: sklearn.svm.SVR}}\n"
    )
    with pytest.raises(ConfigError, match="SVR is a regressor; put it under"):
        plan(conf, "method=[mine]", "dataset=[sk-wine]")


def test_a_misspelt_data_set_to_describe():
    with pytest.raises(SystemExit, match=r"Did you mean 'sk-iris'\?"):
        main(["describe", "sk-iriss"])


def test_tracking_a_folder_without_records(tmp_path, capsys):
    with pytest.raises(SystemExit):
        track([str(tmp_path)])
    assert f"{tmp_path} holds no records/" in capsys.readouterr().err


def test_tracking_records_that_are_none(tmp_path, capsys):
    path = tmp_path / "records" / "heart" / "dank" / "0-0.json"
    path.parent.mkdir(parents=True)
    path.write_text('[{"dataset": "heart"}]')
    with pytest.raises(SystemExit):
        track([str(tmp_path)])
    assert "0-0.json" in capsys.readouterr().err


def test_a_python_that_there_is_not(tmp_path):
    (tmp_path / "workflow").mkdir()
    for name in ("Makefile", "pyproject.toml", "workflow/pyproject.toml"):
        shutil.copy(REPOSITORY / name, tmp_path / name)
    shutil.copytree(REPOSITORY / "requirements", tmp_path / "requirements")
    made = subprocess.run(
        ["make", "env", "PYTHON=python3.99"], cwd=tmp_path, capture_output=True, text=True
    )
    assert made.returncode
    assert "There is no python3.99 here" in made.stdout
    assert "make PYTHON=python3 env" in made.stdout


def test_what_building_leaves_is_ignored():
    for path in ("build/lib/x.py", "dist/x.whl", "docs/_build/html/index.html"):
        command = ["git", "check-ignore", "--quiet", path]
        assert subprocess.run(command, cwd=REPOSITORY).returncode == 0, path


def test_the_hint_at_the_extra_is_one_that_works():
    with pytest.raises(ImportError) as stopped:
        require("no_such_package", "FalkonRegressor")
    assert "pip install '.[torch]'" in str(stopped.value)
    assert "adakern[torch]" not in str(stopped.value)


def test_texts_of_reports_name_the_paper_that_they_speak_of():
    named = re.compile(r"Liu et al|Ding et al|LAB RBF paper|DANK paper|KNPL paper")
    for path in sorted(CONF.glob("*/*.yaml")):
        content = yaml.safe_load(path.read_text()) or {}
        for key in ("title", "description", "note", "reference"):
            text = " ".join(str(content.get(key, "")).split())
            if re.search(r"\bpapers?\b", text):
                assert named.search(text), f"{path.name}: {text}"
            assert not re.search(r"\b[Tt]he papers\b", text), f"{path.name}: {text}"


def test_describe_works_from_any_folder(tmp_path):
    command = [sys.executable, "-m", "adakern_bench.cli.main", "describe", "sk-iris"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines()[:2] == ["n: 150", "d: 4"]


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        ("numpy: Dependency could not be audited", 1, "is there a network?"),
        ("No known vulnerabilities found", 0, "No known vulnerabilities found"),
    ],
)
def test_an_audit_without_a_network_says_so(tmp_path, answer, status, said):
    program = tmp_path / "pip-audit"
    program.write_text(f"#!/bin/sh\necho '{answer}'\nexit {status}\n")
    program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    command = [REPOSITORY / "requirements" / "audit.sh"]
    run = subprocess.run(command, env={"PATH": path}, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == status and run.stdout.count(said) == 4


def test_the_bill_of_materials_lists_every_locked_package(tmp_path):
    """The command of `make sbom`, which validates what it writes and needs no network."""
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
    listed = {f"{found['name']}=={found['version']}" for found in bill["components"]}
    locked = (REPOSITORY / "requirements/workflow.txt").read_text()
    assert listed == set(re.findall(r"^[\w.-]+==[^\s;]+", locked, re.MULTILINE))


def test_every_locked_package_has_its_hash():
    for path in (REPOSITORY / "requirements").glob("*.txt"):
        packages = re.split(r"\n(?=[\w-]+==)", path.read_text())[1:]
        assert packages and all("--hash=sha256:" in package for package in packages)
        assert not any(package.startswith("adakern") for package in packages)
