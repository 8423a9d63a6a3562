"""Fixtures of the tests that run the real workflow."""

import pytest

from project import Project


@pytest.fixture
def project(tmp_path):
    """A fresh copy of the repository."""
    return Project(tmp_path)


@pytest.fixture(scope="module")
def shared_project(tmp_path_factory):
    """A copy for tests that change nothing in it."""
    return Project(tmp_path_factory.mktemp("project"))
