"""Overrides that change the compared results make a separate experiment."""

from dataclasses import replace

import pytest

from adakern_bench.config.schema import Config
from adakern_bench.config.variant import as_variant

BASE = Config(name="uci", title="On ten sets", description="Five repeats.")


def variant(*overrides):
    return as_variant(BASE, ["experiment=uci", *overrides])


@pytest.mark.parametrize(
    "overrides",
    [(), ("jobs.threads=2", "title=x", "data.mirror=x"), ("~figures.rank",)],
)
def test_overrides_that_change_no_result_keep_the_folder(overrides):
    config = variant(*overrides)
    assert (config.name, config.title) == ("uci", "On ten sets")
    assert config.overrides == list(overrides)


def test_name_title_and_description_state_the_changes():
    config = variant("protocol.repeats=3", "dataset=[iris, wine]", "jobs.threads=2")
    assert config.name == "uci~dataset=iris,wine~protocol.repeats=3"
    assert config.experiment == "uci"
    assert config.title == "On ten sets (dataset=[iris, wine], protocol.repeats=3)"
    assert "Five repeats" not in config.description
    reordered = variant("dataset=[iris, wine]", "protocol.repeats=3")
    assert reordered.name == config.name, "whatever the order"


@pytest.mark.parametrize("path", ["../../elsewhere", "a/b", "{dataset}", "x" * 300])
def test_override_gives_a_valid_folder_name(path):
    config = variant(f"+settings.a.b={path}")
    assert not {"/", "{", "}"} & set(config.name)
    assert len(config.name) < 100 and config.name.startswith("uci~+settings.a.b=")
    assert config.name != variant(f"+settings.a.b={path}.").name


def test_given_name_is_kept():
    named = replace(BASE, name="mine")
    config = as_variant(named, ["experiment=uci", "protocol.repeats=3", "name=mine"])
    assert (config.name, config.experiment) == ("mine", "uci")
    assert config.description == "Five repeats. Changed: protocol.repeats=3."
