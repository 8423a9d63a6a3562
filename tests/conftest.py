"""What is collected without the extra ``workflow``; which tests are slow."""

import re
from importlib.util import find_spec

import hypothesis
import pytest

# A busy machine takes any time for an example; no test asserts times.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

commands = ["kills.py", "pictures.py", "slurm.py"]
of_the_workflow = ["workflow/*", "datasets/test_infer.py", *commands]
collect_ignore_glob = [] if find_spec("hydra") else of_the_workflow

#: scikit-learn's checks of larger tables, on the estimators that fit many members.
SLOW_CHECKS = re.compile(r"\[AdaptiveKernel\w+\(\)-check_\w+(_train|_not_an_array)\b")


def pytest_collection_modifyitems(items):
    """The longest of scikit-learn's checks are slow."""
    for item in items:
        if SLOW_CHECKS.search(item.name):
            item.add_marker(pytest.mark.slow)
