"""Files that are not collected without the workflow or the extra ``table``, and slow
tests.
"""

import re
from importlib.util import find_spec

import hypothesis
import numpy as np
import pytest

# The time of an example varies on a busy machine; no test asserts times.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

# Without the workflow its tests, and the modules that help them, are not collected.
helpers = ["script.py", "slurm.py", "rules.py", "openml_server.py", "record_factory.py"]
helpers += ["test_service.py"]
data_sets = [
    f"datasets/test_{name}.py"
    for name in ("arff", "entries", "fetch", "parsers", "suites", "table")
]
data_sets += ["tables/test_infer.py", "tables/test_one_reader.py"]
tables = [
    f"tables/test_{name}.py"
    for name in ("around", "bombs", "forms", "means", "read_table")
]
tables += [
    f"adaptive/test_{name}.py"
    for name in ("coverage", "explain", "shift", "targets", "time")
]
tables += [
    f"test_{name}.py"
    for name in ("exports", "model_file", "predict_options", "several_targets")
]
collect_ignore_glob = (
    [] if find_spec("adakern_bench") else ["workflow/*", *helpers, *data_sets]
)
collect_ignore_glob += [] if find_spec("pandas") else tables

#: scikit-learn's checks on estimators whose fits take seconds. The quick tests check
#: the adaptive kernels with fewer members.
SLOW_CHECKS = re.compile(
    r"\[(AdaptiveKernel\w+|ResNetRegressor)\(\)-check_"
    r"|\[AdaptiveKernel.+-check_\w+(_train|_not_an_array)\b"
)


@pytest.fixture
def rng():
    """A random generator with the same seed for every test."""
    return np.random.default_rng(0)


@pytest.fixture(params=["numpy", "array_api_strict", "torch"])
def xp(request):
    """Each array library that is installed."""
    return pytest.importorskip(request.param)


def pytest_collection_modifyitems(items):
    """Mark the longest of scikit-learn's checks as slow."""
    for item in items:
        if SLOW_CHECKS.search(item.name):
            item.add_marker(pytest.mark.slow)
