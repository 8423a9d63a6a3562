"""Configurations, names and paths chosen by an attacker. Each case is listed on
docs/security.md with what it shows.
"""

import functools
import json
import re
import shutil
import sys
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path

import pytest
import yaml

import openml_server
from adakern import cli
from adakern_bench.base import elsewhere_worker
from adakern_bench.base.paths import CONF
from adakern_bench.cli import main as cli_main
from adakern_bench.cli.compare import adopt
from adakern_bench.cli.main import main
from adakern_bench.config import compose, recipes
from adakern_bench.config.compose import ConfigError, available, load_config
from adakern_bench.config.entry import DatasetEntry, DatasetError
from adakern_bench.config.estimators import make_estimator
from adakern_bench.config.plan import load_plan, plan_from_snakemake
from adakern_bench.data.fetch import load_table
from adakern_bench.tracking.store import lock
from record_factory import make_record

PAGE = Path(__file__).parents[2] / "docs" / "security.md"


def method_setting(target, **params):
    return {"method.classifier": {"estimator": {"_target_": target, **params}}}


def nested_setting(**estimator):
    return method_setting("sklearn.ensemble.BaggingClassifier", estimator=estimator)


def figure_setting(function, name="bomb"):
    return {"figures": {name: {"function": function}}}


def other_python_setting(python, target="methods.rivals.CatBoostClassifier"):
    """The recipe of a method that runs in another Python."""
    return {"method": {"plain": {"python": python}}} | method_setting(target)


LIGHTGBM = {"_target_": "lightgbm.LGBMClassifier"}


def lightgbm_setting(**params):
    return method_setting("lightgbm.LGBMClassifier", **params)


PASSED_ON = "a configuration may not set it"
NO_PACKAGE, NO_CLASS, NO_MODULE = (
    "neither a package",
    "not a class derived from",
    "no module",
)
LEAVES, IS_PATH, NO_FILE = (
    "is outside the project",
    "is a path outside",
    "name of a file",
)
NO_FUNCTION = "there is no function"
WORDS = "sklearn.feature_extraction.text.CountVectorizer"
SECRET_PROTOCOL = {"override /protocol": "${oc.env:SECRET}"}
SVC = {"_target_": "sklearn.svm.SVC"}
MEMORY = {"steps": [["a", "passthrough"]], "memory": "/tmp"}
#: YAML writes a repeated list once, and aliases for its repetitions.
ALIASES = functools.reduce(lambda inner, _: [inner] * 10, range(9), ["x"])
#: The same with references, absolute, relative and through each other.
CHAIN = {"0": ["x"] * 10} | {
    str(k + 1): [f"${{settings.a.b.{k}}}", "${.[0]}", f"${{ ..b[{k}][0] }}"] * 4
    for k in range(8)
}
#: Case -> content of an experiment or method file, and the expected error.
#: A string is an override; None means that no error is raised.
SETTINGS = {
    "declared-package": (method_setting("lightgbm.LGBMClassifier"), None),
    "harmless-parameter": (
        lightgbm_setting(verbosity=-1, max_bin=63, metric="auc"),
        None,
    ),
    "folder-inside": ("results=elsewhere", None),
    "time-limit": ("jobs.time_limit=0", "out of range"),
    "command": (method_setting("os.system", command="touch bomb"), NO_PACKAGE),
    "nested-command": (
        nested_setting(_target_="subprocess.getoutput", cmd="x"),
        NO_PACKAGE,
    ),
    "program": (method_setting("mlflow.__main__.X"), "is private"),
    "test-module": (method_setting("sklearn.conftest.X"), "is private, or a test"),
    "undeclared-package": (method_setting("requests.Session"), NO_PACKAGE),
    "no-estimator": (method_setting("sklearn.utils.Bunch"), NO_CLASS),
    "memory": (method_setting("sklearn.pipeline.Pipeline", **MEMORY), IS_PATH),
    "memory-in-grid": ("+method.plain.classifier.grid.memory=[../x]", IS_PATH),
    "memory-in-units": (
        "++method.plain.classifier.estimator.memory={relative_to: steps, value: cache}",
        IS_PATH,
    ),
    "memory-beside-units": (
        {
            **method_setting("sklearn.pipeline.Pipeline", **MEMORY),
            "method": {"relative_to": {"classifier": {"estimator": SVC}}},
        },
        IS_PATH,
    ),
    "memory-on-an-axis": (
        {"sweep": {"plain": {"relative_to": {"a": {"memory": "cache"}}}}},
        IS_PATH,
    ),
    "memory-inside": ("++method.plain.classifier.estimator.memory=cache", IS_PATH),
    "input-files": (
        method_setting(WORDS, input="filename"),
        "read files that the data name",
    ),
    "input-in-grid": ("+method.plain.classifier.grid.a__input=[filename]", IS_PATH),
    "special-path": ({"special": {"dank_bounds": {"clusters": "/etc/x"}}}, IS_PATH),
    "figure-command": (figure_setting("os.system"), "no module 'os'"),
    "figure-program": (
        figure_setting("adakern_bench.report.publish.publish"),
        NO_MODULE,
    ),
    "figure-imported": (
        figure_setting("adakern_bench.report.leaderboard.label_points"),
        NO_FUNCTION,
    ),
    "figure-private": (
        figure_setting("adakern_bench.report.sweep._label"),
        NO_FUNCTION,
    ),
    "results-above": ("results=../x", LEAVES),
    "results-anywhere": ({"results": "/tmp/x"}, LEAVES),
    "results-among-code": ("results=config", LEAVES),
    "results-own-file": ("results=x.yaml", LEAVES),
    "results-command": ({"results": "x$(touch bomb)"}, "must be the path of a folder"),
    "results-wildcard": ({"results": "x{w}"}, "must be the path of a folder"),
    "cache-wildcard": ({"data": {"cache": "x{w}"}}, "must be the path of a folder"),
    "results-nul": ({"results": "a\0b"}, LEAVES),
    "aliases": ({"title": ALIASES}, "expand to more than 100,000 values"),
    "aliases-by-name": (
        {"settings": {"a": {"b": CHAIN}}},
        "expand to more than 100,000",
    ),
    "aliases-of-text": (
        {
            "description": "x" * 10_000,
            "settings": {"a": {"b": ["${description}"] * 2000}},
        },
        "expand to more than 100,000",
    ),
    "aliases-by-call": (
        {"settings": {"a": {"b": ["${powers:1,0,100}"] * 2000}}},
        "expand to more than 100,000",
    ),
    "name-by-name": ({"title": "${protocol.${name}}"}, "Unsupported interpolation"),
    "powers": ({"title": "${powers:2,-1000000000,0}"}, "more than 200 powers"),
    "points": (
        {"sweep": {"plain": {f"a{k}": [*range(10)] for k in range(9)}}},
        "1,000,000,000 points of sweeps",
    ),
    "repeats": (
        {"protocol": {"kind": "kfold", "repeats": 100_000, "n_splits": 100_000}},
        "10,000,000,000 splits",
    ),
    "cache-database": ("data.cache=mlflow.db", LEAVES),
    "cache-site": ({"data": {"cache": ".venv/lib/site-packages"}}, LEAVES),
    "allow-in-file": ({"allow_outside": True, "results": "/tmp/x"}, "not a setting"),
    "name-above": ("name=../../../x", NO_FILE),
    "name-hidden": ("name=.hidden", NO_FILE),
    "name-formula": (
        figure_setting("adakern_bench.report.contrast.contrast", "=A(1)"),
        NO_FILE,
    ),
    "name-option": (
        figure_setting("adakern_bench.report.contrast.contrast", "-rf"),
        NO_FILE,
    ),
    "figure-name": (
        figure_setting("adakern_bench.report.contrast.contrast", "../../x"),
        NO_FILE,
    ),
    "sweep-value": ({"sweep": {"plain": {"kernel": ["/x"]}}}, NO_FILE),
    "name-command": (
        {"sweep": {"plain": {"axis": {"$(touch bomb)": {"C": 1}}}}},
        NO_FILE,
    ),
    "name-wildcard": ({"sweep": {"plain": {"axis": {"{w.input}": {"C": 1}}}}}, NO_FILE),
    "machines": (lightgbm_setting(machines="example.org:80"), IS_PATH),
    "machines-with-a-blank": (lightgbm_setting(machines="10.0.0.1 80"), PASSED_ON),
    "machines-in-grid": (
        {"method.classifier": {"estimator": LIGHTGBM, "grid": {"machines": ["a"]}}},
        PASSED_ON,
    ),
    "machines-of-a-part": (
        nested_setting(**LIGHTGBM, machine_list_filename="a"),
        PASSED_ON,
    ),
    "machines-in-a-value": (
        lightgbm_setting(objective="binary machine_list_file=a"),
        "the start of another",
    ),
    "lock-file": (other_python_setting("envs/none.txt"), "no such file in envs/"),
    "python-program": (other_python_setting("/bin/sh"), "is neither a lock file"),
    "python-outside": (
        other_python_setting("envs/../../evil.txt"),
        "is neither a lock file",
    ),
    "python-variable": (other_python_setting("$SHELL"), "is neither a lock file"),
    "python-variable-unset": (
        other_python_setting("$NOBODY_SET"),
        "is neither a lock file",
    ),
    "python-class": (
        other_python_setting("$ADAKERN_PYTHON", "subprocess.Popen"),
        "must be a public class",
    ),
    "python-private": (
        other_python_setting("envs/pytabkit.txt", "numpy.testing.X"),
        "be a public",
    ),
    "file-by-its-name": ("++method.plain.classifier.estimator.C=x.yaml", IS_PATH),
    "mirror": ({"data": {"mirror": "/etc"}}, LEAVES),
    "suite-table": (
        {"suite": {"name": "a", "sets": "../../x.csv"}},
        "name of a file in",
    ),
    "published": ("published=../x", "data/published"),
    "published-point": ("published=dank_uci@/../x", "data/published"),
    "defaults": ({"defaults": ["small", "../../x@settings"]}, "must be inside conf"),
    "search-path": ("hydra.searchpath=[file:///etc]", "for Hydra itself"),
    "tracker": ({"tracking": {"uri": "http://example.org"}}, LEAVES),
    "tracker-file": ({"tracking": {"uri": "sqlite:////tmp/x.db"}}, LEAVES),
    "tracker-options": (
        {"tracking": {"uri": "sqlite:///file:/tmp/x.db?uri=true"}},
        LEAVES,
    ),
    "tracker-code": ({"tracking": {"uri": "sqlite:///sitecustomize.py"}}, LEAVES),
    "readable-variable": ({"title": "${oc.env:ADAKERN_TITLE}"}, None),
    "secret-title": ({"title": "${oc.env:SECRET}"}, "variables ADAKERN_"),
    "login-token": ({"title": "${oc.env:SLURM_JWT}"}, "suggests a secret"),
    "secret-override": ("title=${oc.env:SECRET}", "variables ADAKERN_"),
    "secret-in-defaults": ({"defaults": ["small", SECRET_PROTOCOL]}, "interpolation"),
    "other-resolver": ({"title": "${now:%Y}"}, "Unsupported interpolation"),
}


def loader_entry(target, **params):
    return {"loader": {"_target_": target, **params}}


def file_entry(path, **more):
    return {"files": [{"path": path}], **more}


SETS, NONE_OF, ENDS_IN = (
    "sklearn.datasets.",
    "not a function that a loader may use",
    "file extension must be",
)
#: Case -> the entry of a data set, and the error raised before anything is read.
ENTRIES = {
    "embedded-set": (loader_entry(SETS + "load_wine"), None),
    "loader-command": (loader_entry("os.system", command="x"), NONE_OF),
    "loader-download": (loader_entry(SETS + "fetch_file", folder="methods"), NONE_OF),
    "loader-pickle": (
        loader_entry(SETS + "fetch_california_housing", data_home="x"),
        NONE_OF,
    ),
    "loader-reads": (loader_entry(SETS + "load_files", container_path="/"), NONE_OF),
    "loader-svmlight": (
        loader_entry(SETS + "load_svmlight_file", f="/etc/passwd"),
        NONE_OF,
    ),
    "loader-missing": (loader_entry("methods.evil.load_x"), NONE_OF),
    "loader-path": (
        loader_entry(SETS + "make_blobs", data_home="/tmp"),
        "is outside the proj",
    ),
    "data-py": (file_entry("a/evil.py"), ENDS_IN),
    "data-pth": (file_entry("a/evil.pth"), ENDS_IN),
    "data-library": (file_entry("a/evil.SO"), ENDS_IN),
    "data-nul": (file_entry("a/e\0vil.csv"), "control characters are not allowed"),
    "data-above": (file_entry("../a.csv"), "inside the data folder"),
    "homepage": (
        file_entry("a.csv", homepage="javascript:alert(1)"),
        "http:// or https://",
    ),
    "no-host": (
        {"files": [{"path": "a.csv", "urls": ["http://[::1/a"]}]},
        "and a host",
    ),
}


@pytest.fixture
def conf(tmp_path, monkeypatch):
    """A configuration in a project that contains nothing else."""
    shutil.copytree(CONF, tmp_path / "conf")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SECRET", "hunter2")
    monkeypatch.setenv("ADAKERN_TITLE", "fine")
    monkeypatch.setenv("ADAKERN_PYTHON", sys.executable)
    write(tmp_path / "conf/method/plain.yaml", "# @package method.plain", SVM)
    write(tmp_path / "conf/experiment/small.yaml", "# @package _global_", SMALL)
    write(tmp_path / "x.yaml", "# @package _global_", {"password": "hunter2"})
    return tmp_path / "conf"


SVM = {"classifier": {"estimator": {"_target_": "sklearn.svm.SVC"}}}
PLAIN_ON_CLOWNS = [{"override /dataset": ["clowns"]}, {"override /method": ["plain"]}]
SMALL = {"defaults": PLAIN_ON_CLOWNS, "name": "small"}


def write(path, header, content):
    path.write_text(f"{header}\n{yaml.safe_dump(content)}")


def make_plan(conf, setting):
    """The plan with an override, or with a file of an attacker."""
    if isinstance(setting, str):
        return load_plan(["experiment=small", "name=small", setting], conf)
    setting = dict(setting)
    if "method.classifier" in setting:
        recipe = {"classifier": setting.pop("method.classifier")}
        write(conf / "method/plain.yaml", "# @package method.plain", recipe)
    content = {"defaults": ["small"], "name": "evil"} | setting
    write(conf / "experiment/evil.yaml", "# @package _global_", content)
    return load_plan(["experiment=evil"], conf)


@pytest.mark.parametrize("case", SETTINGS)
def test_attack_by_setting(conf, case):
    setting, message = SETTINGS[case]
    if message is None:
        assert make_plan(conf, setting).cells
        return
    with pytest.raises(ConfigError, match=message) as refused:
        make_plan(conf, setting)
    assert "hunter2" not in str(refused.value)
    assert "omegaconf" not in str(refused.value).lower()


@pytest.mark.parametrize("case", ENTRIES)
def test_attack_by_data_set_entry(conf, case):
    fields, message = ENTRIES[case]
    entry = DatasetEntry(task="classification", **fields)
    if message is None:
        assert load_table("evil", entry, cache_dir=conf).task == "classification"
        return
    with pytest.raises(DatasetError, match=message) as refused:
        load_table("evil", entry, cache_dir=conf)
    assert "root:" not in str(refused.value)


def results_link(conf):
    """A symbolic link in the project that points out of it."""
    (conf.parent / "results").symlink_to("/tmp")
    with pytest.raises(ConfigError, match=LEAVES):
        make_plan(conf, {})


def results_link_below(conf):
    """A link below the results, through which runs write and the tracker reads."""
    link = conf.parent / "results" / "small" / "records"
    link.parent.mkdir(parents=True)
    link.symlink_to(conf)
    with pytest.raises(ConfigError, match="link out of results/small"):
        load_plan(["experiment=small"], conf)
    assert load_plan(["experiment=small", "--allow-outside"], conf).cells
    with pytest.raises(SystemExit, match="link out of the results"):
        main(["track", str(link.parent)])


def data_links(conf):
    """Links below the data, which would be read into a table or the report."""
    for folder in ("data/raw/mine", "data/tables", "data/published"):
        link = conf.parent / folder / "evil.csv"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(conf.parent / "x.yaml")
        with pytest.raises(
            ConfigError, match=r"evil\.csv is a symbolic link"
        ) as refused:
            load_plan(["experiment=small"], conf)
        assert "hunter2" not in str(refused.value)
        assert load_plan(["experiment=small", "--allow-outside"], conf).cells
        link.unlink()


def conf_link(conf):
    """A configuration file that is a link to another file of this computer."""
    secret = conf.parent / "x.yaml"
    (conf / "experiment/evil.yaml").symlink_to(secret)
    (conf / "dataset/evil.yaml").symlink_to(secret)
    (conf / "method/evil.yaml").symlink_to(secret)
    tuned = {"classifier": SVM["classifier"] | {"tune_with": "evil"}}
    write(conf / "method/tuned.yaml", "# @package method.tuned", tuned)
    suite = {"name": "a", "sets": "evil.csv"}
    (conf / "suite/evil.csv").symlink_to(secret)
    write(conf / "suite/evil.yaml", "# @package suite", suite)
    for overrides in (
        ["experiment=evil"],
        ["experiment=small", "dataset=[evil]"],
        ["experiment=small", "method=[evil]"],
        ["experiment=small", "method=[tuned]"],
        ["experiment=small", "suite=evil"],
    ):
        with pytest.raises(ConfigError, match="is a symbolic link out of") as refused:
            load_plan(overrides, conf)
        assert "hunter2" not in str(refused.value)
    (conf / "experiment/small-too.yaml").symlink_to(conf / "experiment/small.yaml")
    assert load_config(["experiment=small-too"], conf).name == "small"


def allow_typed(conf):
    """The command line may allow what a file may not."""
    steps = {"steps": [["a", {"_target_": "sklearn.svm.SVC"}]], "memory": "cache"}
    recipe = {
        "classifier": {"estimator": {"_target_": "sklearn.pipeline.Pipeline", **steps}}
    }
    write(conf / "method/plain.yaml", "# @package method.plain", recipe)
    overrides = ["experiment=small", "results=/tmp/x"]
    assert load_plan([*overrides, "--allow-outside"], conf).cells
    config = {"experiment": "quickstart", "overrides": "results=/tmp/x"}
    config["allow_outside"] = True
    with pytest.raises(ConfigError, match=LEAVES):  # in a --configfile
        plan_from_snakemake(config, typed={})
    assert plan_from_snakemake(config, typed=config).cells


def address_typed(conf):
    """The same for a configuration file of Snakemake (--configfile)."""
    config = {
        "experiment": "quickstart",
        "overrides": "tracking.uri=http://example.org",
    }
    with pytest.raises(ConfigError, match=LEAVES):
        plan_from_snakemake(config, typed={"experiment": "quickstart"})
    assert plan_from_snakemake(config, typed=config).cells


def entry_is_refused(conf, **entry):
    """Expect an error for this entry, which contains the secret."""
    write(
        conf / "dataset/evil.yaml",
        "# @package dataset.evil",
        entry | {"task": "regression"},
    )
    return pytest.raises(ConfigError, match="variables ADAKERN_")


def secret_url(conf):
    url = "http://127.0.0.1/${oc.env:SECRET}"
    with entry_is_refused(conf, files=[{"path": "a.csv", "urls": [url]}]):
        load_plan(["experiment=small", "dataset=[evil]"], conf)


def describe_secret(conf):
    with entry_is_refused(conf, title="${oc.env:SECRET}", files=[{"path": "a.csv"}]):
        load_config(["dataset=[evil]"], conf)


def describe_elsewhere(conf):
    """The entry of a data set includes an experiment that sets the paths."""
    places = {"data": {"mirror": "/etc", "cache": "/tmp/x"}}
    write(conf / "experiment/evil.yaml", "# @package _global_", places)
    entry = {"defaults": ["/experiment/evil@_global_"], "task": "regression"}
    files = {"files": [{"path": "hosts.csv"}]}
    write(conf / "dataset/evil.yaml", "# @package dataset.evil", entry | files)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compose, "load_config", partial(load_config, conf=conf))
        with pytest.raises(SystemExit, match=f"data.cache.*{LEAVES}") as refused:
            main(["describe", "evil"])
    assert "data.mirror" in str(refused.value)


def secret_in_a_table(conf):
    """A table whose name, columns and values contain the interpolation of a secret."""
    secret = "${oc.env:SECRET}"
    rows = "".join(
        f"{k * k / 7:.2f},{secret},{secret if k % 2 else 'no'}\n" for k in range(40)
    )
    file = conf.parent / f"{secret}.csv"
    file.write_text(f"a,{secret} constant,{secret}\n{rows}")
    overrides = adopt(file, secret, conf.parent)
    config = load_plan([*overrides, "method=[plain]"], conf).config
    assert "hunter2" not in str(config)


def needed_package(conf):
    """The packages that a method needs are looked up without importing them."""
    (conf.parent / "evil").mkdir()
    (conf.parent / "evil" / "__init__.py").write_text("open('bomb', 'w')")
    write(
        conf / "method/plain.yaml",
        "# @package method.plain",
        SVM | {"needs": ["evil.x"]},
    )
    with (
        pytest.MonkeyPatch.context() as patch,
        pytest.raises(ConfigError, match="nothing to run"),
    ):
        patch.syspath_prepend(conf.parent)
        load_plan(["experiment=small"], conf)
    assert not (conf.parent / "bomb").exists()


def found_memory(conf):
    """A search result of an attacker sets `memory`."""
    with pytest.raises(ValueError, match="cannot be the result of a search"):
        make_estimator(SVM["classifier"]["estimator"], {"memory": "cache"})


def memory_in_a_fit(conf):
    """`adakern fit --method plain` composes no plan."""
    recipe = method_setting("sklearn.pipeline.Pipeline", **MEMORY)["method.classifier"]
    write(
        conf / "method/plain.yaml",
        "# @package method.plain",
        {"classifier": recipe},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipes, "available", partial(available, conf=conf))
        patch.setattr(recipes, "load_config", partial(load_config, conf=conf))
        with pytest.raises(ValueError, match=IS_PATH):
            recipes.method_named("plain", "classification")


def python_call(conf):
    """A package of a list in envs/ has functions that run code or read files, and
    classes that pass parameters on.
    """
    for recipe, message in (
        ({"_target_": "numpy.load", "file": "data"}, "not the class of an estimator"),
        ({"_target_": "numpy.ndarray", "shape": 1}, "not the class of an estimator"),
        (LIGHTGBM | {"machines": "10.0.0.1 80"}, PASSED_ON),
        (LIGHTGBM | {"objective": "binary machine_list_file=a"}, "start of another"),
    ):
        with pytest.raises(ValueError, match=message):
            elsewhere_worker.build(recipe, {})


def allow_in_results(conf):
    """Settings in somebody else's folder of results count as those of a file."""
    run = conf.parent / "results" / "evil" / "run.yaml"
    run.parent.mkdir(parents=True)
    outside = ["--allow-outside", "results=/tmp/x"]
    tracker = ["tracking.uri=http://example.org"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli_main, "ROOT", conf.parent)
        for overrides, command in product((outside, tracker), ("show", "run")):
            content = {"experiment": "quickstart", "overrides": overrides}
            run.write_text(yaml.safe_dump(content))
            with pytest.raises((SystemExit, ConfigError), match=LEAVES):
                main([command, "evil", "--dry-run"][: 2 + (command == "run")])
        for text in ("experiment: [", "[1]", f"experiment: {[1]}\noverrides: []"):
            run.write_text(text)
            with pytest.raises(SystemExit, match="is damaged"):
                main(["show", "evil"])


def record_elsewhere(conf):
    """No files are copied for a record whose data set is a parent folder."""
    path = conf / "demo/records/heart/dank/0-0.json"
    path.parent.mkdir(parents=True)
    for record, message in (
        (make_record("../../home", "dank"), "belongs in another file"),
        (make_record("heart", "dank") | {"task": "x"}, "lacks a valid task"),
        ([1], "is not the record of a run"),
    ):
        path.write_text(json.dumps([record]))
        with pytest.raises(SystemExit, match=message):
            main(["track", str(conf / "demo")])


def redirect(conf):
    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self):
            requested.append(self.path)
            self.send_response(302)
            location = (
                f"http://localhost:{port}/in" if len(requested) == 1 else "http://[::1"
            )
            self.send_header("Location", location)
            self.end_headers()

    requested = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    port = server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    urls = [f"http://127.0.0.1:{port}/a.csv"]
    entry = DatasetEntry(task="regression", files=[{"path": "a.csv", "urls": urls}])
    for message in ("a host that is not in the entry", "Invalid IPv6 URL"):
        with pytest.raises(DatasetError, match=message):
            load_table("evil", entry, cache_dir=conf, mirror=conf)
    server.shutdown()
    assert requested == ["/a.csv", "/a.csv"]


def openml_host(conf):
    """OpenML's answer names a host of the local network."""
    with pytest.MonkeyPatch.context() as patch, openml_server.serving() as server:
        patch.chdir(conf)
        patch.setenv("NO_PROXY", "127.0.0.1")
        patch.setenv("ADAKERN_OPENML", server.url)
        about = server.answers["/api/v1/json/data/31"]["data_set_description"]
        about["url"] = "http://192.168.0.1/admin"
        with pytest.raises(DatasetError, match="so it is not downloaded"):
            load_plan(["dataset=[openml-31]"])


OTHERS = {
    attack.__name__.replace("_", "-"): attack
    for attack in (
        *(results_link, results_link_below, data_links, conf_link),
        *(allow_typed, allow_in_results, address_typed, secret_url),
        *(
            describe_secret,
            describe_elsewhere,
            secret_in_a_table,
            needed_package,
            redirect,
        ),
        *(found_memory, memory_in_a_fit, python_call),
        *(record_elsewhere, openml_host),
    )
}


@pytest.mark.parametrize("case", OTHERS)
def test_attack_by_other_means(conf, case):
    OTHERS[case](conf)


def test_every_line_of_security_page_is_tested():
    text = PAGE.read_text(encoding="utf-8")
    lines = re.findall(r"^- .*?(?=^- |^#|\Z)", text, re.MULTILINE | re.DOTALL)
    cases = [re.findall(r"<!-- cases: (.*?) -->", line, re.DOTALL) for line in lines]
    assert lines and all(len(named) == 1 for named in cases)
    named = {case for line in cases for case in re.split(r",\s+", line[0])}
    assert named == {*SETTINGS, *ENTRIES, *OTHERS}


@pytest.mark.parametrize("overrides", ["title='half", 'title="'])
def test_unpaired_quotation_mark_raises(overrides):
    with pytest.raises(ConfigError, match="must be paired"):
        plan_from_snakemake({"experiment": "quickstart", "overrides": overrides})


def test_control_characters_of_errors_are_escaped(project):
    """Also with an ASCII locale; before the run `show` prints a one-line error."""
    project.environment |= {
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
    }
    early = project.adakern("show", "small", "name=small", status=1).stderr
    assert "no results" in early and "Traceback" not in early
    project.write(
        "methods/loud.py",
        "from sklearn.svm import SVC\n"
        "class Loud(SVC):\n"
        "    def fit(self, X, y):\n"
        "        raise ValueError('\\x1b[31mred \\x07 \\x9b31m \\u202egnp.exe')\n",
    )
    project.add_classifier("loud", "{estimator: {_target_: methods.loud.Loud}}")
    run = project.run(overrides="method=[plain,loud]")
    shown = project.adakern("show", "small", "name=small", "method=[plain,loud]").stdout
    page = (project.root / "results/small/report.html").read_text()
    for text in (run.output, shown, page):
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text)
    assert "red" in shown and "red" in page


def test_control_characters_of_tables_are_escaped(tmp_path, monkeypatch, capsys):
    """In names of columns and categories printed by `fit` and `compare`."""
    categories = ("x", "\x9b31mred", "\u202ez")
    rows = [f"{k * 1.3},{categories[k % 3]},{k * 2.5}\n" for k in range(60)]
    file = tmp_path / "t.csv"
    file.write_text("a,b\x9b1m,y\n" + "".join(rows), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    fit = ["fit", "t.csv", "--target", "y", "--method", "sklearn.dummy.DummyRegressor"]
    assert cli.main(fit) == 0
    (tmp_path / "conf" / "dataset").mkdir(parents=True)
    adopt(file, "y", tmp_path)
    with pytest.raises(SystemExit) as refused:
        cli.main([*fit, "--drop", "\x9bno"])
    captured = capsys.readouterr()
    for text in (captured.out, captured.err, str(refused.value)):
        assert not {"\x9b", "\u202e"} & set(text)
    assert captured.out.count("31mred") == 2


def test_tracking_lock_is_per_user(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for user in (0, 65534):
        monkeypatch.setattr("os.getuid", lambda user=user: user)
        with lock("http://localhost:1"):
            pass
    assert len(list(tmp_path.iterdir())) == 2
