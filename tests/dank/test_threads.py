"""Small fits hold BLAS to one thread, in all that goes between NumPy and SciPy."""

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from adakern.dank import DANKClassifier, exact, working_set


@pytest.mark.parametrize(
    ("strategy", "module", "name"),
    [
        ("exact", exact, "make_extension"),
        ("exact", exact, "make_objective"),
        ("whole", working_set, "maximise_quartic"),
        ("whole", working_set, "kernel_products"),
    ],
)
def test_small_fits_hold_blas_to_one_thread(monkeypatch, strategy, module, name):
    seen, step = [], getattr(module, name)

    def watched(*args, **kwargs):
        libraries = ThreadpoolController().select(user_api="blas")
        seen.append({library.num_threads for library in libraries.lib_controllers})
        return step(*args, **kwargs)

    monkeypatch.setattr(module, name, watched)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] > 0  # few support vectors: "whole" stores no Gram matrix
    with threadpool_limits(2, user_api="blas"):
        DANKClassifier(C=10, strategy=strategy, random_state=0).fit(X, y)
    assert seen and all(threads == {1} for threads in seen)
