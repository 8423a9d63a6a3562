"""Files and commands of the page "Your suite, your method, your paper"."""

import re
import shlex
from pathlib import Path

import pytest

import openml_server
from adakern_bench.config.openml import SERVER_VARIABLE
from wheels import write_wheels

PAGE = Path(__file__).parents[2] / "docs" / "own_benchmark.md"


@pytest.mark.timeout(1800)
@pytest.mark.long
def test_commands_of_the_page(project, tmp_path):
    folder = tmp_path / "wheels"
    folder.mkdir()
    write_wheels(folder, "mymethod", ("1.5", "1.6"))
    links = f"--no-index\n--find-links {folder}\n"  # instead of the network
    outputs = []
    with openml_server.serving() as server:
        project.environment |= {"NO_PROXY": "127.0.0.1", SERVER_VARIABLE: server.url}
        for kind, text in re.findall(
            r"```(\w+)\n(.*?)```", PAGE.read_text(), re.DOTALL
        ):
            if kind != "bash":
                path, content = re.fullmatch(r"# (\S+)\n(.*)", text, re.DOTALL).groups()
                project.write(path, (links if kind == "text" else "") + content)
                continue
            for line in text.splitlines():
                program, *words = shlex.split(line)
                assert program == "adakern"
                if words[0] == "diff":  # times vary on a busy machine
                    words[words.index("--tolerance") + 1] = "1000"
                quiet = ["tracking.enabled=false"] * (words[0] == "run")
                outputs.append(project.adakern(*words, *quiet).stdout)
    first, second, difference, table = outputs
    assert "mymethod" in first and "mymethod" in second
    common = "6 combinations of data set and method in both runs"
    assert f"{common}: 0 better, 0 worse, 0 failed" in difference
    # Repeats on the splits of the study: five folds, one, and two in regression.
    assert r"openml-task-59 &" in table and r"\bottomrule" in table
    versions = {
        (record["method"], record["versions"].get("mymethod"))
        for name in ("mine", "next/mine")
        for method in ("mymethod", "dummy")
        for record in project.records("openml-task-59", method, name)
    }
    assert versions == {("mymethod", "1.5"), ("mymethod", "1.6"), ("dummy", None)}
    bibliography = (project.root / "results/mine/paper/references.bib").read_text()
    assert "Tibshirani" in bibliography and "German Credit" in bibliography
