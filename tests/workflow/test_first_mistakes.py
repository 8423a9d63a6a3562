"""What goes wrong first, and what is said then."""

import shutil

import pytest

from adakern.bench.config.compose import CONF, ConfigError
from adakern.bench.config.plan import load_plan
from adakern.bench.report.wording import protocol_in_words
from adakern.datasets.describe import main as describe


@pytest.fixture
def conf(tmp_path):
    return shutil.copytree(CONF, tmp_path / "conf")


def plan(conf, *overrides):
    return load_plan(["experiment=quickstart", *overrides], conf=conf)


def test_a_list_with_a_blank(conf):
    with pytest.raises(ConfigError, match=r"no blank after a comma: dataset=\[a,b\]"):
        plan(conf, "dataset=[sk-wine,", "sk-iris]")


def test_a_file_without_its_package_line(conf):
    (conf / "method" / "mine.yaml").write_text(
        "classifier: {estimator: {_target_: sklearn.svm.SVC}}\n"
    )
    with pytest.raises(ConfigError, match=r"first line: # @package method\.mine"):
        plan(conf, "method=[mine]")


def test_a_regressor_in_the_place_of_a_classifier(conf):
    (conf / "method" / "mine.yaml").write_text(
        "# @package method.mine\nclassifier: {estimator: {_target_: sklearn.svm.SVR}}\n"
    )
    with pytest.raises(ConfigError, match="SVR is a regressor; put it under"):
        plan(conf, "method=[mine]", "dataset=[sk-wine]")


def test_a_misspelt_data_set_to_describe():
    with pytest.raises(SystemExit, match=r"Did you mean sk-iris\?"):
        describe([str(CONF / "dataset" / "sk-iriss.yaml")])


@pytest.mark.parametrize(("step", "word"), [(2, "2nd"), (3, "3rd"), (5, "5th")])
def test_ordinals(step, word):
    config = {"protocol": {}, "search": {"folds": 3, "step": step}}
    assert f"every {word} point" in " ".join(protocol_in_words(config))
