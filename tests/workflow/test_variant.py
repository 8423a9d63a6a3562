"""Overrides that change what is compared make an experiment of their own."""

from dataclasses import replace

import pytest

from adakern_bench.config.schema import Config
from adakern_bench.config.variant import as_variant

WRITTEN = Config(name="uci", title="On ten sets", description="Five repeats.")


def variant(*overrides):
    return as_variant(WRITTEN, ["experiment=uci", *overrides])


@pytest.mark.parametrize(
    "overrides",
    [(), ("jobs.threads=2", "title=x", "data.mirror=x"), ("~figures.rank",)],
)
def test_what_changes_no_number_keeps_the_folder(overrides):
    found = variant(*overrides)
    assert (found.name, found.title) == ("uci", "On ten sets")
    assert found.overrides == list(overrides)


def test_name_title_and_text_say_what_was_changed():
    found = variant("protocol.repeats=3", "dataset=[iris, wine]", "jobs.threads=2")
    assert found.name == "uci~dataset=iris,wine~protocol.repeats=3"
    assert found.experiment == "uci"
    assert found.title == "On ten sets (dataset=[iris, wine], protocol.repeats=3)"
    assert "Five repeats" not in found.description
    turned = variant("dataset=[iris, wine]", "protocol.repeats=3")
    assert turned.name == found.name, "whatever the order"


@pytest.mark.parametrize("path", ["../../elsewhere", "a/b", "{dataset}", "x" * 300])
def test_any_override_makes_one_folder(path):
    found = variant(f"+settings.a.b={path}")
    assert not {"/", "{", "}"} & set(found.name)
    assert len(found.name) < 100 and found.name.startswith("uci~+settings.a.b=")
    assert found.name != variant(f"+settings.a.b={path}.").name


def test_a_name_that_is_given_is_kept():
    named = replace(WRITTEN, name="mine")
    found = as_variant(named, ["experiment=uci", "protocol.repeats=3", "name=mine"])
    assert (found.name, found.experiment) == ("mine", "uci")
    assert found.description == "Five repeats. Changed: protocol.repeats=3."
