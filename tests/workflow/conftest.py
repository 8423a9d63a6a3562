"""Fixtures of tests that run the workflow."""

import shutil

import pytest

from project import Project


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark tests that start the workflow, a server or a browser as slow."""
    starts = {"project", "shared_project", "ui", "browser"}
    for item in items:
        if starts & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def project(tmp_path):
    """A fresh copy of the repository."""
    return Project(tmp_path)


@pytest.fixture(scope="module")
def shared_project(tmp_path_factory):
    """A copy for tests that do not modify it."""
    return Project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="session")
def schema(tmp_path_factory):
    """An empty tracking database; creating one takes seconds, copying it none."""
    from mlflow import MlflowClient

    path = tmp_path_factory.mktemp("schema") / "mlflow.db"
    MlflowClient(f"sqlite:///{path}").search_experiments(max_results=1)
    return path.read_bytes()


@pytest.fixture
def uri(tmp_path, schema, monkeypatch):
    """The URI of a tracking database without runs."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / "mlflow.db").write_bytes(schema)
    return f"sqlite:///{tmp_path / 'mlflow.db'}"


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium; tests are skipped where it is not installed."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium; on Debian: tests/install_debian.sh")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()
